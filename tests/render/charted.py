"""Two lines to draw: one measured, one predicted."""

from riverhead.scene import Line, Lines

RISING = Line("rising", ((0, 0), (2, 2), (6, 4)))
TWO = Lines((RISING, Line("flat", ((0, 1), (6, 1)), predicted=True)), "tokens", "bits", caption="cost")
