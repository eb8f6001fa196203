"""Which columns of a table are features, and which one is the label."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from polytomy.errors import DataError

__all__ = ["Columns", "Features", "Target", "choose_columns"]

Target = str | int | None
Features = Sequence[str] | int | None
_MOST_NAMED = 20


class Columns(NamedTuple):
    """The columns of a table that are used.

    Attributes
    ----------
    n_columns : number of columns of the table
    names : names of all of them; None where they have none
    features : positions of the features, in the order they are wanted
    target : position of the label; None if it is not wanted
    """

    n_columns: int
    names: tuple[str, ...] | None
    features: tuple[int, ...]
    target: int | None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features; None where the columns have none."""
        return None if self.names is None else tuple([self.names[i] for i in self.features])

    @property
    def label_name(self) -> str | None:
        """Name of the label's column; None where it has none, or is not wanted."""
        return None if self.names is None or self.target is None else self.names[self.target]

    def name_of(self, position: int) -> str:
        """Return what a column is called: its name, or x and its number from one."""
        return f"x{position + 1}" if self.names is None else self.names[position]


def choose_columns(
    source: str,
    n_columns: int,
    names: Sequence[str] | None,
    target: Target,
    features: Features,
) -> Columns:
    """Return the columns of a table that are used, or raise DataError if they are not there.

    Parameters
    ----------
    source : the file, for messages
    n_columns : number of columns of the table
    names : their names, if they have any
    target : name of the label's column, its position (negative from the end), or None
        A number that is no position may be a name.
    features : names of the columns that are wanted, or how many they must be
        Where the table has no names, only their number is compared.

    Examples
    --------
    >>> choose_columns("a.csv", 3, ["id", "label", "width"], "label", ["width"]).features
    (2,)
    """
    if names is not None:
        _check_names(source, names)
    label = _find_target(source, n_columns, names, target)
    others = [i for i in range(n_columns) if i != label]
    if features is None or isinstance(features, int) or names is None:
        n_wanted = features if isinstance(features, int) else len(features or others)
        if n_wanted != len(others):
            raise DataError(_wrong_number(source, n_columns, label, n_wanted))
        chosen = tuple(others)
    else:
        missing = [name for name in features if name not in names]
        if missing:
            what = _no_column(missing[0], names)
            more = f" Nor has it {len(missing) - 1} others." if len(missing) > 1 else ""
            raise DataError(f"{source}: {what}{more}")
        places = {name: i for i, name in enumerate(names)}
        chosen = tuple([places[name] for name in features])
    if not chosen:
        raise DataError(f"{source}: there is no column for a feature beside the label")
    return Columns(n_columns, None if names is None else tuple(names), chosen, label)


def _check_names(source: str, names: Sequence[str]) -> None:
    twice = {name for name in names if list(names).count(name) > 1} if _repeat(names) else set()
    if twice:
        raise DataError(
            f'{source}: the name "{min(twice)}" stands twice in the header. Give each column a '
            "name of its own, or say header=False if there is no header."
        )


def _repeat(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)


def _find_target(
    source: str, n_columns: int, names: Sequence[str] | None, target: Target
) -> int | None:
    if target is None:
        return None
    if isinstance(target, str):
        if names is None:
            raise DataError(
                f'{source}: there is no header, so no column is named "{target}". Say header=True '
                "if the first line names the columns, or give target= as a position, 0 for the "
                "first column or -1 for the last."
            )
        if target not in names:
            raise DataError(f"{source}: {_no_column(target, names)}")
        return list(names).index(target)
    if not -n_columns <= target < n_columns:
        if names is not None and str(target) in names:
            return list(names).index(str(target))
        raise DataError(f"{source}: there is no column {target} for the label among {n_columns}")
    return target % n_columns


def _no_column(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, n=1)
    hint = f' Did you mean "{near[0]}"?' if near else ""
    shown = ", ".join(names[:_MOST_NAMED]) + " …" * (len(names) > _MOST_NAMED)
    return f'there is no column "{name}"; there are {shown}.{hint}'


def _wrong_number(source: str, n_columns: int, label: int | None, n_wanted: int) -> str:
    n_features = n_columns - (label is not None)
    counted = f"{n_columns} columns" if label is None else f"{n_features} columns beside the label"
    hint = ""
    if label is None and n_columns == n_wanted + 1:
        hint = " If one of them is the label, say which: target=-1 is the last."
    elif label is not None and n_columns == n_wanted:
        hint = " If none of them is the label, say target=None."
    return f"{source}: there are {counted}; {n_wanted} are needed.{hint}"
