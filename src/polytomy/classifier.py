"""The estimator: any binary classifier, any scheme, real probabilities."""

from __future__ import annotations

import copy
import html
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.svm import SVC
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from polytomy.banks import build_bank
from polytomy.binary import TrainedBinary
from polytomy.binary.preparation import check_classifier, tags_of
from polytomy.calibration import UncalibratedMap
from polytomy.composition import (
    Dichotomy,
    RoutedArguments,
    SchemeArgument,
    Solver,
    arrange,
    blocks_of_rows,
    check_features,
    check_solver,
    check_training_data,
    fit_binaries,
    gives_probabilities,
    mean_scores,
    members_of,
    progress_bar,
    rearrange,
    route_arguments,
    router_of,
    scheme_from,
    training_options,
    update_binaries,
)
from polytomy.composition.callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from polytomy.errors import ArgumentError, CalibrationWarning, warn_caller
from polytomy.inputs.rows import count_rows, take_block
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble
from polytomy.selection import choose, default_candidates, find_score, folds_of, run_race

__all__ = ["PolytomyClassifier"]

# Held-out parts on which scheme="auto" compares schemes.
_AUTO_FOLDS = 3


def _solver_gives_probabilities(classifier: PolytomyClassifier) -> bool:
    return gives_probabilities(classifier.solver)


def _learns_in_parts(classifier: PolytomyClassifier) -> bool:
    if isinstance(classifier.class_weight, str):
        raise AttributeError(
            f"class_weight={classifier.class_weight!r} needs all the data at once: there is no "
            "partial_fit. Give a dict of labels and weights."
        )
    return hasattr(classifier.binary_estimator(), "partial_fit")


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
        The name of a design or of an ensemble, control text, a control file, a scheme or ensemble,
        a coding matrix (partitions by classes), or a function of (X, y) that returns any of these.
        "auto" compares designs on held-out folds.
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
        1 shows a progress bar, and how the binaries are trained.
    class_weight : dict, "balanced", "balanced-per-partition" or None
        Weights of the classes, multiplied with the samples' weights. "balanced" lets all classes
        weigh the same, "balanced-per-partition" the two sides of each binary problem.
    memory_budget : float, optional
        Bytes that the kernel matrix may take on which support vector machines are trained
        together; a quarter of the machine's memory by default. Where it does not fit, LIBSVM
        trains each by itself, with the same result.
    prediction_dtype : "float64" or "float32", default="float64"
        Precision of kernel values at prediction. In single precision decision values are off by
        some 1e-6 of the sum of a machine's coefficients, and come faster.

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
        memory_budget: float | None = None,
        prediction_dtype: Any = "float64",
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
        self.memory_budget = memory_budget
        self.prediction_dtype = prediction_dtype

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
        X, y = check_training_data(self, X, y)
        routed = self._routed("fit", sample_weight, fit_params)
        self.classes_, codes = np.unique(y, return_inverse=True)
        scheme = self._scheme_for(X, y, codes, routed)
        wanted = self._arrange(scheme)
        tasks = FitTasks(self, len(wanted), X, y)
        listeners: list[Callable[[Dichotomy], None]] = [tasks.on_trained] if tasks.is_heard else []
        on_note = None
        with ExitStack() as stack:
            if self.verbose:
                bar = stack.enter_context(progress_bar(wanted))
                listeners.append(bar.on_trained)
                on_note = bar.on_note
            binaries = fit_binaries(
                wanted,
                X,
                codes,
                len(self.classes_),
                on_trained=_tell_all(listeners),
                on_note=on_note,
                **training_options(self, routed, self.classes_, codes),
            )
        self._keep_binaries(binaries)
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
        X, y = check_training_data(self, X, y, reset=is_first)
        routed = self._routed("partial_fit", sample_weight, fit_params)
        for arguments in (routed.of_estimator, *routed.of_models.values()):
            if arguments.others:
                raise ArgumentError(f"partial_fit does not take {', '.join(arguments.others)}")
        if is_first:
            if classes is None:
                raise ArgumentError("the first call of partial_fit needs classes=, all the labels")
            self.classes_ = np.unique(classes)
            scheme = scheme_from(self.scheme, self.classes_, random_state=self.random_state)
            self._arrange(scheme)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ArgumentError(f"classes={classes!r} differ from those of the first call")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ArgumentError(
                f"y has the label {unknown.tolist()[0]!r}, which is not in classes="
            )
        codes = np.searchsorted(self.classes_, y)
        options = training_options(self, routed, self.classes_, codes)
        if not is_first:
            self._warn_of_lost_calibration()
        binaries = update_binaries(
            None if is_first else self.binaries_,
            self._dichotomies,
            X,
            codes,
            len(self.classes_),
            random_state=self.random_state,
            sample_weight=options["sample_weight"],
            of_models=options["of_models"],
        )
        self._keep_binaries(binaries)
        return self

    # -- answers --------------------------------------------------------------------------------

    def decisions(self, X: Any) -> NDArray[np.float64]:
        """Return the answers of the binaries, P(+1) − P(−1), in the order of the partitions.

        Returns
        -------
        array of shape (n_samples, n_partitions), in [−1, 1]
        """
        check_is_fitted(self, "binaries_")
        X = check_features(self, X)
        answers = self._bank.decisions(X, n_jobs=self.n_jobs)
        # The binaries of an ensemble belong to no single scheme: they answer as they were trained.
        return self._arrangements[0].decisions(answers) if len(self._arrangements) == 1 else answers

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest probability or score.

        Ties of probabilities go to the first class; of votes and other scores, to the class that
        the scheme names first.
        """
        check_is_fitted(self, "binaries_")
        scores, classes = self._scores(X), self.classes_
        order = self.tie_order()
        if (np.diff(order) < 0).any():
            scores, classes = scores[:, order], classes[order]
        labels: NDArray[Any] = classes[np.argmax(scores, axis=1)]
        return labels

    def tie_order(self) -> NDArray[np.intp]:
        """Return the positions of the classes, the one first that wins a tie."""
        if _solver_gives_probabilities(self):
            return np.arange(len(self.classes_))
        return np.argsort(self._arrangements[0].positions)

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
        X = check_features(self, X)
        n_rows = count_rows(X)
        scores = np.empty((n_rows, len(self.classes_)))
        for block in blocks_of_rows(n_rows, len(self.binaries_)):
            part = take_block(X, block)
            scores[block] = mean_scores(
                self._arrangements, self._bank, part, self.solver, self.n_jobs
            )
        return scores

    # -- the same binaries, put together another way --------------------------------------------

    def with_solver(self, solver: Solver) -> Self:
        """Return the classifier with the same trained binaries, solved another way; no refit."""
        check_is_fitted(self, "binaries_")
        other = self._twin()
        other.solver = solver
        for arrangement in self._arrangements:
            check_solver(arrangement.scheme, solver)
        return other

    def with_scheme(self, scheme: SchemeArgument) -> Self:
        """Return the classifier with the same trained binaries in another layout; no refit.

        Every partition of the new scheme must have been trained, with its sides in either order;
        SchemeError names one that was not.
        """
        check_is_fitted(self, "binaries_")
        other = self._twin()
        other.scheme = scheme
        new = scheme_from(scheme, self.classes_, random_state=self.random_state)
        for member in members_of(new):
            check_solver(member, self.solver)
        other._arrangements = [
            rearrange(member, self.classes_, self._dichotomies) for member in members_of(new)
        ]
        other.scheme_ = new
        return other

    def _twin(self) -> Self:
        """Return a classifier with the same binaries."""
        other = copy.copy(self)
        if hasattr(self.binary_estimator(), "partial_fit"):
            # Else training one of the two further would change the other's answers.
            other._keep_binaries(copy.deepcopy(self.binaries_))
        return other

    # -- parts of the above ---------------------------------------------------------------------

    def binary_estimator(self) -> Any:
        """Return the estimator of the binaries, unfitted; SVC() by default."""
        if self.estimator is None:
            return SVC()
        check_classifier(self.estimator)
        return self.estimator

    def _keep_binaries(self, binaries: list[TrainedBinary]) -> None:
        self.binaries_ = binaries
        self._bank = build_bank(binaries, self.prediction_dtype)

    def _scheme_for(
        self, X: Any, y: NDArray[Any], codes: NDArray[np.intp], routed: RoutedArguments
    ) -> Scheme | SchemeEnsemble:
        """Return the scheme that the option means for the data."""
        argument = self.scheme
        if isinstance(argument, str) and argument == "auto":
            if len(self.classes_) < 3:  # there is only one way
                return scheme_from("one-vs-one", self.classes_)
            has_probabilities = gives_probabilities(self.solver)
            decides = "joint_log_loss" if has_probabilities else "uncertainty_coefficient"
            race = run_race(
                default_candidates(len(self.classes_), self.solver),
                X,
                y,
                scores=[find_score(decides)],
                folds=folds_of(
                    _AUTO_FOLDS if isinstance(self.cv, int | np.integer) else self.cv,
                    X,
                    y,
                    self.random_state,
                    skips_incomplete=True,
                    **routed.of_splitter,
                ),
                estimator=self.binary_estimator(),
                models=self.models,
                sample_weight=routed.of_estimator.sample_weight,
                random_state=self.random_state,
                training=lambda rows: training_options(self, routed, self.classes_, codes, rows),
                is_lenient=True,
                progress=progress_bar if self.verbose else None,
            )
            argument = choose(race).candidate.scheme
        return scheme_from(argument, self.classes_, X=X, y=y, random_state=self.random_state)

    def _warn_of_lost_calibration(self) -> None:
        maps = [binary.calibrator for binary in self.binaries_]
        if any(each is not None and not isinstance(each, UncalibratedMap) for each in maps):
            warn_caller(
                "partial_fit changes the binaries that fit has calibrated; their answers are not "
                "calibrated from now on",
                CalibrationWarning,
            )

    def _arrange(self, scheme: Scheme | SchemeEnsemble) -> list[Dichotomy]:
        """Take on a scheme, and return the dichotomies to be trained for it."""
        members = members_of(scheme)
        for member in members:
            check_solver(member, self.solver)
        self._dichotomies, self._arrangements = arrange(
            members, self.classes_, self.binary_estimator(), self.models
        )
        self.scheme_ = scheme
        return self._dichotomies

    def _routed(
        self, method: str, sample_weight: ArrayLike | None, others: Mapping[str, Any]
    ) -> RoutedArguments:
        return route_arguments(self, method, sample_weight, others, models=self.models, cv=self.cv)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which arguments of `fit` and `partial_fit` go to estimators and splitter."""
        return router_of(self, self.binary_estimator(), self.models, self.cv)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner_tags = tags_of(SVC() if self.estimator is None else self.estimator)
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
        texts = [member.compact() for member in members_of(self.scheme_)]
        drawing = html.escape(_shortened("\n\n".join(texts)))
        summary = html.escape(repr(self.scheme_)[1:-1])
        return f"{diagram}<details open><summary>{summary}</summary><pre>{drawing}</pre></details>"


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
