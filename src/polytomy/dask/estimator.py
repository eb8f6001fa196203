"""The estimator for data that is divided among the workers of a Dask cluster."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin

from polytomy.calibration.folds import AUTO_FOLDS, choose_folds
from polytomy.classifier import PolytomyClassifier
from polytomy.dask.answers import LazyAnswersMixin
from polytomy.dask.cluster import explaining_faults, find_client
from polytomy.dask.fit_steps import GroupedData, group_rows_by_class, train_binaries
from polytomy.dask.grouping import Layout, RowBlock, make_parts
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import Parameter, check_parameters, is_count
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.preparation import class_limit, resolve_estimator, takes_pairwise_values
from polytomy.learners.problems import count_models
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.model.arrangement import check_solver
from polytomy.model.estimator import (
    CLASSIFIER_CHECKS,
    FollowsEstimatorMixin,
    make_training_options,
    progress_bar,
    undone_if_interrupted,
)
from polytomy.model.fitting import plan_training
from polytomy.model.scheme_argument import (
    LIMITED,
    find_known_order,
    members_of,
    needs_data,
    scheme_from,
)
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.choice import choose_scheme


def _is_number_of_folds(value: Any) -> bool:
    if isinstance(value, str):
        return value == AUTO_FOLDS
    if isinstance(value, float | np.floating):
        return bool(0 < value < 1)
    return is_count(value) and not isinstance(value, bool) and bool(value >= 2)


_CHECKS = {
    **{name: check for name, check in CLASSIFIER_CHECKS.items() if name != "reservoir_size"},
    "cv": Parameter(
        "cv",
        'a number of folds, two or more, a fraction of the rows to hold out, or "auto" '
        "(splitters need all rows in one place)",
        _is_number_of_folds,
    ).check,
    "design_rows": Parameter(
        "design_rows", "a positive integer", lambda value: is_count(value) and value > 0
    ).check,
}


def _make_signature() -> inspect.Signature:
    """Return the parameters and defaults of PolytomyClassifier, and two more."""
    inherited = inspect.signature(PolytomyClassifier.__init__).parameters
    own = {"design_rows": 10_000, "client": None}
    return inspect.Signature(
        [each for name, each in inherited.items() if name != "reservoir_size"]
        + [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in own.items()
        ]
    )


_SIGNATURE = _make_signature()


class DaskPolytomyClassifier(
    LazyAnswersMixin,
    FollowsEstimatorMixin,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A `PolytomyClassifier` that is trained on a Dask cluster, on data divided among its workers.

    The rows are grouped by class once, on the workers. Each task trains one binary, or a group of
    small ones or of machines that share a kernel matrix, and receives only the rows of its classes.
    For the final calibration, it also receives a sample of all rows, of at most 64 megabytes. The
    result depends on the order of the rows, but neither on the workers nor on how the rows are
    divided; up to rounding, it is that of `PolytomyClassifier`.

    Parameters
    ----------
    estimator, scheme, solver, calibration, final_calibration, models, random_state, verbose, \
class_weight, memory_budget, prediction_dtype, keep_out_of_fold, class_order, validation, max_sides
        As in `PolytomyClassifier`.
    cv : int, float or "auto", default="auto"
        Number of folds, or fraction of the rows to hold out, for both calibrations. "auto": five
        folds, or one held-out part for 100,000 rows or more.
    n_jobs : int, optional
        Number of threads per task; one by default.
    shared_preprocessing : bool, default=False
        Whether the steps before the last of a pipeline are fitted once, to `design_rows` rows.
    design_rows : int, default=10000
        Size of the stratified sample for designs that need data, and for shared transformers.
    client : distributed.Client, optional
        Client of the cluster; by default the one that was created last.

    Attributes
    ----------
    classes_, composition_, scheme_, binaries_, estimators_, out_of_fold_score_, n_features_in_, …
        As in `PolytomyClassifier`.
    n_samples_ : int
        Number of rows of the training data.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None):
    ...     classifier = DaskPolytomyClassifier("svc C=10", "one-vs-rest", random_state=0)
    ...     classifier.fit(da.from_array(X[::2], (30, 4)), da.from_array(y[::2], 30))
    ...     classifier.predict_proba(da.from_array(X[[1, 77, 133]])).compute().round(2)
    DaskPolytomyClassifier(estimator='svc C=10', random_state=0, scheme='one-vs-rest')
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.54, 0.46],
           [0.  , 0.36, 0.64]])
    """

    verbose: int
    class_weight: Mapping[Any, float] | str | None
    prediction_dtype: Any
    max_sides: int | None
    design_rows: int
    client: Any

    def __init__(self, *arguments: Any, **parameters: Any) -> None:
        given = _SIGNATURE.bind(self, *arguments, **parameters)
        given.apply_defaults()
        for name, value in given.arguments.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = _SIGNATURE  # type: ignore[attr-defined]

    @undone_if_interrupted
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the binaries of the scheme on the cluster.

        If a worker is lost, its tasks are run again elsewhere. If the scheduler is lost, this
        raises ClusterError.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features), or a list of delayed parts
            Chunks of unknown size and empty partitions are allowed.
        y : dask array or series of labels, or a list of delayed parts, divided like X
        sample_weight : dask array or series, or a list of delayed parts, optional
        """
        self.__dict__.pop("composition_", None)
        check_parameters(self, _CHECKS)
        estimator = resolve_estimator(self.estimator)
        if takes_pairwise_values(estimator):
            raise ArgumentError(
                Argument("estimator", estimator),
                " needs kernel values of all pairs of samples, which are not divided among workers."
                " Use PolytomyClassifier.",
            )
        if isinstance(self.scheme, str) and self.scheme == LIMITED:
            raise ArgumentError(
                Argument("scheme", LIMITED),
                " compares designs in one process. Use PolytomyClassifier, or a design such as ",
                Argument("scheme", "blocks"),
                ".",
            )
        client = find_client(self.client)
        parts = make_parts(X, y, sample_weight)
        with explaining_faults(client):
            with self._progress(len(parts), "grouping rows") as bar:
                data = group_rows_by_class(client, parts, bar.trained)
            self._note_features(data.layout)
            self.class_order_ = find_known_order(self.scheme, y, self.classes_, self.class_order)
            take_sample = cache(partial(self._take_sample, data))
            scheme = self._make_scheme(estimator, take_sample)
            for member in members_of(scheme):
                check_solver(member, self.solver)
            plan = plan_training([scheme], self.classes_, estimator, self.models)
            with self._progress(count_models(plan.dichotomies), "training") as bar:
                trained = train_binaries(
                    data,
                    plan.dichotomies,
                    self._options(data.layout.n_rows, has_weights=sample_weight is not None),
                    self.class_weight,
                    take_sample,
                    bar,
                )
        self.composition_ = plan.compose(trained, self.solver, self.prediction_dtype)
        return self

    def to_local(self) -> PolytomyClassifier:
        """Return a `PolytomyClassifier` with the same parameters and, if fitted, the same model."""
        parameters = self.get_params(deep=False)
        del parameters["design_rows"], parameters["client"]
        local = PolytomyClassifier(**parameters)
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(local, name, value)
        return local

    def _note_features(self, layout: Layout) -> None:
        self.classes_ = layout.classes
        self.n_features_in_ = layout.n_features
        self.n_samples_ = layout.n_rows
        self.__dict__.pop("feature_names_in_", None)
        if layout.feature_names is not None:
            self.feature_names_in_ = layout.feature_names

    def _take_sample(self, data: GroupedData) -> RowBlock:
        """Return a sample of the rows, for designs and transformers."""
        (seed,) = partition_seeds(self.random_state, 1)
        seed = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        return data.sample(self.design_rows, seed)

    def _make_scheme(
        self, estimator: Any, take_sample: Callable[[], RowBlock]
    ) -> Scheme | SchemeEnsemble:
        scheme, samples, labels = self.scheme, None, None
        if needs_data(scheme, self.classes_.tolist(), self.class_order_):
            block = take_sample()
            samples, class_indices = block.X, block.class_indices
            labels = self.classes_[class_indices]
            if isinstance(scheme, str) and scheme == "auto":
                scheme = choose_scheme(
                    samples,
                    labels,
                    estimator,
                    self.solver,
                    make_training_options(
                        self, "fit", block.weight, {}, self.classes_, class_indices
                    ),
                    models=self.models,
                    progress=progress_bar if self.verbose else None,
                    class_order=self.class_order_,
                )
        return scheme_from(
            scheme,
            self.classes_,
            X=samples,
            y=labels,
            random_state=self.random_state,
            class_order=self.class_order_,
            max_sides=self.max_sides or class_limit(estimator),
        )

    def _options(self, n_rows: int, *, has_weights: bool) -> TrainingOptions:
        """Return the training options, without those that belong to rows."""
        nothing = np.empty(0, dtype=np.intp)
        # Any value can stand for the weights, to find out which estimators request them.
        marker = nothing if has_weights else None
        options = make_training_options(self, "fit", marker, {}, self.classes_, nothing)
        requests = [options.arguments, *options.arguments_by_model.values()]
        if has_weights and any(each.given_weight is None for each in requests):
            raise ArgumentError(
                "sample_weight must be requested by all estimators, or by none: see "
                "set_fit_request of scikit-learn's metadata routing."
            )
        return replace(options.without_rows(), cv=choose_folds(self.cv, n_rows))

    def _progress(self, n_steps: int, verb: str) -> AbstractContextManager[TrainingListener]:
        return progress_bar(n_steps, verb) if self.verbose else nullcontext(TrainingListener())

    # -- copies, which keep the client, and pickles, which cannot --------------------------------

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __sklearn_clone__(self) -> Self:
        other = copy.copy(self)
        other.client = None
        other = super(DaskPolytomyClassifier, other).__sklearn_clone__()
        other.client = self.client
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}
