"""HTML and SVG put together so that text can never become markup.

The report is mostly computed: tables, lists and pictures. A template language would add a
dependency and still leave the pictures to code, so elements are made by one function, which escapes
all that is not an element itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["Child", "Markup", "joined", "tag"]

_VOID = frozenset({"br", "hr", "meta"})
# Elements of SVG that may close themselves.
_SHAPES = frozenset({"circle", "line", "path", "rect"})
_MOST_DECIMALS = 2


class Markup(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


Child = object
"""Markup, a text or number that is escaped, None, or an iterable of these."""


def tag(name: str, /, *children: Child, **attributes: object) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : of the element
    children : what is in it; all but Markup is escaped
    attributes : with hyphens for underscores, and without one at the end: ``class_``
        None and False are left out, True is an attribute without a value.

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
    inner = joined(children)
    if not inner and name in _SHAPES:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{inner}</{name}>")


def joined(children: Child) -> Markup:
    """Return children one after the other.

    Examples
    --------
    >>> joined(["<", Markup("<br>"), None, [1, 2]])
    '&lt;<br>12'
    """
    if isinstance(children, Markup):
        return children
    if children is None:
        return Markup()
    if isinstance(children, Iterable) and not isinstance(children, str):
        return Markup("".join(map(joined, children)))
    return Markup(escape(str(children)))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        # Hundredths of a pixel are enough; what is to be exact is given as text.
        value = f"{value:.{_MOST_DECIMALS}f}".rstrip("0").rstrip(".")
    return f' {name}="{escape(str(value))}"'
