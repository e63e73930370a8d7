"""Six lessons: Markdown in which every number is computed when it is shown."""

from riverhead.learning.lessons.page import Bench, Item, Pause, Try
from riverhead.learning.lessons.source import Lesson, Section, lesson, lessons

__all__ = ["Bench", "Item", "Lesson", "Pause", "Section", "Try", "lesson", "lessons"]
