"""Layer norm."""

from __future__ import annotations

from riverhead.checking.answers import layer_norm_sheet
from riverhead.learning.exercises import clean
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.showing import say, vector
from riverhead.scene import Symbol

__all__ = ["MAKERS"]


def layer_norm(draw: Draw) -> Made | None:
    """Four different whole numbers whose mean is whole, and not 0."""
    x = draw.vector(4, -3, 6)
    if sum(x) % 4 or not sum(x) or len(set(x)) < len(x):
        return None
    gain, shift = [draw.integer(1, 6) / 2 for _ in x], draw.vector(4, -2, 2)
    sheet = layer_norm_sheet(x, gain=gain, shift=shift)
    task = (
        say("The vector of one token, and what the layer has learned:"),
        say(Symbol("x"), " = ", vector(x)),
        say("γ = ", vector(gain), ",  β = ", vector(shift)),
        say("Take the layer norm of x, one step after the other; nothing is added to the variance (ε = 0)."),
    )
    return Made(task, sheet) if clean.sees_apart(sheet) else None


MAKERS = {"layer-norm": layer_norm}
