"""How every number of an exercise comes about: each step once in words, then its cells' arithmetic."""

from __future__ import annotations

from riverhead.derivation.notation import prose
from riverhead.learning.exercises.catalogue import Exercise
from riverhead.learning.exercises.hints import hints, saying
from riverhead.scene import Part, Text

__all__ = ["solution"]


def solution(exercise: Exercise) -> tuple[Part, ...]:
    """Return all that the hints of every cell would tell, in the order of the work.

    >>> from riverhead.learning.exercises import exercise
    >>> from riverhead.scene import Scene
    >>> print(Scene("", solution(exercise("dots-1-k3m9q2"))[1:4]), end="")
      q·k: multiply the two vectors component by component, then add the products.
        dot product of found on he = (−1)·(−1) + 1·(−1) + 2·0 = 0
        dot product of found on found = (−1)·3 + 1·2 + 2·(−2) = −5
    """
    parts: list[Part] = []
    told = None
    for cell in exercise.sheet.asked:
        said = saying(cell)
        if said != told:
            parts += [Text((said.which,), "heading"), Text(prose(said.formula))]
            told = said
        parts += hints(exercise, cell=cell.id)[-1].parts
    return tuple(parts)
