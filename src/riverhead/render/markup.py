"""Elements for HTML, MathML and SVG, every text and every attribute escaped in one place."""

from __future__ import annotations

from html import escape

from riverhead.render.letters import isolate, visible

__all__ = ["raw", "tag"]


def raw(text: str) -> str:
    """Return ``text`` ready to stand between tags: visible, isolated, escaped.

    >>> raw("</script>\\x00")
    '&lt;/script&gt;␀'
    """
    return escape(isolate(visible(text)))


def tag(name: str, *inside: str, **attributes: str | float | None) -> str:
    """Return an element around markup; ``None`` leaves an attribute out, ``class_`` is ``class``.

    >>> tag("td", raw("a<b"), class_="n", colspan=None)
    '<td class="n">a&lt;b</td>'
    >>> tag("line", x1=0.5, stroke_width=2)
    '<line x1="0.5" stroke-width="2"></line>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(inside)}</{name}>"


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return visible(value)
    return f"{value:.2f}".rstrip("0").rstrip(".")
