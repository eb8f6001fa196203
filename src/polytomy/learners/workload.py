"""What a learner is asked to train, with which options, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.calibration.final import FEW_OF_CLASS
from polytomy.calibration.folds import Folds, splits_within
from polytomy.inputs.arguments import BALANCED_PER_PARTITION
from polytomy.inputs.numbers import check_weights, class_weights
from polytomy.inputs.rows import take_values
from polytomy.learners.problems import BinaryProblem, Dichotomy, Problem, ProblemList, balance_sides
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.learners.validation import Validation


@dataclass(frozen=True, slots=True, eq=False)
class FitArguments:
    """Arguments of one estimator's ``fit``, besides X and y.

    Attributes
    ----------
    sample_weight : array of shape (n_rows,), optional
        The weights of training: those of the user, times the class weights.
    fit_params : dict
        Further arguments by name. Those with n_rows values are reduced to the rows of each problem.
    given_weight : array of shape (n_rows,), optional
        The weights of the user.
    validation : tuple of Validation, with class indices as labels
        Each problem gets the rows of its own classes.
    """

    sample_weight: ArrayLike | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    given_weight: ArrayLike | None = None
    validation: tuple[Validation, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the arguments besides the weights."""
        return [*self.fit_params, *(name for each in self.validation for name in each.names)]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingOptions:
    """How the binaries of a scheme are trained: a classifier's parameters and its fit's arguments.

    Attributes
    ----------
    calibration : "auto", the name of a calibrator, None or a calibrator
    final_calibration : "auto", the name of a final calibration, None or a calibrator
        How the solver's probabilities are calibrated.
    cv : int, HoldOut, splitter, RoutedSplitter or list of splits
        Folds on which calibrators learn: a number of stratified, shuffled folds, one part to hold
        out permanently, an object with ``split(X, y)``, or pairs of training and held-out rows of
        X.
    random_state : int, RandomState or None
        Fixes the folds and every random_state in the estimators.
    n_jobs : int, optional
        Number of jobs, as joblib counts them. Results do not depend on it.
    memory_budget : float, optional
        Maximum bytes of a shared kernel matrix; a quarter of the memory by default.
    wants_probabilities : bool
        Whether the solver gives probabilities, which a final calibration needs.
    keep_out_of_fold : bool
        Whether to keep the out-of-fold probabilities of the classes.
    shares_preprocessing : bool
        Whether to fit the steps of a pipeline before the last once for all binaries.
    class_weight : dict, "balanced", "balanced-per-partition" or None
    max_sides : int, optional
        Largest number of sides of a partition that the model can separate.
    validates_on_folds : bool
        Whether the models of folds are scored on the rows that these hold out, to stop early.
    arguments : FitArguments
    arguments_by_model : dict of str to FitArguments
        Arguments of estimators that were given by name and need their own.
    classes : array of labels; with `class_indices`, what `take` needs
    class_indices : array of shape (n_rows,), the index of each row's class
    """

    calibration: Any = "auto"
    final_calibration: Any = None
    cv: Any = 5
    random_state: Any = None
    n_jobs: int | None = None
    memory_budget: float | None = None
    wants_probabilities: bool = True
    keep_out_of_fold: bool = False
    shares_preprocessing: bool = False
    class_weight: Mapping[Any, float] | str | None = None
    max_sides: int | None = None
    validates_on_folds: bool = False
    arguments: FitArguments = field(default_factory=FitArguments)
    arguments_by_model: Mapping[str, FitArguments] = field(default_factory=dict)
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    class_indices: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def calibrator(self) -> Any:
        """The calibration, with "auto" replaced by the calibrator that it stands for.

        With a handful of samples of each class, the intercept of a sigmoid is mostly noise, and
        often even its sign is wrong.
        """
        if not (isinstance(self.calibration, str) and self.calibration == "auto"):
            return self.calibration
        weight = self.arguments.given_weight
        n_samples = len(self.class_indices) if weight is None else np.asarray(weight).sum()
        return "temperature" if n_samples < FEW_OF_CLASS * len(self.classes) else "sigmoid"

    @property
    def balances_sides(self) -> bool:
        """Whether both sides of each binary problem get the same total weight."""
        return isinstance(self.class_weight, str) and self.class_weight == BALANCED_PER_PARTITION

    def arguments_for(self, model: str | None) -> FitArguments:
        """Return the arguments of the estimator given by name, or of the default estimator."""
        return (
            self.arguments if model is None else self.arguments_by_model.get(model, self.arguments)
        )

    def of_labels(self, y: NDArray[Any]) -> TrainingOptions:
        """Return the same options for training on these labels."""
        classes, class_indices = np.unique(y, return_inverse=True)
        return replace(self, classes=classes, class_indices=class_indices)

    def with_validation(self, transform: Callable[[Any], Any]) -> TrainingOptions:
        """Return the same options with other features of the validation rows."""

        def change(arguments: FitArguments) -> FitArguments:
            changed = tuple([each.with_samples(transform) for each in arguments.validation])
            return replace(arguments, validation=changed)

        by_model = {name: change(each) for name, each in self.arguments_by_model.items()}
        return replace(self, arguments=change(self.arguments), arguments_by_model=by_model)

    def without_rows(self) -> TrainingOptions:
        """Return the same options without what belongs to the rows of the data."""
        nothing = TrainingOptions()
        return replace(
            self,
            arguments=nothing.arguments,
            arguments_by_model=nothing.arguments_by_model,
            classes=nothing.classes,
            class_indices=nothing.class_indices,
        )

    def take(self, rows: NDArray[np.intp]) -> TrainingOptions:
        """Return the options for training on some rows of the data."""
        n_rows, class_indices = len(self.class_indices), self.class_indices[rows]

        def cut(arguments: FitArguments) -> FitArguments:
            given = arguments.given_weight
            given = None if given is None else np.asarray(given)[rows]
            fit_params = {
                name: take_values(value, rows, n_rows)
                for name, value in arguments.fit_params.items()
            }
            weight = class_weights(self.class_weight, self.classes, class_indices, given)
            return replace(
                arguments, sample_weight=weight, fit_params=fit_params, given_weight=given
            )

        return replace(
            self,
            cv=splits_within(self.cv, rows, n_rows),
            arguments=cut(self.arguments),
            arguments_by_model={name: cut(each) for name, each in self.arguments_by_model.items()},
            class_indices=class_indices,
        )


class TrainingListener:
    """Receives training progress. Does nothing by default; override the methods you need."""

    def trained(self, partition: str) -> None:
        """Called with the name of each partition whose binary has been trained."""

    def note(self, text: str) -> None:
        """Called with sentences about how the binaries are trained."""


# -- the workload --------------------------------------------------------------------------------


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
        if self.options.arguments.names or self.options.validates_on_folds:
            return []
        arguments = self.options.arguments
        return [
            k
            for k, each in enumerate(self.dichotomies)
            if each.is_binary and self.options.arguments_for(each.model) is arguments
        ]

    def note_trained_alone(self, reasons: Mapping[str, int]) -> None:
        """Tell the listener how many binaries are not trained together, for each reason."""
        for reason, count in reasons.items():
            how = "1 binary is trained alone"
            if count > 1:
                how = f"{count} binaries are trained one by one"
            self.listener.note(f"{how}: {reason}.")


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
    problem: Problem,
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
