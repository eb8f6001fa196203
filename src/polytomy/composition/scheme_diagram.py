"""The scheme of a fitted classifier, as HTML for notebooks."""

from __future__ import annotations

import html

from polytomy.composition.scheme_argument import members_of
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble

__all__ = ["scheme_as_html"]

_MOST_LINES = 40


def scheme_as_html(scheme: Scheme | SchemeEnsemble) -> str:
    """Return the control text of a scheme as a collapsible HTML element.

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> scheme_as_html(parse("m {a b}"))  # doctest: +ELLIPSIS
    '<details open><summary>Scheme: tree, 2 classes, ...</summary><pre>m {a b}</pre></details>'
    """
    lines = "\n\n".join(member.compact() for member in members_of(scheme)).splitlines()
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
    text, summary = html.escape("\n".join(lines)), html.escape(repr(scheme)[1:-1])
    return f"<details open><summary>{summary}</summary><pre>{text}</pre></details>"
