"""See every number in attention: by hand on four words, and in every head of a real model."""

from riverhead._version import __version__

__all__ = ["__version__"]
