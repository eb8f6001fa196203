"""The option --grid: parameters of the estimator and the values to try."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from polytomy.errors import ArgumentError

__all__ = ["Grid", "parse_grids"]

Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        metavar="GRID",
        help='Values of the estimator\'s parameters to try, such as "C=0.1,1,10 gamma=0.01,0.1" '
        "(repeatable: grids are tried one after the other).",
    ),
]

_EXAMPLE = 'Write it like "C=0.1,1,10 gamma=0.01,0.1".'


def parse_grids(texts: Sequence[str] | None) -> list[dict[str, list[Any]]] | None:
    """Return the value of the parameter `param_grid` given by the options; None if there are none.

    Examples
    --------
    >>> parse_grids(["C=0.1,1 gamma=scale,0.5", "kernel=linear"])
    [{'C': [0.1, 1], 'gamma': ['scale', 0.5]}, {'kernel': ['linear']}]
    """
    return [_parse_grid(text) for text in texts] if texts else None


def _parse_grid(text: str) -> dict[str, list[Any]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ArgumentError(f"--grid {text}: {error}. Close the quotes.") from None
    if not words:
        raise ArgumentError(f"--grid is empty. {_EXAMPLE}")
    grid: dict[str, list[Any]] = {}
    for word in words:
        name, equals, values = word.partition("=")
        if not (name and equals):
            raise ArgumentError(
                f'--grid "{text}": "{word}" does not have the form parameter=value,value. '
                f"{_EXAMPLE}"
            )
        if name in grid:
            raise ArgumentError(
                f'--grid "{text}": {name} occurs twice. List all its values once: {name}=1,10.'
            )
        grid[name] = [_parse_value(text, name, each) for each in _split_at_commas(values)]
    return grid


def _parse_value(grid: str, name: str, text: str) -> Any:
    from polytomy.learners.specification import read_value

    if not text.strip():
        raise ArgumentError(f'--grid "{grid}": {name} has an empty value. {_EXAMPLE}')
    try:
        return read_value(name, text.strip())
    except ArgumentError as error:
        raise ArgumentError(f'--grid "{grid}": ', *error.args) from None


def _split_at_commas(text: str) -> list[str]:
    """Return the parts of a text between commas that are not inside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
