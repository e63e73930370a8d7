"""Exercises made fresh from a seed, each told apart from every mistake it can diagnose."""

from riverhead.learning.exercises.catalogue import VERSION, Exercise, Kind, exercise, fresh, kinds

__all__ = ["VERSION", "Exercise", "Kind", "exercise", "fresh", "kinds"]
