"""Exercises on paper for a class: sheets with their key, and the class graded from a CSV."""

from riverhead.learning.worksheets.class_report import ClassReport
from riverhead.learning.worksheets.classroom import grade_class
from riverhead.learning.worksheets.worksheet import Paper, Worksheet

__all__ = ["ClassReport", "Paper", "Worksheet", "grade_class"]
