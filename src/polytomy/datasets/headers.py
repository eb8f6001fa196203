"""Whether the first line of a table names its columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from polytomy.datasets.columns import Features, Target
from polytomy.datasets.places import problem_at, what_is_wrong

__all__ = ["find_header"]

_FEWEST_STEPS = 3


def find_header(
    fields: Sequence[str], target: Target, features: Features, source: str, line: int
) -> bool:
    """Tell whether a first line names columns; DataError if it may as well be a sample.

    It does if none of its fields is a number; if it counts 0, 1, 2, … as frames write columns
    that were never named; and if it has the columns that are asked for by name. Other numbers at
    even steps, as in 400, 410, 420, may be names too. Only where the number of features is known
    are they taken for a sample.

    Parameters
    ----------
    fields : the first line
    target, features : what is asked for; see `choose_columns`
    source, line : where the line stands, for messages

    Examples
    --------
    >>> find_header(["height", "kind"], -1, None, "a.csv", 1)
    True
    >>> find_header(["2001", "2007", "2009"], "2009", None, "a.csv", 1)
    True
    >>> find_header(["2001", "2007", "2009"], -1, None, "a.csv", 1)
    False
    """
    if all(what_is_wrong(field) is not None for field in fields):
        return True
    counted = [str(i) for i in range(len(fields))]
    if len(fields) > 2 and list(fields[:-1]) == counted[:-1]:
        return True
    wanted = [] if features is None or isinstance(features, int) else list(features)
    if isinstance(target, str) or (target is not None and not _is_position(target, fields)):
        wanted.append(str(target))
    if wanted:
        return set(wanted) <= set(fields)
    if features is None and _steps_evenly(fields):
        shown = ", ".join(fields[:_FEWEST_STEPS]) + " …"
        what = f"{shown} may name the columns, or be a sample. Say header=True or header=False"
        raise problem_at(source, what, line=line)
    return False


def _is_position(target: int, fields: Sequence[str]) -> bool:
    return -len(fields) <= target < len(fields)


def _steps_evenly(fields: Sequence[str]) -> bool:
    """Tell whether the fields, but for a label in words, are whole numbers at one distance."""
    numbers = [int(field) for field in fields if field.isdecimal()]
    n_words = sum(what_is_wrong(field) is not None for field in fields)
    if n_words > 1 or len(numbers) < max(_FEWEST_STEPS, len(fields) - 1):
        return False
    steps = {following - number for number, following in pairwise(numbers)}
    return len(steps) == 1 and 0 not in steps
