"""Folds of a binary problem: which samples are held out together."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from polytomy.calibration.hold_out import AUTO_FOLDS
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.rows import count_rows, take_rows, take_values

__all__ = [
    "CannotCalibrateError",
    "RoutedSplitter",
    "check_folds",
    "copy_splitter",
    "count_folds",
    "fold_masks",
    "row_numbers",
    "splits_within",
]


class CannotCalibrateError(Exception):
    """No held-out decision values are possible; the message is the reason, as a clause."""


@dataclass(frozen=True, slots=True)
class RoutedSplitter:
    """A splitter and further arguments of its ``split``, such as groups, with one value per row."""

    splitter: Any
    parameters: Mapping[str, Any]


def check_folds(cv: Any) -> None:
    """Raise an ArgumentError unless `cv` is a value that the parameter may have."""
    if isinstance(cv, RoutedSplitter):
        cv = cv.splitter
    is_number = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    is_share = isinstance(cv, float | np.floating) and 0 < cv < 1
    is_automatic = isinstance(cv, str) and cv == AUTO_FOLDS
    if is_share or is_automatic or (is_number and cv >= 2):
        return
    if not is_number and not isinstance(cv, str):
        if hasattr(cv, "split"):
            return
        if _is_list(cv):
            _check_splits(list(cv), cv)
            return
    raise ArgumentError(
        Argument("cv", cv),
        " must be a number of folds, two or more, a fraction of the rows to hold out, "
        '"auto", an object with split(X, y), or a list of (training rows, held-out rows).',
    )


def _check_splits(splits: list[Any], cv: Any) -> None:
    """Raise an ArgumentError unless the splits are pairs of lists of rows."""
    if not splits:
        raise ArgumentError(Argument("cv", cv), " has no splits. Give at least one.")
    for number, split in enumerate(splits):
        is_pair = isinstance(split, list | tuple) and len(split) == 2
        if not is_pair or any(np.ndim(part) != 1 or isinstance(part, str) for part in split):
            raise ArgumentError(
                f"split {number} of ",
                Argument("cv"),
                " is not a pair of lists: (training rows, held-out rows).",
            )


def _is_list(cv: Any) -> bool:
    # A generator would be exhausted after the first of many binary problems.
    return isinstance(cv, Iterable) and not isinstance(cv, Iterator)


def count_folds(cv: Any, unknown: int) -> int:
    """Return the largest number of folds that `cv` makes, or `unknown` if it is not known.

    Examples
    --------
    >>> from sklearn.model_selection import KFold, LeaveOneOut
    >>> count_folds(5, 10), count_folds(KFold(3), 10), count_folds(LeaveOneOut(), 10)
    (5, 3, 10)
    """
    if isinstance(cv, RoutedSplitter):
        cv = cv.splitter
    if isinstance(cv, int | np.integer):
        return int(cv)
    with suppress(AttributeError, TypeError, ValueError):
        return int(cv.get_n_splits()) if hasattr(cv, "split") else len(cv)
    return unknown


def fold_masks(
    rows: NDArray[np.intp], is_positive: NDArray[np.bool_], X: Any, cv: Any, seed: int | None
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Yield the samples of a binary problem to train on and to hold out, for each fold.

    Parameters
    ----------
    rows : array of shape (n_samples,)
        Rows of X in the problem, ascending.
    is_positive : bool array of shape (n_samples,)
        Whether each row is on the +1 side.
    X : the whole training data, for splitters that use it
    cv : int, splitter, RoutedSplitter or list of splits
        A number of stratified, shuffled folds, reduced to the number of samples on the smaller
        side; an object with ``split(X, y)``; or pairs of training and held-out rows of X.
    seed : int, optional
        Makes the folds reproducible.

    Yields
    ------
    is_kept : bool array of shape (n_samples,)
    held_out : array of positions among the samples of the problem, ascending
    """
    n_positive = int(np.count_nonzero(is_positive))
    if min(n_positive, len(rows) - n_positive) < 2:
        side = "+1" if n_positive < 2 else "−1"
        raise CannotCalibrateError(f"its {side} side has a single sample")
    for training, test in list(_splits(rows, is_positive, X, cv, seed)):
        is_kept = np.zeros(len(rows), dtype=np.bool_)
        is_kept[training] = True
        sides = is_positive[is_kept]
        if sides.any() and not sides.all() and len(test):
            yield is_kept, np.unique(test)


def _splits(
    rows: NDArray[np.intp], is_positive: NDArray[np.bool_], X: Any, cv: Any, seed: int | None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the positions of the samples to train on and to hold out."""
    n_positive = int(np.count_nonzero(is_positive))
    smaller_side = min(n_positive, len(rows) - n_positive)
    parameters = {}
    if isinstance(cv, RoutedSplitter):
        parameters = {
            name: take_values(value, rows, count_rows(X)) for name, value in cv.parameters.items()
        }
        cv = cv.splitter
    if isinstance(cv, int | np.integer):
        fold_of = _deal_folds(is_positive, min(int(cv), smaller_side), seed)
        for fold in range(fold_of.max() + 1):
            is_held_out = fold_of == fold
            yield np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        return
    if not hasattr(cv, "split"):
        for training, test in cv:
            yield _positions(rows, training, X), _positions(rows, test, X)
        return
    n_groups = len(np.unique(parameters["groups"])) if "groups" in parameters else np.inf
    splitter = copy_splitter(cv, min(smaller_side, n_groups), seed)
    data, targets = take_rows(X, rows), np.where(is_positive, 1, -1)
    try:
        for training, test in splitter.split(data, targets, **parameters):
            if max(np.max(training, initial=-1), np.max(test, initial=-1)) >= len(rows):
                raise CannotCalibrateError(
                    "cv splits more samples than the problem has; give a list of splits of all data"
                )
            yield training, test
    except ValueError as error:
        raise CannotCalibrateError(f"cv cannot split it ({error})") from error


def row_numbers(rows: Any, n_rows: int) -> NDArray[np.intp]:
    """Return the rows of a split, given as numbers or as a mask, as valid row numbers."""
    rows = np.asarray(rows)
    if rows.dtype == np.bool_ and len(rows) == n_rows:
        rows = np.flatnonzero(rows)
    is_whole = rows.dtype.kind in "iu" or not len(rows)
    if not is_whole or np.any((rows < 0) | (rows >= n_rows)):
        raise ArgumentError(
            Argument("cv"),
            f" has a split with rows that X, of {n_rows} rows, does not have. Give row numbers "
            "from 0, or a mask.",
        )
    return np.asarray(rows, dtype=np.intp)


def splits_within(cv: Any, rows: NDArray[np.intp], n_rows: int) -> Any:
    """Return a list of splits restricted to some rows; any other `cv` is returned unchanged."""
    if isinstance(cv, int | np.integer) or hasattr(cv, "split"):  # "auto" has one too
        return cv
    place = np.full(n_rows, -1)
    place[rows] = np.arange(len(rows))
    found = []
    for split in cv:
        kept = [place[row_numbers(part, n_rows)] for part in split]
        found.append(tuple([part[part >= 0] for part in kept]))
    return found


def _positions(rows: NDArray[np.intp], part: Any, X: Any) -> NDArray[np.intp]:
    """Return the positions of the rows that are in one part of a split."""
    return np.flatnonzero(np.isin(rows, row_numbers(part, count_rows(X))))


def _deal_folds(is_positive: NDArray[np.bool_], n_folds: int, seed: int | None) -> NDArray[np.intp]:
    """Return the fold of each sample; each side is shuffled and dealt out evenly.

    These are the folds of scikit-learn's StratifiedKFold, whose many checks of the data would take
    longer than training a small machine.
    """
    generator = check_random_state(seed)
    turns = np.arange(len(is_positive)) % n_folds
    fold_of = np.empty(len(is_positive), dtype=np.intp)
    is_first_side = is_positive == is_positive[0]
    n_first = int(np.count_nonzero(is_first_side))
    for members, dealt in (is_first_side, turns[:n_first]), (~is_first_side, turns[n_first:]):
        folds = np.sort(dealt)
        generator.shuffle(folds)
        fold_of[members] = folds
    return fold_of


def copy_splitter(cv: Any, most_folds: float, seed: int | None) -> Any:
    """Return a copy of a splitter with at most `most_folds` folds, and a seed if it has none."""
    # Copied because folds would depend on the order of training if problems shared a generator.
    splitter = copy.deepcopy(cv)
    if getattr(splitter, "random_state", seed) is None:
        splitter.random_state = seed
    if getattr(splitter, "n_splits", 0) > most_folds:
        splitter.n_splits = int(most_folds)
    return splitter
