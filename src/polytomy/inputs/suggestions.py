"""Suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean"]


def did_you_mean(text: object, choices: Iterable[str]) -> str:
    """Return a sentence that suggests the nearest choice, with a space before it, or nothing.

    A choice is near if its spelling is almost the same, or if the text abbreviates it. Case does
    not matter.

    Examples
    --------
    >>> did_you_mean("least-square", ["least-squares", "voting"])
    ' Did you mean "least-squares"?'
    >>> did_you_mean("lsq", ["libsvm", "least-squares"])
    ' Did you mean "least-squares"?'
    >>> did_you_mean("xgboost", ["libsvm", "least-squares"])
    ''
    """
    if not isinstance(text, str) or not text:
        return ""
    folded = text.lower()
    by_folded = {choice.lower(): choice for choice in choices}
    near = get_close_matches(folded, by_folded, n=1)
    near = near or [choice for choice in by_folded if _abbreviates(folded, choice)][:1]
    return f' Did you mean "{by_folded[near[0]]}"?' if near else ""


def _abbreviates(text: str, name: str) -> bool:
    letters = iter(name)
    is_long_enough = len(text) > 1
    return is_long_enough and text[0] == name[:1] and all(letter in letters for letter in text)
