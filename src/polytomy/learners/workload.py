"""What a learner is asked to train, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.folds import Folds
from polytomy.inputs.numbers import check_weights
from polytomy.learners.options import TrainingListener, TrainingOptions
from polytomy.learners.problems import (
    BinaryProblem,
    Dichotomy,
    ProblemList,
    SidesProblem,
    balance_sides,
)
from polytomy.learners.trained import Output, TrainedBinary

ONE_SIDED = "cv holds out no samples, or only samples of one side"
"""Why a calibrator cannot learn from the folds, as a clause."""

_FALLBACKS = {
    Output.MARGIN: "the logistic function of its decision values is used instead",
    Output.PROBABILITY: "its own predict_proba is used instead",
    Output.LABEL: "its predictions are used as if they were certain",
}


class Trained(NamedTuple):
    """A trained binary, and its scores for rows that its models were not trained on.

    Attributes
    ----------
    binary : TrainedBinary
    scores : float32 array of shape (n_scored,), optional
        The scores of the rows in ``Folds.scored``, each from the model that was trained without the
        row's fold. None without folds, or if the model of a fold could not be trained.
    """

    binary: TrainedBinary
    scores: NDArray[np.float32] | None = None

    def timed(self, seconds: float) -> Trained:
        """Return the same with a training time."""
        return self._replace(binary=replace(self.binary, seconds=seconds))


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Dichotomies to train, and all that their training needs.

    A learner is a function of a workload. It returns a `Trained` for each dichotomy, or None for
    those that it leaves to other learners.

    Attributes
    ----------
    X : training data of any kind
    dichotomies : sequence of Dichotomy, with sides as class indices and without a trained model
    problems : ProblemList, their binary problems
    options : TrainingOptions
    folds : Folds, optional
        The same for all binaries. None if nothing has to be held out.
    seeds : sequence, one for each dichotomy
    listener : TrainingListener
    """

    X: Any
    dichotomies: Sequence[Dichotomy]
    problems: ProblemList
    options: TrainingOptions
    folds: Folds | None
    seeds: Sequence[int | None]
    listener: TrainingListener = field(default_factory=TrainingListener)

    @classmethod
    def of(
        cls,
        dichotomies: Sequence[Dichotomy],
        rows_of_class: Sequence[NDArray[np.intp]],
        X: Any,
        options: TrainingOptions,
        folds: Folds | None,
        seeds: Sequence[int | None],
        listener: TrainingListener | None = None,
    ) -> Workload:
        """Return the workload of dichotomies, given the rows of each class."""
        problems = ProblemList(
            rows_of_class,
            [each.name for each in dichotomies],
            [each.negative for each in dichotomies],
            [each.positive for each in dichotomies],
        )
        listener = TrainingListener() if listener is None else listener
        return cls(X, dichotomies, problems, options, folds, seeds, listener)

    def take(self, numbers: Sequence[int]) -> Workload:
        """Return the part of the workload with some of the dichotomies."""
        if len(numbers) == len(self.dichotomies):
            return self
        return replace(
            self,
            dichotomies=[self.dichotomies[k] for k in numbers],
            problems=self.problems.part(numbers),
            seeds=[self.seeds[k] for k in numbers],
        )

    @property
    def shareable(self) -> list[int]:
        """Numbers of the dichotomies with two sides, and without `fit` arguments of their own."""
        if self.options.arguments.fit_params:
            return []
        arguments = self.options.arguments
        return [
            k
            for k, each in enumerate(self.dichotomies)
            if each.whole is None and self.options.arguments_for(each.model) is arguments
        ]

    def constant(self, problem: BinaryProblem) -> Trained:
        """Return the binary of a problem with an empty side, and its scores."""
        return train_constant(problem, self.folds)


def train_constant(problem: BinaryProblem, folds: Folds | None) -> Trained:
    """Return the binary of a problem with an empty side, and its scores."""
    binary = constant_binary(problem)
    if folds is None:
        return Trained(binary)
    return Trained(binary, np.full(len(folds.scored), binary.constant, dtype=np.float32))


def constant_binary(problem: BinaryProblem) -> TrainedBinary:
    """Return the binary of a problem with an empty side, which always gives the same answer."""
    answer = float(np.sign(problem.n_positive - problem.n_negative))
    return TrainedBinary(problem.name, Output.CONSTANT, constant=answer)


def describe_shortcoming(binary: TrainedBinary, reason: str) -> str:
    """Return a sentence that says why a binary is not calibrated, and what is used instead."""
    return f'Partition "{binary.name}" cannot be calibrated: {reason}; {_FALLBACKS[binary.output]}.'


def weights_of_problem(
    problem: BinaryProblem | SidesProblem,
    options: TrainingOptions,
    n_rows: int,
    model: str | None = None,
) -> NDArray[np.float64] | None:
    """Return the weights of all rows of X in one problem, or None if all are one."""
    given = options.arguments_for(model).sample_weight
    weight = None if given is None else check_weights(given, n_rows)
    return balance_sides(problem, weight, n_rows) if options.balances_sides else weight


def weights_of_problems(
    problems: Sequence[BinaryProblem], options: TrainingOptions, n_rows: int
) -> NDArray[np.float64] | None:
    """Return the weights of the samples of problems, one after the other; None if all are one."""
    parts = []
    for problem in problems:
        weight = weights_of_problem(problem, options, n_rows)
        if weight is None:
            return None
        parts.append(weight[problem.rows])
    return np.concatenate(parts)
