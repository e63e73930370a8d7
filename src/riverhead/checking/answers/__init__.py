"""A calculation done by hand, graded cell by cell: what is right, what follows, which mistake was made."""

from riverhead.checking.answers.apart import Blur, blurs
from riverhead.checking.answers.attention import ASKED, attention_sheet
from riverhead.checking.answers.draft import Draft
from riverhead.checking.answers.grading import accepted, grade
from riverhead.checking.answers.mistakes import Mistake, mistakes
from riverhead.checking.answers.reading import Answer, State, read
from riverhead.checking.answers.report import Kind, Mark, Report
from riverhead.checking.answers.sheet import Cell, Sheet
from riverhead.checking.answers.sheets import (
    dot_sheet,
    layer_norm_sheet,
    masked_sheet,
    scale_sheet,
    softmax_sheet,
    values_sheet,
)
from riverhead.checking.answers.steps import STEPS
from riverhead.checking.answers.telling import mistaken, solved

__all__ = [
    "ASKED",
    "STEPS",
    "Answer",
    "Blur",
    "Cell",
    "Draft",
    "Kind",
    "Mark",
    "Mistake",
    "Report",
    "Sheet",
    "State",
    "accepted",
    "attention_sheet",
    "blurs",
    "dot_sheet",
    "grade",
    "layer_norm_sheet",
    "masked_sheet",
    "mistaken",
    "mistakes",
    "read",
    "scale_sheet",
    "softmax_sheet",
    "solved",
    "values_sheet",
]
