"""Training options, and listeners for training progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import ArrayLike

from polytomy.calibration.folds import SharedFolds

__all__ = ["FitArguments", "TrainingListener", "TrainingOptions"]


@dataclass(frozen=True, slots=True, eq=False)
class FitArguments:
    """Arguments of one estimator's ``fit``, besides X and y.

    Attributes
    ----------
    sample_weight : array of shape (n_rows,), optional
    fit_params : dict
        Further arguments by name. Those with n_rows values are reduced to the rows of each problem.
    """

    sample_weight: ArrayLike | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingOptions:
    """How the binaries of a scheme are trained.

    Attributes
    ----------
    calibration : "auto", "sigmoid", "isotonic", "temperature", None or a calibrator
    cv : int, HoldOut, splitter or list of splits
        Folds on which calibrators learn: a number of stratified, shuffled folds, one part to hold
        out permanently, an object with ``split(X, y)``, or pairs of training and held-out rows of
        X.
    random_state : int, RandomState or None
        Fixes the folds and every random_state in the estimators.
    arguments : FitArguments
    arguments_by_model : dict of str to FitArguments
        Arguments of estimators that were given by name and need their own.
    data_weight : array of shape (n_rows,), optional
        The sample weights, without the class weights that `arguments` include.
    balances_sides : bool
        Whether both sides of each binary problem get the same total weight.
    n_jobs : int, optional
        Number of jobs, as joblib counts them. Results do not depend on it.
    memory_budget : float, optional
        Maximum bytes of a shared kernel matrix; a quarter of the memory by default.
    final_calibration : "auto", "bias", "decoder", None or a calibrator
        How the solver's probabilities are calibrated.
    wants_probabilities : bool
        Whether the solver gives probabilities, which a final calibration needs.
    keep_out_of_fold : bool
        Whether to keep the out-of-fold probabilities of the classes.
    shares_preprocessing : bool
        Whether to fit the steps of a pipeline before the last once for all binaries.
    folds : SharedFolds, optional
        Folds of all rows, for all binaries. Without them, each binary makes its own from `cv`.
    """

    calibration: Any = "auto"
    cv: Any = 5
    random_state: Any = None
    arguments: FitArguments = field(default_factory=FitArguments)
    arguments_by_model: Mapping[str, FitArguments] = field(default_factory=dict)
    balances_sides: bool = False
    n_jobs: int | None = None
    memory_budget: float | None = None
    final_calibration: Any = None
    wants_probabilities: bool = True
    keep_out_of_fold: bool = False
    shares_preprocessing: bool = False
    folds: SharedFolds | None = None
    data_weight: ArrayLike | None = None

    def arguments_for(self, model: str | None) -> FitArguments:
        """Return the arguments of the estimator given by name, or of the default estimator."""
        return (
            self.arguments if model is None else self.arguments_by_model.get(model, self.arguments)
        )

    def for_partition(self, seed: int | None, model: str | None = None) -> TrainingOptions:
        """Return the options for training a single partition, which has its own seed."""
        return replace(self, random_state=seed, arguments=self.arguments_for(model))


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
