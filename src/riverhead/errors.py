"""Every error riverhead raises on purpose, one tree.

    RiverheadError
    ├── InputError (ValueError)       what was given cannot be used as it is
    │   ├── ShapeError                axes or ranks that do not fit
    │   └── DtypeError (TypeError)    numbers of a kind attention is not defined on
    ├── GradientError (RuntimeError)  a derivative that is not computed was asked for
    ├── ModelError                    a model or its file is not what it has to be
    │   ├── NotFetchedError           the model is not on this machine
    │   └── FetchError                the download could not be made or trusted
    ├── ProgressError                 what a learner did cannot be read or kept
    └── MissingExtraError (ImportError)  an optional package is not installed

A message names the axis or the field, what was found, what is allowed, and what to do.
"""

__all__ = [
    "DtypeError",
    "FetchError",
    "GradientError",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "NotFetchedError",
    "ProgressError",
    "RiverheadError",
    "ShapeError",
]


class RiverheadError(Exception):
    """The root: catch this to catch whatever riverhead reports on purpose."""


class InputError(RiverheadError, ValueError):
    """An argument, a file or a text cannot be used as it is."""


class ShapeError(InputError):
    """Axes or ranks do not fit; the message names the axis and every size."""


class DtypeError(InputError, TypeError):
    """The array's numbers are of a kind that attention is not defined on."""


class GradientError(RiverheadError, RuntimeError):
    """A derivative was asked for that is not computed, such as the second of attention."""


class ModelError(RiverheadError):
    """A model, or the file it comes from, is not what it has to be."""


class NotFetchedError(ModelError):
    """The model is not on this machine yet; the message gives the command that brings it."""


class FetchError(ModelError):
    """The download could not be made, or what came is not what was pinned."""


class ProgressError(RiverheadError):
    """A learner's progress cannot be read or kept; the message names the file and what to do."""


class MissingExtraError(RiverheadError, ImportError):
    """A feature needs an optional package; the message gives the pip command."""
