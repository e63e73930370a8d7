"""Somebody else's model, watched: hooks that stand beside its attention, and the records they make."""

from riverhead.inspection.watching.seen import Call, HeadMeans, Seen
from riverhead.inspection.watching.session import watch

__all__ = ["Call", "HeadMeans", "Seen", "watch"]
