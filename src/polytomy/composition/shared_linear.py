"""Training the linear models of a scheme together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.binary.problem_list import ProblemList
from polytomy.composition.dichotomies import Dichotomy
from polytomy.linear import train_linear_models
from polytomy.linear.shared_training import LinearTraining

__all__ = ["train_linear_together"]


def train_linear_together(
    dichotomies: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
    seeds: Sequence[int | None],
    listener: TrainingListener,
) -> LinearTraining:
    """Return the binaries that are logistic regressions or linear support vector classifiers.

    The parameters are those of `polytomy.composition.shared_kernel.train_together`.

    Returns
    -------
    LinearTraining, with None for each binary that has to be trained another way
    """
    problems = ProblemList(
        rows_of_class,
        [each.name for each in dichotomies],
        [each.negative for each in dichotomies],
        [each.positive for each in dichotomies],
    )
    training = train_linear_models(
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
