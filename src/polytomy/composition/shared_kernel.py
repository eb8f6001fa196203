"""Training the support vector machines of a scheme together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.binary.problem_list import ProblemList
from polytomy.composition.dichotomies import Dichotomy
from polytomy.svm import train_on_shared_kernel
from polytomy.svm.estimates import estimate_training
from polytomy.svm.shared_training import SharedTraining

__all__ = ["train_together"]


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
    estimators = [each.estimator for each in dichotomies]
    problems = ProblemList(
        rows_of_class,
        [each.name for each in dichotomies],
        [each.negative for each in dichotomies],
        [each.positive for each in dichotomies],
    )
    if listener.wants_estimates:
        estimate = estimate_training(estimators, X, problems, options)
        if estimate is not None:
            listener.note(str(estimate))
    training = train_on_shared_kernel(
        estimators, X, problems, options, seeds=seeds, listener=listener
    )
    for note in training.notes:
        listener.note(note)
    return training
