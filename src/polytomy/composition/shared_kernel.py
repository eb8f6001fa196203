"""Training the support vector machines of a scheme together, if that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary import binary_problem
from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.composition.dichotomies import Dichotomy
from polytomy.svm import check_budget, train_on_shared_kernel
from polytomy.svm.shared_training import SharedTraining

__all__ = ["train_together"]

# Pairs of samples, over all problems. With fewer, LIBSVM needs some tenths of a second, which is
# less than loading the compiled routines takes. Training a machine and its folds alone takes as
# long as this many pairs, however few it has.
_LEAST_PAIRS = 10**6
_PAIRS_OF_ANY_PROBLEM = 30_000


def train_together(
    dichotomies: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
    seeds: Sequence[int | None],
    listener: TrainingListener,
) -> SharedTraining:
    """Return the binaries that are support vector machines with a common kernel matrix.

    Parameters
    ----------
    dichotomies : dichotomies to train
    rows_of_class : as `polytomy.inputs.class_indices.group_rows` returns them
    X : training data of any kind
    options : TrainingOptions
    seeds : one for each dichotomy
    listener : TrainingListener

    Returns
    -------
    SharedTraining, with None for each binary that has to be trained alone
    """
    problems = [
        binary_problem(rows_of_class, each.negative, each.positive, name=each.name)
        for each in dichotomies
    ]
    check_budget(options.memory_budget)
    n_pairs = sum(problem.n_samples**2 + _PAIRS_OF_ANY_PROBLEM for problem in problems)
    if n_pairs < _LEAST_PAIRS:
        listener.note(
            "The binary is trained alone: its problem is small."
            if len(dichotomies) == 1
            else "The binaries are trained one by one: their problems are small."
        )
        n_left = len(dichotomies)
        return SharedTraining([None] * n_left, [None] * n_left, [])
    training = train_on_shared_kernel(
        [each.estimator for each in dichotomies],
        X,
        problems,
        options,
        seeds=seeds,
        listener=listener,
    )
    for note in training.notes:
        listener.note(note)
    return training
