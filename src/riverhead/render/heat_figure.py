"""A heat map as inline SVG, in HTML and on the SVG sheet alike."""

from __future__ import annotations

from collections.abc import Iterator

from riverhead.render.figure import ACCENT
from riverhead.render.heat_layout import BROKEN, SIZE, Box, HeatDrawing, Mark, draw_heat
from riverhead.render.markup import raw, tag
from riverhead.scene import Heatmap

__all__ = ["heat_figure"]

MOST = 256  # cells along a side
WRONG = "#d9480f"  # of what is not finite


def heat_figure(part: Heatmap) -> tuple[float, float, str]:
    """Return the width and height of ``part`` and its SVG elements, see-through where a number is small."""
    drawn = draw_heat(part, MOST)
    return drawn.width, drawn.height, "".join(_shapes(drawn))


def _shapes(drawn: HeatDrawing) -> Iterator[str]:
    for share, boxes in drawn.boxes.items():
        broken = share == BROKEN
        opacity = None if broken else share
        path = "".join(map(_path, boxes))
        yield tag(
            "path",
            d=path,
            fill=WRONG if broken else ACCENT,
            fill_opacity=opacity,
            shape_rendering="crispEdges",
        )
    x, y, width, height = drawn.frame
    frame = {"x": x, "y": y, "width": width, "height": height}
    yield tag("rect", **frame, fill="none", stroke="currentColor", stroke_opacity=0.3)
    yield from map(_text, drawn.marks)


def _path(box: Box) -> str:
    x, y, width, height = (f"{number:.2f}".rstrip("0").rstrip(".") for number in box)
    return f"M{x},{y}h{width}v{height}h-{width}z"


def _text(mark: Mark) -> str:
    turned = f"rotate(-90 {mark.x:.1f} {mark.y:.1f})" if mark.turned else None
    anchor = "end" if mark.anchor == "end" else None
    how = {"text_anchor": anchor, "transform": turned, "fill": "currentColor"}
    return tag("text", raw(mark.text), x=mark.x, y=mark.y, font_size=SIZE, **how)
