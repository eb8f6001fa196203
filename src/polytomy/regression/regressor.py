"""The regressor: a classifier of ordered bins, whose probabilities are a distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from polytomy.classifier import PolytomyClassifier
from polytomy.errors import Argument, ArgumentError, PythonOnly
from polytomy.inputs.arguments import Parameter, check_parameters, is_boolean
from polytomy.inputs.numbers import check_confidence_levels, check_levels, check_weights
from polytomy.inputs.training_data import check_features, check_regression_data
from polytomy.learners.validation import split_validation
from polytomy.model.arrangement import Solver, gives_probabilities
from polytomy.model.estimator import CLASSIFIER_CHECKS, FollowsEstimatorMixin, undone_if_interrupted
from polytomy.model.scheme_argument import SchemeArgument
from polytomy.regression.calibration import (
    CumulativeScaling,
    IntervalCorrection,
    distance_to_median,
    fit_cumulative_scaling,
)
from polytomy.regression.distribution import BinnedDistribution, make_bins

Floats = NDArray[np.float64]

# Number of rows whose distributions are in memory at a time.
_BLOCK_ROWS = 2**14

STATISTIC = Parameter("statistic", choices=("mean", "median"))
"""What `predict` returns."""


class PolytomyRegressor(
    FollowsEstimatorMixin,
    RegressorMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Regressor that predicts a whole distribution, built from two-class classifiers.

    The target is divided into bins with about the same number of samples. A `PolytomyClassifier`
    learns the probabilities of the bins, which are then calibrated together as one distribution.
    The distribution gives the mean, the median, quantiles and intervals.

    Parameters
    ----------
    estimator : classifier or str, default=SVC()
        The two-class classifier, as for `PolytomyClassifier`.
    n_bins : int or "auto", default="auto"
        Maximum number of bins. "auto" chooses it from the number of samples. Values that occur
        often have their own bins, so discrete and zero-inflated targets work well.
    scheme : str, path, Scheme, array or callable, default="ordered"
        How the bins, whose labels are 0, 1, 2, …, are divided into two-class problems. "ordered"
        asks whether the target is above each border between bins, and calibrates the answers
        together.
    statistic : {"mean", "median"}, default="mean"
        What `predict` returns.
    final_calibration : {"decoder", "bias", "auto"}, None or calibrator, default="decoder"
        As for `PolytomyClassifier`. "auto" would learn no decoder from small bins, although each
        cut between bins has all samples.
    solver, calibration, cv, models, n_jobs, random_state, verbose, memory_budget, \
prediction_dtype, shared_preprocessing, validation
        As for `PolytomyClassifier`. The solver must give probabilities.

    Attributes
    ----------
    classifier_ : PolytomyClassifier, fitted; its classes are the bins
    bins_ : TargetBins, with edges
    n_bins_ : int
    out_of_fold_score_ : dict, or None without a final calibration
        CRPS, root mean squared error and mean absolute error of `predict` on training samples,
        predicted by models that were trained without them.
    cumulative_scaling_ : CumulativeScaling, the calibration of the distributions
    interval_correction_ : IntervalCorrection, or None without a final calibration
    n_features_in_ : int
    feature_names_in_ : array of str, if X has feature names

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> regressor = PolytomyRegressor("svc C=1", random_state=0).fit(X[::2], y[::2])
    >>> regressor.predict(X[1:4]).round()
    array([ 90., 170., 177.])
    >>> regressor.predict_quantiles(X[1:4], [0.1, 0.5, 0.9]).round()
    array([[ 48.,  77., 156.],
           [ 83., 164., 264.],
           [ 83., 172., 269.]])
    >>> regressor.predict_interval(X[1:4], 0.8).round()
    array([[ 49., 147.],
           [ 87., 260.],
           [ 91., 265.]])
    >>> regressor.predict_distribution(X[1:4]).cdf(100.0).round(2)
    array([0.75, 0.16, 0.14])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_bins: int | str = "auto",
        scheme: SchemeArgument = "ordered",
        *,
        statistic: str = "mean",
        solver: Solver = "auto",
        calibration: Any = "auto",
        final_calibration: Any = "decoder",
        cv: Any = "auto",
        models: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        memory_budget: float | None = None,
        prediction_dtype: Any = "float64",
        shared_preprocessing: bool = False,
        validation: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_bins = n_bins
        self.scheme = scheme
        self.statistic = statistic
        self.solver = solver
        self.calibration = calibration
        self.final_calibration = final_calibration
        self.cv = cv
        self.models = models
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.memory_budget = memory_budget
        self.prediction_dtype = prediction_dtype
        self.shared_preprocessing = shared_preprocessing
        self.validation = validation

    @undone_if_interrupted
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Divide the target into bins and train a classifier of the bins.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n_samples, n_features)
        y : array of shape (n_samples,), finite numbers
        sample_weight : array of shape (n_samples,), optional
        **fit_params : further arguments of the estimator's fit
        """
        # If this fit fails, the results of an earlier fit must not be used in its place.
        self.__dict__.pop("classifier_", None)
        check_regressor(self)
        X, y = check_regression_data(self, X, y)
        weight = check_weights(sample_weight, len(y))
        n_bins = None if isinstance(self.n_bins, str) else int(self.n_bins)
        bins = make_bins(y, weight, n_bins)
        classifier = PolytomyClassifier(
            **{name: getattr(self, name) for name in CLASSIFIER_PARAMETERS}, keep_out_of_fold=True
        )
        fit_params, validation = split_validation(fit_params)
        for each in validation:
            fit_params |= each.with_labels(bins.assign).arguments()
        classifier.fit(X, bins.assign(y), sample_weight, **fit_params)
        self.bins_, self.n_bins_ = bins, bins.n_bins
        self._learn_from(find_probabilities(classifier, len(y)), y, weight)
        self.classifier_ = forget_probabilities(classifier)
        return self

    def predict(self, X: Any, statistic: str | None = None) -> Floats:
        """Return the mean or the median of each predicted distribution.

        Parameters
        ----------
        X : samples
        statistic : {"mean", "median"}, optional; by default that of the regressor
        """
        name = self.statistic if statistic is None else statistic
        STATISTIC.check(name)
        return self._answer(lambda each: locate(each, name), self._probabilities(X))

    def predict_distribution(self, X: Any) -> BinnedDistribution:
        """Return the predicted distributions: bin edges and masses, cdf, pdf, ppf, mean, std, ….

        There is no mass outside the range of the training values.
        """
        return self._distribution(self._probabilities(X))

    def predict_quantiles(self, X: Any, levels: ArrayLike = (0.1, 0.5, 0.9)) -> Floats:
        """Return quantiles, which never cross.

        Parameters
        ----------
        X : samples
        levels : number or array of shape (n_levels,), from 0 to 1

        Returns
        -------
        array of shape (n_samples, n_levels), or (n_samples,) if `levels` is a number
        """
        wanted = check_levels("levels", levels)
        if wanted.ndim > 1:
            raise ArgumentError(Argument("levels"), " must be a number, or a list of numbers.")
        table = wanted if wanted.ndim == 0 else wanted[np.newaxis]
        return self._answer(lambda each: each.ppf(table), self._probabilities(X))

    def predict_interval(self, X: Any, confidence_level: ArrayLike = 0.9) -> Floats:
        """Return intervals that contain the true value with a given confidence.

        Each interval extends from one predicted quantile to another. Out-of-fold predictions of
        training determine which ones (conformal prediction), so that on average over new samples
        the coverage is the confidence level, even if the probabilities are inaccurate.

        Parameters
        ----------
        X : samples
        confidence_level : number or list of numbers between 0 and 1

        Returns
        -------
        array of shape (n_samples, 2), lower and upper ends; (n_samples, 2, n_levels) for a list
        """
        wanted = check_confidence_levels("confidence_level", confidence_level)
        check_is_fitted(self, "classifier_")
        correction: IntervalCorrection | None = self.interval_correction_
        if correction is None:
            raise ArgumentError(
                "intervals need out-of-fold predictions, and the regressor has none. Fit it with ",
                Argument("final_calibration", "auto"),
                PythonOnly(", or use predict_quantiles"),
                ".",
            )
        halves = np.array([correction.half_width(level) for level in np.atleast_1d(wanted)])
        levels = np.concatenate([0.5 - halves, 0.5 + halves])[np.newaxis]
        ends = self._answer(lambda each: each.ppf(levels), self._probabilities(X))
        ends = ends.reshape(-1, 2, len(halves))
        return ends[:, :, 0] if wanted.ndim == 0 else ends

    # -- parts of the above ---------------------------------------------------------------------

    def _probabilities(self, X: Any) -> Floats:
        check_is_fitted(self, "classifier_")
        composition = self.classifier_.composition_
        return composition.scores(check_features(self, X), self.n_jobs)

    def _answer(self, function: Callable[..., Floats], proba: Floats, *columns: Floats) -> Floats:
        """Return a function of the distributions and of the columns for all rows, in blocks."""
        blocks = [slice(k, k + _BLOCK_ROWS) for k in range(0, len(proba), _BLOCK_ROWS)]
        return np.concatenate(
            [
                function(self._distribution(proba[rows]), *(column[rows] for column in columns))
                for rows in blocks
            ]
        )

    def _distribution(self, proba: Floats) -> BinnedDistribution:
        masses = self.bins_.spread(self.cumulative_scaling_.apply(proba))
        return BinnedDistribution(self.bins_.edges, masses)

    def _measure(self, predicted: BinnedDistribution, y: Floats) -> Floats:
        """Return a row for each sample: its distance to the median, its prediction and its CRPS."""
        points = locate(predicted, self.statistic)
        return np.column_stack([distance_to_median(predicted, y), points, predicted.crps(y)])

    def _learn_from(self, proba: Floats | None, y: Floats, weight: Floats) -> None:
        """Calibrate distributions and intervals on out-of-fold probabilities, and score them."""
        self.cumulative_scaling_ = CumulativeScaling()
        self.out_of_fold_score_: dict[str, float] | None = None
        self.interval_correction_ = None
        if proba is None:
            return
        is_known = ~np.isnan(proba[:, 0]) & (weight > 0)
        proba, y, weight = proba[is_known], y[is_known], weight[is_known]
        self.cumulative_scaling_ = fit_cumulative_scaling(proba, self.bins_.assign(y), weight)
        distances, points, scores = self._answer(self._measure, proba, y).T
        self.interval_correction_ = IntervalCorrection.learn(distances, weight)
        errors = y - points
        scale = float(np.abs(errors).max(initial=0.0)) or 1.0  # squares must not overflow
        self.out_of_fold_score_ = {
            "crps": float(np.average(scores, weights=weight)),
            "rmse": scale * float(np.sqrt(np.average((errors / scale) ** 2, weights=weight))),
            "mae": float(np.average(np.abs(errors), weights=weight)),
        }


CLASSIFIER_PARAMETERS = tuple(
    name for name in PolytomyRegressor._get_param_names() if name not in ("n_bins", "statistic")
)
"""Parameters that a regressor passes on to its classifier."""


def check_regressor(regressor: Any) -> None:
    """Raise an ArgumentError unless all parameters of a regressor are valid."""
    check_parameters(regressor, _CHECKS)


def _is_bin_count(value: Any) -> bool:
    is_integer = isinstance(value, int | np.integer) and not is_boolean(value)
    return is_integer and bool(value >= 2)


def _check_solver(solver: Any) -> None:
    CLASSIFIER_CHECKS["solver"](solver)
    if not gives_probabilities(solver):
        raise ArgumentError(
            Argument("solver", solver),
            " gives scores, not probabilities, which a regressor needs. Use ",
            Argument("solver", "least-squares"),
            ".",
        )


_CHECKS = {
    **{name: check for name, check in CLASSIFIER_CHECKS.items() if name in CLASSIFIER_PARAMETERS},
    "solver": _check_solver,
    "n_bins": Parameter("n_bins", "an integer of at least 2", _is_bin_count, ("auto",)).check,
    "statistic": STATISTIC.check,
}


def locate(distribution: BinnedDistribution, statistic: str) -> Floats:
    """Return the mean or the median of each distribution."""
    return distribution.mean() if statistic == "mean" else distribution.median()


def find_probabilities(classifier: PolytomyClassifier, n_rows: int) -> Floats | None:
    """Return out-of-fold probabilities of the bins, NaN for some rows; None if there are none."""
    if classifier.n_classes_ == 1:
        return np.ones((n_rows, 1))
    proba: Floats | None = getattr(classifier, "out_of_fold_proba_", None)
    return proba


def forget_probabilities(classifier: PolytomyClassifier) -> PolytomyClassifier:
    """Return the classifier without its out-of-fold probabilities, which use a lot of memory."""
    composition = classifier.composition_
    final, scores = composition.final, composition.out_of_fold
    classifier.keep_out_of_fold = False
    classifier.composition_ = replace(
        composition,
        final=None if final is None else replace(final, probabilities=None),
        out_of_fold=None if scores is None else replace(scores, keeps_probabilities=False),
    )
    return classifier
