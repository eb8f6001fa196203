"""Build HTML and SVG so that text can never become markup.

Most of a page is computed: tables, lists and figures. A template language would add a dependency
and still leave the figures to code. So one function builds all elements, and escapes everything
that is not already markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"br", "hr", "meta"})
# SVG elements that may be self-closing.
_SHAPES = frozenset({"circle", "line", "path", "rect"})
_MOST_DECIMALS = 2


class Markup(str):
    """Text that is already markup, and is not escaped again."""

    __slots__ = ()


Child = object
"""Markup, text or a number (escaped), None, or an iterable of these."""


def tag(name: str, /, *children: Child, **attributes: object) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : name of the element
    children : content; everything except Markup is escaped
    attributes : attributes, with underscores for hyphens; a trailing one is dropped (``class_``)
        None and False omit an attribute; True gives one without a value.

    Examples
    --------
    >>> tag("p", "a < b ", tag("b", 7), None, class_="note", data_value=0.5)
    '<p class="note" data-value="0.5">a &lt; b <b>7</b></p>'
    >>> tag("circle", r=1.23456)
    '<circle r="1.23"/>'
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{opening}>")
    inner = join(children)
    if not inner and name in _SHAPES:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{inner}</{name}>")


def join(children: Child) -> Markup:
    """Concatenate children.

    Examples
    --------
    >>> join(["<", Markup("<br>"), None, [1, 2]])
    '&lt;<br>12'
    """
    if isinstance(children, Markup):
        return children
    if children is None:
        return Markup()
    if isinstance(children, Iterable) and not isinstance(children, str):
        return Markup("".join(map(join, children)))
    return Markup(escape(str(children)))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        # Hundredths of a pixel are enough; exact numbers are passed as text.
        value = f"{value:.{_MOST_DECIMALS}f}".rstrip("0").rstrip(".")
    return f' {name}="{escape(str(value))}"'
