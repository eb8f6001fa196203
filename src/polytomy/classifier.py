"""The estimator: any two-class classifier, any scheme, class probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import check_parameters
from polytomy.inputs.training_data import check_training_data
from polytomy.learners.preparation import resolve_estimator
from polytomy.learners.problems import count_models
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.model.arrangement import Solver
from polytomy.model.changing import add_classes
from polytomy.model.estimator import (
    CLASSIFIER_CHECKS,
    CallbackListener,
    CallbackSupportMixin,
    FollowsEstimatorMixin,
    make_training_options,
    progress_bar,
    undone_if_interrupted,
    with_callbacks,
)
from polytomy.model.fitting import TrainingPlan, fit_binaries, plan_training
from polytomy.model.scheme_argument import (
    LIMITED,
    SchemeArgument,
    find_known_order,
    follows_labels,
    scheme_from,
)
from polytomy.model.streaming import StreamingMixin
from polytomy.selection.choice import choose_scheme, enter_candidates
from polytomy.selection.limited import (
    FitPlan,
    choose_best,
    describe_fit,
    options_of_comparison,
    plan_limited,
)
from polytomy.selection.runners import RaceSetup


class PolytomyClassifier(
    StreamingMixin,
    FollowsEstimatorMixin,
    CallbackSupportMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Multi-class classifier built from two-class classifiers, with class probabilities.

    The scheme divides the classes into two-class problems, a clone of the estimator is trained on
    each, and the solver turns their answers into class probabilities.

    Parameters
    ----------
    estimator : classifier or str, default=SVC()
        The two-class classifier: any scikit-learn classifier or pipeline, or a specification such
        as ``"svc C=10"``. Its answers come from ``predict_proba`` if it has one, otherwise from its
        calibrated ``decision_function``, otherwise from ``predict``, treated as certain. For
        partitions with more than two sides, it must be able to separate that many classes. A fitted
        model in scikit-learn's FrozenEstimator, with ``scheme="direct"``, is only calibrated.
    scheme : str, path, Scheme, dict, array, list or callable, default="one-vs-one"
        The name of a design or of an ensemble, control text, a control file, a Scheme or
        SchemeEnsemble, a hierarchy of the classes (nested dicts), a coding matrix (partitions by
        classes), or a function of (X, y) that returns any of these. A list of schemes is a pool:
        all are trained, and their probabilities are combined with weights learnt from out-of-fold
        probabilities. "pool" is ``["one-vs-one", "orthogonal", "empirical-tree"]``. "auto" compares
        designs on held-out folds; "limited" does so for models that take only a few classes, with
        designs of `max_sides` sides, and so does "auto" if there are more classes than that;
        "ordered" is for ordered classes: adjacent codes, with the order in `class_order` or one
        found in the data.
    solver : str or callable, default="auto"
        How the answers of the binaries become class probabilities: "least-squares", "divergence",
        "hastie-tibshirani", "wu-lin-weng-1", "price" or "libsvm". "voting", "hamming",
        "loss-based", "loss-weighted" and "greedy" only choose a class; see
        "Solvers" in the documentation. "auto" is "least-squares", or "divergence" for one-vs-rest
        with a final calibration. A function of (scheme, decisions) must return probabilities.
    calibration : {"auto", "sigmoid", "isotonic", "temperature"}, None or calibrator, default="auto"
        How decision values become probabilities. "auto" uses the estimator's own probabilities if
        it has them, else a sigmoid, or a temperature with fewer than ten samples for each class on
        average. Calibrators learn from held-out rows.
    final_calibration : {"auto", "bias", "decoder"}, None or calibrator, default="auto"
        How the solver's probabilities are calibrated, using out-of-fold answers. "bias" learns a
        temperature, a floor and a bias for each class; "decoder" also learns how much each binary
        says about each class. "auto" is "decoder", or "bias" if there are more than seven binaries
        for each class; if nothing else needs folds, it makes only enough to hold out 600 samples.
        The answers of fitted models count as out of fold. A calibrator has
        ``fit(log_probabilities, y)`` and ``predict_proba``.
    cv : int, float, "auto", splitter, list of splits or None, default="auto"
        Folds for both calibrations, shared by all binaries, and by designs compared with
        ``scheme="auto"``. A fraction holds out that share of the rows permanently, so each binary
        is trained once. "auto" is five folds; from 100,000 rows, it holds out a tenth of the rows,
        at most 20,000. None is five folds, as in scikit-learn. A list has pairs of training and
        held-out rows.
    models : dict, optional
        Estimators, or fitted models, keyed by names in the scheme. Fitted models are not trained
        again, and are assumed not to know the rows of this fit.
    n_jobs : int, optional
        Number of joblib jobs over the binaries. The result does not depend on it.
    random_state : int, RandomState or None
        Fixes random schemes, the folds and the estimators.
    verbose : int, default=0
        If not zero, show a progress bar and report how the binaries are trained.
    class_weight : dict, "balanced", "balanced-per-partition" or None
        Class weights, multiplied with the sample weights. "balanced" gives all classes the same
        total weight; "balanced-per-partition" does so for both sides of each problem.
    memory_budget : float, optional
        Maximum size in bytes of the kernel matrix that support vector machines share in training;
        by default a quarter of the machine's memory. Output of `shared_preprocessing` that is
        larger is stored in a temporary file. The result does not depend on it.
    prediction_dtype : "float64" or "float32", default="float64"
        Precision of kernel values in prediction. Single precision is faster; decision values are
        off by about 1e-6 times the sum of a machine's coefficients.
    keep_out_of_fold : bool, default=False
        Whether to keep ``out_of_fold_proba_``.
    class_order : list of labels, optional
        All labels from first to last, for schemes that use the order of the classes ("adjacent",
        "ordered", "chain", "tree") and for the columns of a coding matrix. By default it is that
        of y if y is an ordered Categorical of pandas or an Enum of polars. Otherwise the classes
        are sorted, and numbers written as text are sorted by value. ``classes_`` is always sorted.
    shared_preprocessing : bool, default=False
        Whether to fit the steps of a pipeline before the last only once, on all rows and without
        y, for all binaries and folds. Otherwise each binary and fold fits its own.
    reservoir_size : int, default=5000
        Maximum number of rows that ``partial_fit`` holds out of training for calibration: a tenth
        of each class, until the reservoir is full. With 0, all rows are used for training and
        nothing is calibrated.
    validation : {"folds"} or None, default=None
        Rows on which an estimator is scored while it is fitted, to stop early. With "folds", the
        models of the folds in `cv` stop early on the rows that their fold holds out, and the model
        of all rows has the mean of their numbers of iterations. The estimator's fit must take
        validation rows, as those of XGBoost, LightGBM, CatBoost and HistGradientBoosting do.
    max_sides : int, optional
        Largest number of classes that the estimator takes, and so of sides of a partition. By
        default what the estimator states as ``max_classes``, ``max_num_classes``,
        ``max_n_classes`` or ``MAX_NUMBER_OF_CLASSES``, itself or in ``get_inference_config()``, as
        TabPFN does, also in a pipeline or another estimator; otherwise there is no limit.

    Attributes
    ----------
    classes_ : array of the class labels
    class_order_ : list of the labels from first to last, or None if their order is not known
        From `class_order`, from y, or because the classes are numbers and the scheme is for ordered
        classes ("ordered", "adjacent", "chain" or "chain-backward").
    composition_ : Composition, with binaries, scheme and solver: everything that prediction needs
    out_of_fold_score_ : dict
        Log-loss, Brier score, accuracy and uncertainty coefficient on training samples, predicted
        by models that were trained without them: an estimate of the quality on new samples.
    out_of_fold_proba_ : array of shape (n_samples, n_classes), with ``keep_out_of_fold=True``
        The probabilities behind these scores; NaN for a sample that no fold holds out, or whose
        class is missing from the fold's training rows.
    pool_weights_ : array of shape (n_members,), the weight of each scheme of a pool
    prior_ : array of shape (n_classes,), the class frequencies that the probabilities assume
    scheme_ : Scheme or SchemeEnsemble
    estimators_ : list of fitted two-class estimators, in the order of the partitions
    binaries_ : list of TrainedBinary, one for each partition, or for each side if it has several
    class_change_ : ClassChange, of what `with_classes` and `without_classes` return
        Labels that were added or removed, and how many binaries were kept and trained.
    preprocessing_ : fitted Pipeline of the steps that all binaries share, or None
    reservoir_ : Reservoir, the rows that ``partial_fit`` holds out
    n_classes_, n_features_in_ : int
    feature_names_in_ : array of str, if X has feature names

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = PolytomyClassifier("svc C=10", scheme="one-vs-rest", random_state=0)
    >>> classifier.fit(X[::2], y[::2]).predict_proba(X[[1, 77, 133]]).round(2)
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.54, 0.46],
           [0.  , 0.36, 0.64]])
    >>> round(classifier.out_of_fold_score_["accuracy"], 2)
    0.96
    """

    def __init__(
        self,
        estimator: Any = None,
        scheme: SchemeArgument = "one-vs-one",
        *,
        solver: Solver = "auto",
        calibration: Any = "auto",
        final_calibration: Any = "auto",
        cv: Any = "auto",
        models: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        memory_budget: float | None = None,
        prediction_dtype: Any = "float64",
        keep_out_of_fold: bool = False,
        class_order: Sequence[Any] | None = None,
        shared_preprocessing: bool = False,
        reservoir_size: int = 5000,
        validation: str | None = None,
        max_sides: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.scheme = scheme
        self.solver = solver
        self.calibration = calibration
        self.final_calibration = final_calibration
        self.cv = cv
        self.models = models
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight
        self.memory_budget = memory_budget
        self.prediction_dtype = prediction_dtype
        self.keep_out_of_fold = keep_out_of_fold
        self.class_order = class_order
        self.shared_preprocessing = shared_preprocessing
        self.reservoir_size = reservoir_size
        self.validation = validation
        self.max_sides = max_sides

    # -- training -------------------------------------------------------------------------------

    @with_callbacks
    @undone_if_interrupted
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Train the binaries of the scheme.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n_samples, n_features)
        y : array of shape (n_samples,), labels: text, whole numbers or booleans
        sample_weight : array of shape (n_samples,), optional
        **fit_params : further arguments of the estimator's fit; those with one value per sample
            are split among the two-class problems, and so are validation rows (`eval_set`, or
            `X_val` and `y_val`; see "Early stopping" in the documentation)
        """
        # If this fit fails, the results of an earlier fit must not be used in its place.
        self._forget()
        check_parameters(self, CLASSIFIER_CHECKS)
        estimator = resolve_estimator(self.estimator)
        X, y, training = self._prepare(X, y, sample_weight, fit_params)
        plan = self._plan_fit(X, y, estimator, training)
        is_compared = len(plan.schemes) > 1
        options = options_of_comparison(training) if is_compared else training
        n_models = count_models(plan.dichotomies)
        progress = progress_bar(n_models) if self.verbose else nullcontext(TrainingListener())
        with progress as shown:
            if self.verbose:
                shown.note(describe_fit(plan, X, options).summary)
            callbacks = CallbackListener(self, n_models, X, y, shown)
            trained = fit_binaries(plan.dichotomies, X, options, callbacks)
        if is_compared:
            plan, trained = choose_best(plan, trained, self.solver, training)
        self.composition_ = plan.compose(trained, self.solver, self.prediction_dtype)
        callbacks.end(X, y)
        return self

    def with_classes(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        scheme: SchemeArgument | None = None,
        **fit_params: Any,
    ) -> Self:
        """Return a copy that also knows new classes; only the binaries that need them are trained.

        All other binaries stay as they are, bit for bit. ``class_change_`` of the copy says how
        many.

        - One-vs-one: each pair of a new class with another class is trained.
        - Trees: a new class is put next to the classes that it is nearest to, and the binaries on
          the way to its place are trained. With ``scheme="paths"``, its label names its place.
        - Other codes, and models of several classes: one binary is trained that separates a new
          class from all others, and P(class) = P(not new) · P(class | not new).

        Rows of `fit` are recognised by their values. Their stored out-of-fold scores, and folds,
        are used again, because the binaries that stay have seen them; no binary that stays has seen
        a new class. So the final calibration, ``out_of_fold_score_`` and prediction sets are based
        on samples that no model has seen. Rows of known classes that are not recognised are trained
        on, but not calibrated on; if none is recognised, all are taken to be new. Models from files
        that were saved without out-of-fold scores lose their final calibration, with a warning.

        Parameters
        ----------
        X, y, sample_weight, **fit_params : as in `fit`
            Samples of the new classes and of all known ones: the data of `fit`, or part of it,
            and the new samples. Their class frequencies become the prior. As after `fit`, there
            are no costs.
        scheme : as the parameter of the class, optional
            The scheme for all classes, to use instead. Binaries that separate the same classes as
            before stay.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> X_train, y_train, X_test, y_test = X[::2], y[::2], X[1::2], y[1::2]
        >>> is_old = y_train < 9
        >>> classifier = PolytomyClassifier(random_state=0).fit(X_train[is_old], y_train[is_old])
        >>> larger = classifier.with_classes(X_train, y_train)
        >>> print(larger.class_change_)
        36 binaries are kept, 9 are trained
        >>> round(classifier.score(X_test, y_test), 3), round(larger.score(X_test, y_test), 3)
        (0.886, 0.98)
        """
        self._fitted()
        check_parameters(self, CLASSIFIER_CHECKS)
        if scheme is None and follows_labels(self.scheme):
            scheme = self.scheme
        larger = add_classes(self, X, y, sample_weight, fit_params, scheme)
        return self._with_other_classes(*larger, scheme)

    def _prepare(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, fit_params: Mapping[str, Any]
    ) -> tuple[Any, NDArray[Any], TrainingOptions]:
        """Check the data, set the attributes that describe it, and return it with the options."""
        X, labels = check_training_data(self, X, y)
        self.classes_ = np.unique(labels)
        class_indices = np.searchsorted(self.classes_, labels)
        self.class_order_ = find_known_order(self.scheme, y, self.classes_, self.class_order)
        training = make_training_options(
            self, "fit", sample_weight, fit_params, self.classes_, class_indices
        )
        return X, labels, training

    def _scheme_for(self, training: TrainingOptions) -> SchemeArgument:
        """Return the scheme; "auto" is "limited" if there are more classes than a model takes."""
        most = training.max_sides
        is_auto = isinstance(self.scheme, str) and self.scheme == "auto"
        is_beyond = most is not None and 2 < most < len(self.classes_)
        return LIMITED if is_auto and is_beyond else self.scheme

    def _plan_fit(
        self, X: Any, y: NDArray[Any], estimator: Any, training: TrainingOptions
    ) -> TrainingPlan:
        """Return which dichotomies to train: those of a scheme, or of several to compare."""
        scheme = self._scheme_for(training)
        if isinstance(scheme, str) and scheme == LIMITED:
            return plan_limited(
                X, y, estimator, training, self.models, self.random_state, self.solver
            )
        if isinstance(scheme, str) and scheme == "auto":
            scheme = choose_scheme(
                X,
                y,
                estimator,
                self.solver,
                training,
                models=self.models,
                progress=progress_bar if self.verbose else None,
                class_order=self.class_order_,
            )
        scheme = scheme_from(
            scheme,
            self.classes_,
            X=X,
            y=y,
            random_state=self.random_state,
            class_order=self.class_order_,
            max_sides=training.max_sides,
        )
        return self._plan(scheme, estimator)


def plan(
    classifier: PolytomyClassifier,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    **fit_params: Any,
) -> FitPlan:
    """Return which models a fit would train, on how many rows, and with how many folds.

    Nothing is trained. For ``scheme="auto"``, these are the models that are compared.

    Parameters
    ----------
    classifier : PolytomyClassifier; it is not changed
    X, y, sample_weight, **fit_params : the arguments of its `fit`

    Returns
    -------
    FitPlan, which prints as a table; `n_models`, `n_folds`, `n_fits` and `models` have the numbers

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = PolytomyClassifier(GaussianNB(), "blocks", max_sides=6, random_state=0)
    >>> print(plan(classifier, X, y))
    5 models of up to 6 sides, 2 folds, 15 fits
    model      sides    rows
    blocks-00      6    1081
    blocks-01      6    1073
    blocks-02      6    1077
    blocks-03      6    1083
    blocks-04      6    1075
    """
    if not isinstance(classifier, PolytomyClassifier):
        raise ArgumentError(
            Argument("classifier"),
            f" must be a PolytomyClassifier; got a {type(classifier).__name__}.",
        )
    planned = clone(classifier)
    check_parameters(planned, CLASSIFIER_CHECKS)
    estimator = resolve_estimator(planned.estimator)
    X, labels, training = planned._prepare(X, y, sample_weight, fit_params)
    scheme = planned._scheme_for(training)
    if isinstance(scheme, str) and scheme == "auto" and len(planned.classes_) > 2:
        setup = RaceSetup(X, labels, estimator, training, planned.models, planned.class_order_)
        schemes = [each for _, each in enter_candidates(setup, planned.solver)]
        compared = plan_training(schemes, planned.classes_, estimator, planned.models)
        return replace(describe_fit(compared, X, options_of_comparison(training)), is_choice=True)
    found = planned._plan_fit(X, labels, estimator, training)
    options = options_of_comparison(training) if len(found.schemes) > 1 else training
    return describe_fit(found, X, options)
