"""Shell completion.

Each function takes the text typed so far. If nothing matches, the shell completes file names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["complete_datasets", "complete_list", "complete_names", "complete_schemes"]

Completion = Callable[[str], list[str]]


def complete_names(names: Iterable[str]) -> Completion:
    """Return a function that completes a name from a list.

    Examples
    --------
    >>> complete_names(["lac", "aps"])("l")
    ['lac']
    """
    known = list(names)
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]


def complete_list(names: Iterable[str]) -> Completion:
    """Return a function that completes the last of several names, separated by commas.

    Examples
    --------
    >>> complete_list(["iris", "wine"])("iris,w")
    ['iris,wine']
    """
    known = list(names)

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known if name.startswith(last)]

    return complete


def complete_schemes(*more: str) -> Completion:
    """Return a function that completes designs, the given names, and control files."""

    def complete(incomplete: str) -> list[str]:
        from polytomy.designs import DATA_DESIGNS, DESIGNS, LABEL_DESIGNS

        files = sorted(str(path) for path in Path().glob("*.control"))
        names = [*more, *DESIGNS, *DATA_DESIGNS, *LABEL_DESIGNS, *files]
        return [name for name in names if name.startswith(incomplete)]

    return complete


def complete_datasets(incomplete: str) -> list[str]:
    """Complete datasets of scikit-learn and of the paper, separated by commas."""
    from polytomy.trials.catalogue import CATALOGUE
    from polytomy.trials.datasets import BUNDLED

    return complete_list([*BUNDLED, *CATALOGUE])(incomplete)
