"""The columns of a table: their names, which are features, and which one is the label.

Also whether the first line of a file names them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from polytomy.datasets.fields import error_at, why_not_a_number
from polytomy.errors import Argument, DataError, PythonOnly
from polytomy.inputs.arguments import count_things, did_you_mean

Target = str | int | None
Features = Sequence[str] | int | None
_MOST_NAMED = 20
_MOST_COMPARED = 1000
_LONGEST_NAME = 100
_FEWEST_STEPS = 3
_MOST_DIGITS = 20


class Columns(NamedTuple):
    """The columns of a table to read.

    Attributes
    ----------
    n_columns : number of columns of the table
    names : names of all columns; None if they have no names
    features : positions of the features, in the requested order
    target : position of the label; None to read no labels
    """

    n_columns: int
    names: tuple[str, ...] | None
    features: tuple[int, ...]
    target: int | None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features; None if the columns have no names."""
        return None if self.names is None else tuple([self.names[i] for i in self.features])

    @property
    def label_name(self) -> str | None:
        """Name of the label column; None if it has no name or is not read."""
        return None if self.names is None or self.target is None else self.names[self.target]

    def name_of(self, position: int) -> str:
        """Return the name of a column; x1, x2, … if the columns have no names."""
        return f"x{position + 1}" if self.names is None else self.names[position]


def choose_columns(
    source: str,
    n_columns: int,
    names: Sequence[str] | None,
    target: Target,
    features: Features,
) -> Columns:
    """Return the columns of a table to read; DataError if some of them do not exist.

    Parameters
    ----------
    source : name of the file, for messages
    n_columns : number of columns of the table
    names : names of the columns; None if they have no names
    target : name of the label column, its position (negative from the end), or None
        A number outside the range of positions may be a name.
    features : names of the features, or their number
        If the table has no names, only the number of features is checked.

    Examples
    --------
    >>> choose_columns("a.csv", 3, ["id", "label", "width"], "label", ["width"]).features
    (2,)
    """
    if names is not None:
        _check_names(source, names)
    label = _find_target(source, n_columns, names, target)
    all_features = [i for i in range(n_columns) if i != label]
    if features is None or isinstance(features, int) or names is None:
        n_expected = features if isinstance(features, int) else len(features or all_features)
        if n_expected != len(all_features):
            raise _wrong_number(source, n_columns, label, n_expected)
        chosen = tuple(all_features)
    else:
        places = {name: i for i, name in enumerate(names)}
        missing = [name for name in features if name not in places]
        if missing:
            raise DataError(f"{source}: {_no_column(missing[0], names)}{_and_more(missing)}")
        chosen = tuple([places[name] for name in features])
    if not chosen:
        raise DataError(f"{source}: there are no features besides the label")
    return Columns(n_columns, None if names is None else tuple(names), chosen, label)


def _check_names(source: str, names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f'{source}: the header has the name "{_short(min(twice))}" twice. Rename one of the '
            "columns, or use ",
            Argument("header", False),
            " if the first line is not a header.",
        )


def _find_target(
    source: str, n_columns: int, names: Sequence[str] | None, target: Target
) -> int | None:
    if target is None:
        return None
    if isinstance(target, str):
        if names is None:
            raise DataError(
                f'{source}: without a header, no column is named "{target}". Use ',
                Argument("header", True),
                " if the first line names the columns, or set ",
                Argument("target"),
                " to a position: 0 is the first column, -1 the last.",
            )
        if target not in names:
            raise DataError(f"{source}: {_no_column(target, names)}")
        return list(names).index(target)
    if not -n_columns <= target < n_columns:
        if names is not None and str(target) in names:
            return list(names).index(str(target))
        raise DataError(
            f"{source}: there is no column {target} for the label; the positions of the columns "
            f"are 0 to {n_columns - 1}"
        )
    return target % n_columns


def _no_column(name: str, names: Sequence[str]) -> str:
    hint = did_you_mean(_short(name), map(_short, names[:_MOST_COMPARED]))
    shown = ", ".join(map(_short, names[:_MOST_NAMED])) + " …" * (len(names) > _MOST_NAMED)
    return f'there is no column "{_short(name)}"; the columns are {shown}.{hint}'


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _and_more(missing: Sequence[str]) -> str:
    n_more = len(missing) - 1
    if not n_more:
        return ""
    return f" {n_more} more {'column is' if n_more == 1 else 'columns are'} missing."


def _wrong_number(source: str, n_columns: int, label: int | None, n_expected: int) -> DataError:
    what = f"{source}: expected {count_things(n_expected, 'feature')}; found "
    if label is not None:
        is_unlabelled = n_columns == n_expected
        return DataError(
            f"{what}{count_things(n_columns - 1, 'column')} besides the label.",
            PythonOnly(" If no column is the label, use target=None." if is_unlabelled else ""),
        )
    if n_columns == n_expected + 1:
        return DataError(
            f"{what}{count_things(n_columns, 'column')}. If one of them is the label, say which: ",
            Argument("target", -1),
            " is the last column.",
        )
    return DataError(f"{what}{count_things(n_columns, 'column')}.")


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
