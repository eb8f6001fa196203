"""Which binaries of a scheme are trained together on one kernel matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary import TrainedBinary, binary_problem
from polytomy.composition.dichotomies import Dichotomy
from polytomy.svm import check_budget, train_on_shared_kernel

__all__ = ["train_together"]

# Pairs of samples, over all problems. Below that LIBSVM needs some tenths of a second, and less
# than it takes to load the compiled kernels. To train a machine and its folds by itself takes as
# long as so many pairs, however few it has.
_LEAST_PAIRS = 10**6
_PAIRS_OF_ANY_PROBLEM = 30_000


def train_together(
    wanted: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    *,
    memory_budget: float | None = None,
    on_trained: Callable[[Dichotomy], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    **options: Any,
) -> list[TrainedBinary | None]:
    """Return the binaries that are support vector machines with a common kernel matrix.

    Parameters
    ----------
    wanted : dichotomies to be trained
    rows_of_class : as `polytomy.binary.group_rows` returns them
    X : training data of any kind
    memory_budget : bytes that training may take; by default a quarter of the memory
    on_trained : called with each dichotomy that is ready
    on_note : called with sentences that say what is trained how
    **options : see `polytomy.svm.train_on_shared_kernel`

    Returns
    -------
    list of TrainedBinary; None for those that are left to be trained one by one
    """
    problems = [
        binary_problem(rows_of_class, each.negative, each.positive, name=each.name)
        for each in wanted
    ]
    tell = on_note if on_note is not None else lambda _: None
    check_budget(memory_budget)
    n_pairs = sum(problem.n_samples**2 + _PAIRS_OF_ANY_PROBLEM for problem in problems)
    if n_pairs < _LEAST_PAIRS:
        tell("The binaries are trained one by one: their problems are small.")
        return [None] * len(wanted)
    training = train_on_shared_kernel(
        [each.estimator for each in wanted],
        X,
        problems,
        memory_budget=memory_budget,
        on_trained=None if on_trained is None else lambda k: on_trained(wanted[k]),
        **options,
    )
    for note in training.notes:
        tell(note)
    return training.binaries
