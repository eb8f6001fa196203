"""The folds on which candidates are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from polytomy.calibration.folds import HoldOut, check_folds, choose_folds, row_numbers
from polytomy.errors import Argument, ArgumentError

__all__ = ["comparison_folds"]

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def comparison_folds(
    cv: Any,
    X: Any,
    y: NDArray[Any],
    random_state: Any = None,
    *,
    skips_incomplete: bool = False,
    **split_params: Any,
) -> list[Split]:
    """Return pairs of training and held-out rows; every training part has all classes.

    Parameters
    ----------
    cv : int, float, "auto", splitter or list of splits
        A number divides the samples of each class among that many folds, or among as many as the
        largest class has samples. If a class has only one sample, it is always trained on. A
        fraction holds out that share of the samples once; "auto" is as for a classifier.
    X, y : the data
    random_state : fixes the folds if cv is a number
    skips_incomplete : whether to skip a fold that trains without some class; otherwise it is an
        error
    **split_params : further arguments of a splitter's ``split``, such as groups

    Examples
    --------
    >>> y = np.array(["a", "b", "a", "b", "c"])
    >>> folds = comparison_folds(2, None, y, random_state=0)
    >>> [(len(training), len(held_out)) for training, held_out in folds]
    [(3, 2), (3, 2)]
    """
    check_folds(cv)
    cv = choose_folds(cv, len(y))
    if isinstance(cv, int | np.integer):
        return _deal_classes(y, int(cv), random_state)
    if isinstance(cv, HoldOut):
        mask = cv.choose(y, random_state).mask
        cv = [(~mask, mask)]
    splits = cv.split(X, y, **split_params) if hasattr(cv, "split") else cv
    folds = [
        (row_numbers(training, len(y)), row_numbers(held_out, len(y)))
        for training, held_out in splits
    ]
    n_classes = len(np.unique(y))
    is_whole = [len(np.unique(y[training])) == n_classes for training, _ in folds]
    if skips_incomplete and any(is_whole):
        return [fold for fold, is_kept in zip(folds, is_whole, strict=True) if is_kept]
    for number, is_kept in enumerate(is_whole, start=1):
        if not is_kept:
            raise ArgumentError(
                f"fold {number} of ",
                Argument("cv"),
                " trains without some of the classes. Use stratified folds, or a number of folds.",
            )
    if not folds:
        raise ArgumentError(Argument("cv", cv), " makes no folds.")
    return folds


def _deal_classes(y: NDArray[Any], n_folds: int, random_state: Any) -> list[Split]:
    class_indices = np.unique(y, return_inverse=True)[1]
    counts = np.bincount(class_indices)
    n_folds = min(n_folds, int(counts.max()))
    if n_folds < 2:
        raise ArgumentError(
            "every class has only one sample, so nothing can be held out. Use more samples, or "
            "choose a scheme yourself."
        )
    generator = check_random_state(random_state)
    fold_of = np.empty(len(y), dtype=np.intp)
    first = 0
    for class_index, count in enumerate(counts):
        members = generator.permutation(np.flatnonzero(class_indices == class_index))
        # Each class starts where the previous one stopped, so that the folds have equal sizes.
        fold_of[members] = (first + np.arange(count)) % n_folds if count > 1 else -1
        first += int(count) if count > 1 else 0
    return [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds)]
