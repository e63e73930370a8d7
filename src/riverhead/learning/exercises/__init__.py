"""Exercises made fresh from a seed, each told apart from every mistake it can diagnose."""

import riverhead.learning.exercises.kinds  # noqa: F401 - now, or it would take the place of the function below
from riverhead.learning.exercises.exercise import VERSION, Exercise, Kind, exercise, fresh, kinds

__all__ = ["VERSION", "Exercise", "Kind", "exercise", "fresh", "kinds"]
