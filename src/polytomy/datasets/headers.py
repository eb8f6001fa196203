"""Whether the first line of a table names its columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from polytomy.datasets.columns import Features, Target
from polytomy.datasets.located_errors import error_at
from polytomy.datasets.number_fields import why_not_a_number
from polytomy.errors import Argument

__all__ = ["is_header"]

_FEWEST_STEPS = 3
_MOST_DIGITS = 20


def is_header(
    fields: Sequence[str], target: Target, features: Features, source: str, line: int
) -> bool:
    """Return whether a first line names the columns; DataError if it may also be a sample.

    It does if none of its fields is a number, if it counts 0, 1, 2, … (as data frames write
    unnamed columns), or if it has all columns that are requested by name. Other evenly spaced
    numbers, such as 400, 410, 420, may be names or a sample; they are treated as a sample only if
    the number of features is known.

    Parameters
    ----------
    fields : fields of the first line
    target, features : see `choose_columns`
    source, line : position of the line, for messages

    Examples
    --------
    >>> lines = ["height,kind", "0,1,2", "2001,2007,2009", "5.1,3.5,setosa"]
    >>> for line in lines:
    ...     names_columns = is_header(line.split(","), -1, None, "a.csv", 1)
    ...     print(f"{line:15}", "header" if names_columns else "sample")
    height,kind     header
    0,1,2           header
    2001,2007,2009  sample
    5.1,3.5,setosa  sample
    """
    if all(why_not_a_number(field) is not None for field in fields):
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
        raise error_at(
            source,
            f"{shown} may be column names or a sample. Use ",
            Argument("header", True),
            " or ",
            Argument("header", False),
            ".",
            line=line,
        )
    return False


def _is_position(target: int, fields: Sequence[str]) -> bool:
    return -len(fields) <= target < len(fields)


def _steps_evenly(fields: Sequence[str]) -> bool:
    """Return whether the fields, except for one word, are evenly spaced integers."""
    numbers = [int(field) for field in fields if field.isdecimal() and len(field) < _MOST_DIGITS]
    n_words = sum(why_not_a_number(field) is not None for field in fields)
    if n_words > 1 or len(numbers) < max(_FEWEST_STEPS, len(fields) - 1):
        return False
    steps = {following - number for number, following in pairwise(numbers)}
    return len(steps) == 1 and 0 not in steps
