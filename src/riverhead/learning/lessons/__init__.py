"""Six lessons: Markdown in which every number is computed when it is shown."""

from riverhead.learning.lessons.lesson import Lesson, Section, lesson, lessons
from riverhead.learning.lessons.page import Bench, Item, Pause, Try

__all__ = ["Bench", "Item", "Lesson", "Pause", "Section", "Try", "lesson", "lessons"]
