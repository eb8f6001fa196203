"""Which columns of a table are features, and which one is the label column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from polytomy.errors import Argument, DataError, PythonOnly
from polytomy.inputs.arguments import count_things, did_you_mean

__all__ = ["ColumnTable", "Columns", "Features", "Target", "choose_columns"]

Target = str | int | None
Features = Sequence[str] | int | None
_MOST_NAMED = 20
_MOST_COMPARED = 1000
_LONGEST_NAME = 100


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


class ColumnTable:
    """Common base of tables whose features are some of their columns.

    Attributes
    ----------
    columns : Columns
    """

    columns: Columns

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features; None if the columns have no names."""
        return self.columns.feature_names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.columns.features)

    @property
    def bytes_per_row(self) -> int:
        """Size of a sample in memory."""
        return 8 * self.n_features


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
