"""Training options, and listeners for training progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.calibration.folds import splits_within
from polytomy.inputs.arguments import BALANCED_PER_PARTITION
from polytomy.inputs.numbers import class_weights
from polytomy.inputs.rows import take_values


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
    """

    sample_weight: ArrayLike | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    given_weight: ArrayLike | None = None


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
    arguments: FitArguments = field(default_factory=FitArguments)
    arguments_by_model: Mapping[str, FitArguments] = field(default_factory=dict)
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    class_indices: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

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
            return FitArguments(weight, fit_params, given)

        return replace(
            self,
            cv=splits_within(self.cv, rows, n_rows),
            arguments=cut(self.arguments),
            arguments_by_model={name: cut(each) for name, each in self.arguments_by_model.items()},
            class_indices=class_indices,
        )


class TrainingListener:
    """Receives training progress. Does nothing by default; override the methods you need.

    Attributes
    ----------
    wants_estimates : bool
        Whether to estimate how long training will take, and note it.
    """

    wants_estimates: bool = False

    def trained(self, partition: str) -> None:
        """Called with the name of each partition whose binary has been trained."""

    def note(self, text: str) -> None:
        """Called with sentences about how the binaries are trained."""
