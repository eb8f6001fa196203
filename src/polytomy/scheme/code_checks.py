"""Validation of coding matrices, with the reasons why a matrix is not one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import ArgumentError, CodeProblem
from polytomy.scheme.structure import CodeArray, row_blocks

MAX_ENTRIES = 2**29
"""Maximum number of entries of a coding matrix: 512 MiB, enough for one-vs-one of 1024 classes."""

_OUT_OF_RANGE = np.int8(2)
"""Replaces values other than −1, 0 and 1 while the rest of the matrix is checked."""

_MOST_NAMED = 10


def find_problems(matrix: ArrayLike) -> tuple[CodeProblem, ...]:
    """Return all reasons why a matrix is not a coding matrix, with the rows and columns.

    Examples
    --------
    >>> find_problems([[-1, 1, 0], [0, 1, 0]])
    (CodeProblem(message='partition 1 has no class on its -1 side', rows=(1,), columns=()),
     CodeProblem(message='class 2 is in no partition', rows=(), columns=(2,)))
    """
    return read_matrix(matrix)[1]


def read_matrix(matrix: ArrayLike) -> tuple[CodeArray, tuple[CodeProblem, ...]]:
    """Return an int8 copy and the problems; the copy is valid only if there are none."""
    nothing = np.empty((0, 0), dtype=np.int8)
    try:
        array = np.asarray(matrix)
    except (TypeError, ValueError):
        # NumPy's own message is about sequences and inhomogeneous shapes.
        reason = "a coding matrix is a table of numbers whose rows have the same length"
        return nothing, (CodeProblem(reason),)
    problems = tuple(_problems_of_form(array))
    if problems:
        return nothing, problems
    values, of_values = _copy_values(array)
    return values, (*of_values, *_problems_of_rows(values), *_problems_of_columns(values))


def read_row_counts(
    values: CodeArray, rows_per_partition: ArrayLike | None
) -> tuple[NDArray[np.intp], tuple[CodeProblem, ...]]:
    """Return the number of rows of each partition and the problems found.

    A partition with several rows has one for each side: +1 on the side, −1 on the others.
    """
    if rows_per_partition is None:
        return np.ones(len(values), dtype=np.intp), ()
    given = np.asarray(rows_per_partition)
    is_count = given.ndim == 1 and (given.dtype.kind in "iu" or not given.size)
    if not is_count or (given < 1).any() or given.sum() != len(values):
        return np.ones(len(values), dtype=np.intp), (
            CodeProblem(
                "rows_per_partition must be positive whole numbers that sum to the "
                f"{len(values):,} rows of the matrix; got {given.tolist()!r}"
            ),
        )
    problems = []
    starts = np.cumsum(given) - given
    for partition in np.flatnonzero(given > 1).tolist():
        rows = slice(starts[partition], starts[partition] + given[partition])
        n_positive = np.count_nonzero(values[rows] == 1, axis=0)
        n_entries = np.count_nonzero(values[rows], axis=0)
        is_inside = (n_positive == 1) & (n_entries == given[partition])
        if not (is_inside | (n_entries == 0)).all():
            first, last = rows.start, rows.stop - 1
            message = (
                f"rows {first} to {last} are not the sides of one partition: each class must be +1 "
                "in the row of its side and -1 in the others, or 0 in all"
            )
            problems.append(CodeProblem(message, tuple(range(first, last + 1))))
    return given.astype(np.intp), tuple(problems)


def _problems_of_form(array: NDArray[Any]) -> Iterator[CodeProblem]:
    if array.dtype.kind not in "iuf":
        kind = array.dtype.type.__name__.rstrip("_")
        yield CodeProblem(
            f"a coding matrix has the values -1, 0 and 1; this one has values of type {kind}"
        )
    if array.ndim != 2:
        yield CodeProblem(
            "a coding matrix has two dimensions, partitions and classes; "
            f"this one has {array.ndim}, with shape {array.shape}"
        )
    elif array.size > MAX_ENTRIES:
        yield CodeProblem(
            f"a coding matrix has at most {MAX_ENTRIES:,} entries; "
            f"{array.shape[0]:,} partitions of {array.shape[1]:,} classes have {array.size:,}"
        )
    elif array.shape[1] == 0:
        yield CodeProblem("a coding matrix has at least one class; this one has none")
    elif array.shape[0] == 0 and array.shape[1] > 1:
        yield CodeProblem(f"no partition separates the {array.shape[1]} classes")


def _copy_values(array: NDArray[Any]) -> tuple[CodeArray, list[CodeProblem]]:
    values = np.empty(array.shape, dtype=np.int8)
    for place, block in row_blocks(array):
        is_right = (block == 0) | (block == 1) | (block == -1)
        values[place] = np.where(is_right, block, _OUT_OF_RANGE)
    if values.max(initial=0) != _OUT_OF_RANGE:
        return values, []
    row, column = divmod(int(values.argmax()), array.shape[1])
    n_wrong = np.count_nonzero(values == _OUT_OF_RANGE)
    more = "" if n_wrong == 1 else f" ({n_wrong:,} values are wrong in total)"
    message = f"partition {row} gives class {column} the value {array[row, column]}, not -1, 0 or 1"
    return values, [CodeProblem(message + more, (row,), (column,))]


def _problems_of_rows(values: CodeArray) -> Iterator[CodeProblem]:
    for place, block in row_blocks(values):
        lowest, highest = block.min(axis=1), block.max(axis=1)
        # A row with a value out of range has already been reported, and its sides are unknown.
        suspects = ((lowest != -1) | (highest != 1)) & (highest != _OUT_OF_RANGE)
        for row in np.flatnonzero(suspects).tolist():
            has_negative, has_positive = lowest[row] == -1, highest[row] == 1
            side = "its +1" if has_negative else "its -1" if has_positive else "either"
            partition = place.start + row
            yield CodeProblem(f"partition {partition} has no class on {side} side", (partition,))


def _problems_of_columns(values: CodeArray) -> Iterator[CodeProblem]:
    if len(values) == 0:
        return
    seen = np.zeros(values.shape[1], dtype=np.int8)
    spoilt = np.zeros(values.shape[1], dtype=bool)
    for _, block in row_blocks(values):
        seen |= np.bitwise_or.reduce(block, axis=0)
        spoilt |= block.max(axis=0) == _OUT_OF_RANGE
    for column in np.flatnonzero(seen == 0).tolist():
        yield CodeProblem(f"class {column} is in no partition", columns=(column,))
    for columns in _find_equal_columns(values, np.flatnonzero((seen != 0) & ~spoilt).tolist()):
        names = join_names([str(column) for column in columns])
        yield CodeProblem(
            f"classes {names} have equal columns: no partition separates them",
            columns=tuple(columns),
        )


def _find_equal_columns(values: CodeArray, columns: list[int]) -> list[list[int]]:
    """Return the groups of equal columns among those given, each in ascending order.

    Columns are compared one block of rows at a time. A column that differs from all others is left
    out of the next block, so most codes need only the first block.
    """
    groups = [columns]
    for _, block in row_blocks(values):
        members = [column for group in groups for column in group]
        group_of = [number for number, group in enumerate(groups) for _ in group]
        contents = np.ascontiguousarray(block[:, members].T)
        alike: dict[tuple[int, bytes], list[int]] = {}
        for column, group, content in zip(members, group_of, contents, strict=True):
            alike.setdefault((group, content.tobytes()), []).append(column)
        groups = [group for group in alike.values() if len(group) > 1]
        if not groups:
            break
    return sorted(groups)


def join_names(names: list[str]) -> str:
    """Return names as a list in words, at most ten of them.

    Examples
    --------
    >>> join_names(["corn", "wheat", "oak"])
    'corn, wheat and oak'
    """
    if len(names) > _MOST_NAMED:
        names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED:,} more"]
    return ", ".join(names[:-1]) + " and " + names[-1]


def check_entries(design: str, n_partitions: int, n_classes: int) -> None:
    """Raise ArgumentError if a code would be too large, before memory is allocated for it."""
    if n_partitions * n_classes > MAX_ENTRIES:
        raise ArgumentError(
            f"{design} of {n_classes:,} classes has {n_partitions:,} partitions and "
            f"{n_partitions * n_classes:,} entries; a coding matrix has at most "
            f"{MAX_ENTRIES:,}. Divide the classes with a tree first."
        )
