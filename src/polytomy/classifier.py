"""The estimator: any binary classifier, any scheme, real probabilities."""

from __future__ import annotations

import copy
import html
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.svm import SVC
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from polytomy.assembly import (
    Dichotomy,
    SchemeArgument,
    ask_binaries,
    bind_classes,
    blocks_of_rows,
    check_features,
    check_training_data,
    class_weights,
    dichotomies,
    fit_binaries,
    follow_winners,
    match_partitions,
    progress_bar,
    scheme_from,
    update_binaries,
)
from polytomy.assembly.callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from polytomy.binary.preparation import check_classifier, tags_of
from polytomy.binary.rows import count_rows, take_block
from polytomy.errors import ArgumentError
from polytomy.scheme import Scheme
from polytomy.solvers import decode, find_method

__all__ = ["PolytomyClassifier"]

Solver = str | Callable[[Scheme, NDArray[np.float64]], NDArray[np.float64]]


def _solver_gives_probabilities(classifier: PolytomyClassifier) -> bool:
    return callable(classifier.solver) or find_method(classifier.solver).gives_probabilities


def _learns_in_parts(classifier: PolytomyClassifier) -> bool:
    if isinstance(classifier.class_weight, str):
        raise AttributeError(
            f"class_weight={classifier.class_weight!r} needs all the data at once: there is no "
            "partial_fit. Give a dict of labels and weights."
        )
    return hasattr(classifier._binary_estimator(), "partial_fit")


class PolytomyClassifier(CallbackSupportMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A multi-class classifier composed of binary ones, with real class probabilities.

    The scheme says which binary problems the classes are divided into; a copy of the estimator is
    trained on each; the solver turns their answers into class probabilities.

    Parameters
    ----------
    estimator : classifier, default=SVC()
        The binary classifier: any of scikit-learn's, or a pipeline. It answers by
        ``predict_proba`` where it has one; else by its calibrated ``decision_function``; else by
        ``predict``, as if it were certain.
    scheme : str, path, Scheme, array or callable, default="one-vs-one"
        The name of a design, control text, a control file, a scheme, a coding matrix (partitions
        by classes), or a function of (X, y) that returns any of these.
    solver : str or callable, default="least-squares"
        How answers become probabilities: a method of ``polytomy.solve`` or ``polytomy.decode``, or
        a function of (scheme, decisions).
    calibration : {"auto", "sigmoid", "isotonic", "temperature"}, None or calibrator, default="auto"
        How decision values become probabilities. "auto" takes the estimator's own probabilities
        where it has them, else a sigmoid. Calibrators learn from held-out folds inside each binary
        problem.
    cv : int, splitter or list of splits, default=5
        Folds for calibration; never more than the smaller side of a problem allows. A list has
        pairs of training and held-out rows of X.
    models : dict, optional
        Estimators, or fitted models, for the names in the scheme.
    n_jobs : int, optional
        Jobs of joblib over the binaries; the results do not depend on it.
    random_state : int, RandomState or None
        Fixes the scheme (where it is drawn), the folds and the estimators.
    verbose : int, default=0
        1 shows a progress bar.
    class_weight : dict, "balanced", "balanced-per-partition" or None
        Weights of the classes, multiplied with the samples' weights. "balanced" lets all classes
        weigh the same, "balanced-per-partition" the two sides of each binary problem.

    Attributes
    ----------
    classes_ : array of the class labels
    scheme_ : Scheme
    binaries_ : list of TrainedBinary, one for each partition of the scheme that was fitted
    n_features_in_ : int
    feature_names_in_ : array of str, where X has names

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = PolytomyClassifier(scheme="one-vs-rest", random_state=0).fit(X, y)
    >>> classifier.predict_proba(X[:1]).round(1)
    array([[1., 0., 0.]])
    """

    def __init__(
        self,
        estimator: Any = None,
        scheme: SchemeArgument = "one-vs-one",
        solver: Solver = "least-squares",
        calibration: Any = "auto",
        cv: Any = 5,
        models: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.estimator = estimator
        self.scheme = scheme
        self.solver = solver
        self.calibration = calibration
        self.cv = cv
        self.models = models
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight

    # -- training -------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Train the binaries of the scheme.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n_samples, n_features)
        y : array of shape (n_samples,), labels of any kind
        sample_weight : array of shape (n_samples,), optional
        **fit_params : further arguments of the estimator's fit; those with a value for each sample
            are divided among the binary problems
        """
        # If this fit fails, nothing of an earlier one may answer in its place.
        self.__dict__.pop("binaries_", None)
        X, y = check_training_data(self, X, y, self._binary_estimator())
        weight, fit_params = self._routed("fit", sample_weight, fit_params)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._set_scheme(
            scheme_from(self.scheme, self.classes_, X=X, y=y, random_state=self.random_state)
        )
        wanted = dichotomies(self.scheme_, self._binary_estimator(), self.models)
        tasks = FitTasks(self, len(wanted), X, y)
        listeners: list[Callable[[Dichotomy], None]] = [tasks.on_trained] if tasks.is_heard else []
        with ExitStack() as stack:
            if self.verbose:
                listeners.append(stack.enter_context(progress_bar(wanted)))
            self.binaries_ = fit_binaries(
                wanted,
                X,
                self._positions[codes],
                len(self.scheme_.classes),
                calibration=self.calibration,
                cv=self.cv,
                random_state=self.random_state,
                sample_weight=class_weights(self.class_weight, self.classes_, codes, weight),
                balance_partitions=self._balances_partitions(),
                fit_params=fit_params,
                n_jobs=self.n_jobs,
                on_trained=_tell_all(listeners),
            )
        self._trained_scheme, self._trained_positions = self.scheme_, self._positions
        tasks.end(X, y)
        return self

    @available_if(_learns_in_parts)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Train the binaries further on a batch; nothing is calibrated.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : all labels that will come; needed in the first call
        """
        is_first = not hasattr(self, "binaries_")
        X, y = check_training_data(self, X, y, self._binary_estimator(), reset=is_first)
        weight, fit_params = self._routed("partial_fit", sample_weight, fit_params)
        if fit_params:
            raise ArgumentError(f"partial_fit does not take {', '.join(fit_params)}")
        if is_first:
            if classes is None:
                raise ArgumentError("the first call of partial_fit needs classes=, all the labels")
            self.classes_ = np.unique(classes)
            self._set_scheme(
                scheme_from(self.scheme, self.classes_, random_state=self.random_state)
            )
            self._trained_scheme, self._trained_positions = self.scheme_, self._positions
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ArgumentError(f"classes={classes!r} differ from those of the first call")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ArgumentError(
                f"y has the label {unknown.tolist()[0]!r}, which is not in classes="
            )
        codes = np.searchsorted(self.classes_, y)
        wanted = dichotomies(self._trained_scheme, self._binary_estimator(), self.models)
        self.binaries_ = update_binaries(
            None if is_first else self.binaries_,
            wanted,
            X,
            self._trained_positions[codes],
            len(self._trained_scheme.classes),
            random_state=self.random_state,
            sample_weight=class_weights(self.class_weight, self.classes_, codes, weight),
        )
        return self

    # -- answers --------------------------------------------------------------------------------

    def decisions(self, X: Any) -> NDArray[np.float64]:
        """Return the answers of the binaries, P(+1) − P(−1), in the order of the partitions.

        Returns
        -------
        array of shape (n_samples, n_partitions), in [−1, 1]
        """
        check_is_fitted(self, "binaries_")
        return self._ask(check_features(self, X, self._binary_estimator()))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest probability (or score); ties go to the first class."""
        check_is_fitted(self, "binaries_")
        labels: NDArray[Any] = self.classes_[np.argmax(self._scores(X), axis=1)]
        return labels

    @available_if(_solver_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, in the order of ``classes_``."""
        check_is_fitted(self, "binaries_")
        return self._scores(X)

    @available_if(_solver_gives_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities."""
        probabilities: NDArray[np.float64] = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(probabilities)

    @available_if(lambda classifier: not _solver_gives_probabilities(classifier))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of a solver that gives no probabilities; one column for two classes."""
        check_is_fitted(self, "binaries_")
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _scores(self, X: Any) -> NDArray[np.float64]:
        X = check_features(self, X, self._binary_estimator())
        n_rows = count_rows(X)
        scores = np.empty((n_rows, len(self.classes_)))
        for block in blocks_of_rows(n_rows, len(self.binaries_)):
            scores[block] = self._solve(take_block(X, block))[:, self._positions]
        if _solver_gives_probabilities(self) and len(self._positions) < len(self.scheme_.classes):
            # What went to classes that were never seen belongs to the others.
            total = scores.sum(axis=1, keepdims=True)
            even = np.full_like(scores, 1 / scores.shape[1])
            scores = np.divide(scores, total, out=even, where=total > 0)
        return scores

    def _solve(self, X: Any) -> NDArray[np.float64]:
        if len(self.scheme_.classes) == 1:
            return np.ones((count_rows(X), 1))
        if self.solver == "greedy" and self.scheme_.is_tree:
            binaries = [self.binaries_[column] for column in self._columns]
            return follow_winners(self.scheme_, binaries, self._signs, X)
        decisions = self._ask(X)
        if callable(self.solver):
            return np.asarray(self.solver(self.scheme_, decisions), dtype=np.float64)
        return decode(self.scheme_, decisions, self.solver)

    def _ask(self, X: Any) -> NDArray[np.float64]:
        answers = ask_binaries(self.binaries_, X, n_jobs=self.n_jobs)
        if self._trained_scheme is self.scheme_:
            return answers
        return answers[:, self._columns] * self._signs

    # -- the same binaries, put together another way --------------------------------------------

    def with_solver(self, solver: Solver) -> Self:
        """Return the classifier with the same trained binaries, solved another way; no refit."""
        check_is_fitted(self, "binaries_")
        other = copy.copy(self)
        other.solver = solver
        other._check_solver()
        return other

    def with_scheme(self, scheme: SchemeArgument) -> Self:
        """Return the classifier with the same trained binaries in another layout; no refit.

        Every partition of the new scheme must have been trained, with its sides in either order;
        SchemeError names one that was not.
        """
        check_is_fitted(self, "binaries_")
        other = copy.copy(self)
        other.scheme = scheme
        other._set_scheme(scheme_from(scheme, self.classes_, random_state=self.random_state))
        known = _with_labels_of(
            other.scheme_, other._positions, self._trained_scheme, self._trained_positions
        )
        other._columns, other._signs = match_partitions(known, other.scheme_)
        return other

    # -- parts of the above ---------------------------------------------------------------------

    def _binary_estimator(self) -> Any:
        if self.estimator is None:
            return SVC()
        check_classifier(self.estimator)
        return self.estimator

    def _balances_partitions(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == "balanced-per-partition"

    def _check_solver(self) -> None:
        """Raise ArgumentError, before anything is trained, if the solver cannot do the scheme."""
        if not callable(self.solver):
            decode(self.scheme_, np.empty((0, self.scheme_.n_partitions)), self.solver)

    def _set_scheme(self, scheme: Scheme) -> None:
        self._positions = bind_classes(scheme, self.classes_)
        self.scheme_ = scheme
        self._columns = np.arange(scheme.n_partitions)
        self._signs = np.ones(scheme.n_partitions)
        self._check_solver()

    def _routed(
        self, method: str, sample_weight: ArrayLike | None, params: dict[str, Any]
    ) -> tuple[ArrayLike | None, dict[str, Any]]:
        """Return the weights and the other parameters that the estimator's method gets."""
        if not get_config()["enable_metadata_routing"]:
            return sample_weight, params
        given = params if sample_weight is None else {"sample_weight": sample_weight, **params}
        routed = dict(process_routing(self, method, **given).estimator[method])
        return routed.pop("sample_weight", None), routed

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which parameters of `fit` and `partial_fit` go to the estimator."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="partial_fit", callee="partial_fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._binary_estimator(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner_tags = tags_of(self._binary_estimator())
        if inner_tags is None:
            return tags
        inner = inner_tags.input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.pairwise = inner.pairwise
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.categorical = inner.categorical
        tags.input_tags.string = inner.string
        return tags

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()
        if not hasattr(self, "scheme_"):
            return diagram
        drawing = html.escape(_shortened(self.scheme_.compact()))
        summary = html.escape(repr(self.scheme_)[1:-1])
        return f"{diagram}<details open><summary>{summary}</summary><pre>{drawing}</pre></details>"


def _with_labels_of(
    source: Scheme,
    source_positions: NDArray[np.intp],
    scheme: Scheme,
    positions: NDArray[np.intp],
) -> Scheme:
    """Return a scheme with the labels that another one writes for the same classes of the data."""
    labels: list[Any] = [f"{label} without data" for label in scheme.classes]
    for position, source_position in zip(positions, source_positions, strict=True):
        labels[position] = source.classes[source_position]
    return Scheme(labels, scheme.nodes)


def _tell_all(
    listeners: list[Callable[[Dichotomy], None]],
) -> Callable[[Dichotomy], None] | None:
    if not listeners:
        return None

    def on_trained(dichotomy: Dichotomy) -> None:
        for listener in listeners:
            listener(dichotomy)

    return on_trained


def _shortened(text: str, most_lines: int = 40) -> str:
    lines = text.splitlines()
    if len(lines) <= most_lines:
        return text
    return "\n".join([*lines[:most_lines], f"… {len(lines) - most_lines} more lines"])
