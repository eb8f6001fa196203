"""Scheme search: compares designs and solvers, and trains each dichotomy once per fold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from polytomy.calibration.folds import check_folds, is_splitter
from polytomy.classifier import PolytomyClassifier
from polytomy.designs.orders import order_classes
from polytomy.designs.registry import uses_class_order
from polytomy.errors import Argument, ArgumentError, ClassOrderWarning
from polytomy.inputs.arguments import (
    Parameter,
    available_unless,
    check_parameters,
    is_boolean,
    is_count,
    is_nonnegative_number,
    make_frame,
)
from polytomy.inputs.training_data import check_training_data, read_class_order
from polytomy.learners.preparation import resolve_estimator
from polytomy.metrics.scores import DEFAULT_SCORING
from polytomy.model.arrangement import gives_probabilities, names_in
from polytomy.model.estimator import (
    CLASS_ORDER,
    CLASSIFIER_CHECKS,
    PARALLEL_CHECKS,
    make_router,
    make_training_options,
    progress_bar,
    take_groups,
    undone_if_interrupted,
)
from polytomy.model.fitting import PoolMember, fit_pool_members
from polytomy.model.scheme_argument import members_of, scheme_from
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.candidates import (
    Candidate,
    candidates_from,
    configure,
    expand_candidates,
    separates_many_classes,
)
from polytomy.selection.choice import choose_members, choose_runner, score_pool, tabulate_race
from polytomy.selection.race import Race, comparison_folds, find_metric, run_race
from polytomy.selection.runners import RaceSetup


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_several(value: Any) -> bool:
    return is_count(value) and value >= 2


_CHECKS: dict[str, Any] = {
    "cv": check_folds,
    "budget": Parameter(
        "budget", "a non-negative number of seconds", is_nonnegative_number, allows_none=True
    ).check,
    "final_calibration": CLASSIFIER_CHECKS["final_calibration"],
    "refit": Parameter("refit", "True or False", is_boolean).check,
    "error_score": Parameter("error_score", "np.nan", _is_nan, ("raise",)).check,
    "drop_losers": Parameter("drop_losers", "True or False", is_boolean).check,
    "pool": Parameter("pool", "an integer of at least 2", _is_several, allows_none=True).check,
    "class_order": CLASS_ORDER.check,
    **PARALLEL_CHECKS,
}


_RESULTS = (
    *("best_estimator_", "best_candidate_", "best_params_", "best_index_", "best_score_"),
    *("cv_results_", "pareto_", "n_folds_", "n_splits_", "pool_"),
)


def _why_no_probabilities(search: SchemeSearchCV) -> str:
    """Return why the chosen classifier has no probabilities, or why no candidate would have any."""
    try:
        winner = search.best_estimator_
    except AttributeError:
        if isinstance(search.candidates, str):  # the default candidates give probabilities
            return ""
        candidates = candidates_from(search.candidates, 3, search._classifier().solver)
        has_any = any(each.gives_probabilities for each in candidates)
        return "" if has_any else "no candidate's solver gives probabilities. Use predict."
    solver = winner.composition_.solver
    if gives_probabilities(solver):
        return ""
    return f'the chosen solver, "{solver}", gives scores, not probabilities. Use decision_function.'


def _ask_winner(name: str) -> Any:
    """Return a method that asks the chosen classifier; it has the signature and text of its own."""

    @wraps(getattr(PolytomyClassifier, name))
    def answer(self: SchemeSearchCV, X: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(self._winner(), name)(X, *arguments, **options)

    return answer


class SchemeSearchCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Compare schemes, solvers and parameters on held-out folds, and train the best.

    In each fold, every dichotomy that occurs in any candidate is trained once, and schemes made
    from data are made from the training part of the fold only. A candidate that clearly loses is
    dropped. Among candidates no more than one standard error worse than the best (the error of the
    difference, on the same samples), the search chooses the one whose binaries train on the fewest
    samples. Support vector machines share their kernel values across all folds and values of C.

    Parameters
    ----------
    estimator : classifier or str, default=SVC()
        The two-class classifier, or a PolytomyClassifier with further parameters.
    candidates : "default", list or dict, default="default"
        Schemes, each in any form that the parameter ``scheme`` of a classifier accepts, or pairs of
        a scheme and a solver; a dict gives them names. "default" tries the designs that suit the
        number of classes, with "direct" and "n-ary" if the estimator separates many classes.
    scoring : str or sequence of str
        Scores to measure; the first decides. By default, the log-loss and the uncertainty
        coefficient. Names of `polytomy.metrics.METRICS`, without those
        that need an order or a hierarchy of the classes.
    final_calibration : str, None or calibrator, default="auto"
        How the probabilities of the candidates, and of the chosen classifier, are calibrated; see
        PolytomyClassifier. "auto" keeps the value of a PolytomyClassifier in `estimator`.
    cv : int, splitter or list of splits, default=5
        The cross-validation folds. SVCs that are calibrated on as many folds, with schemes that are
        not made from data, are calibrated on these: each candidate is trained once, and judged by
        its own out-of-fold probabilities. Unless ``cv`` is a number, so is the chosen classifier.
    budget : float, optional
        Start no new fold after this many seconds. The first fold is always finished. Each fold is
        then measured with calibration folds of its own.
    refit : bool, default=True
        Whether to train the chosen scheme on all the data.
    n_jobs : int, optional
        Number of joblib jobs over the binaries. The result does not depend on it.
    random_state : int, RandomState or None
        Fixes the folds, random schemes and the estimators.
    verbose : int, default=0
        If not zero, shows progress.
    class_order : list of labels, optional
        All labels from first to last, for candidates that use the order of the classes; see
        PolytomyClassifier. With it, "adjacent" is one of the default candidates.
    param_grid : dict of lists, or list of such dicts, optional
        Values of the estimator's parameters to try with every candidate, as in scikit-learn's
        GridSearchCV: ``{"C": [1, 10], "gamma": [0.01, 0.1]}``. Candidates with the solver "hamming"
        (votes, as in SVC) are then trained without calibration, unless `estimator` is a
        PolytomyClassifier with a calibration of its own.
    drop_losers : bool, default=True
        Whether candidates that clearly lose are dropped. If not, all have results of all folds.
        Candidates calibrated on the folds of the search have results of all folds or, if they are
        one-vs-one and their votes clearly lose by accuracy, of none.
    pool : int, optional
        How many candidates to combine: the classifier is a pool of the best, each with its own
        scheme, solver and parameters, with weights learnt from out-of-fold probabilities.
    error_score : "raise" or np.nan, default=np.nan
        What happens if the training or prediction of a candidate fails. By default it is left out,
        with a FitFailedWarning that names it; "raise" raises an error that names it. If all
        candidates fail, the error of the first is raised in any case.

    Attributes
    ----------
    best_candidate_ : Candidate, with its name, scheme, solver and params; the best of a pool
    best_params_ : dict, the chosen values of the parameters in `param_grid`
    best_index_ : int, the position of the chosen candidate in ``cv_results_``
    best_score_ : float, its ``mean_test_score``
        That of a pool is a mean over the folds, too: each fold is scored with weights learnt from
        the others. The members were chosen by their scores on the same folds.
    pool_ : list of Candidate, the members of the pool, the best first; only with `pool`
    best_scheme_ : Scheme, made from all the data; prints as control text
    best_estimator_ : PolytomyClassifier, trained on all the data
        A pool has ``pool_weights_``. Its parameters are those of its best member, except the list
        of schemes; to train the same pool on other data, fit the search.
    cv_results_ : dict of arrays with a value for each candidate; ``frame()`` turns it into a table
        Means are over the folds of the candidate, ``n_folds``, which are fewer if it was dropped;
        without any fold, they are NaN.
        To compare candidates, use ``rank`` and ``difference_…``, with the name of each score:
        the difference from the candidate of rank 1 on the same folds. The columns of GridSearchCV,
        such as ``param_C`` and ``mean_test_score``, are for the score that decides, negated if it
        is a loss.
    pareto_ : list of str
        Candidates that no other candidate beats in a score, fit time or prediction time, on the
        folds of both, without being worse in another of these.
    n_folds_ : int, number of folds that were run
    n_splits_ : int, number of folds
    classes_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SchemeSearchCV(LogisticRegression(max_iter=500), ["adjacent", "one-vs-rest"])
    >>> search.set_params(random_state=0, cv=3).fit(X, y).best_candidate_.name
    'adjacent'
    """

    def __init__(
        self,
        estimator: Any = None,
        candidates: Any = "default",
        *,
        scoring: str | Sequence[str] = DEFAULT_SCORING,
        final_calibration: Any = "auto",
        cv: Any = 5,
        budget: float | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        class_order: Sequence[Any] | None = None,
        param_grid: Any = None,
        drop_losers: bool = True,
        error_score: Any = np.nan,
        pool: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.scoring = scoring
        self.final_calibration = final_calibration
        self.cv = cv
        self.budget = budget
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.class_order = class_order
        self.param_grid = param_grid
        self.drop_losers = drop_losers
        self.error_score = error_score
        self.pool = pool

    @undone_if_interrupted
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Compare the candidates, and train the chosen one.

        Parameters
        ----------
        X, y, sample_weight, **fit_params : as in PolytomyClassifier
        """
        # If this fit fails, predict must not use the results of an earlier one.
        for name in _RESULTS:
            self.__dict__.pop(name, None)
        check_parameters(self, _CHECKS)
        classifier = self._classifier()
        classifier.scheme = "one-vs-one"  # that of a candidate takes its place
        check_parameters(classifier, CLASSIFIER_CHECKS)
        estimator = resolve_estimator(classifier.estimator)
        metrics = [find_metric(name) for name in self._scoring()]
        data, labels = check_training_data(self, X, y)
        given = dict(fit_params)
        split_params = self._split_params(sample_weight, given)
        self.classes_, class_indices = np.unique(labels, return_inverse=True)
        classifier.class_order = read_class_order(y, self.classes_, classifier.class_order)
        training = make_training_options(
            classifier, "fit", sample_weight, given, self.classes_, class_indices, owner=self
        )
        candidates = candidates_from(
            self.candidates,
            len(self.classes_),
            classifier.solver,
            has_order=classifier.class_order is not None,
            is_multi_class=separates_many_classes(estimator, training.calibration),
        )
        if self.param_grid is not None:
            candidates = expand_candidates(candidates, self.param_grid, estimator)
        # One warning, not one for each fold.
        order_classes(self.classes_, classifier.class_order, _designs_in_order(candidates))
        folds = comparison_folds(self.cv, data, labels, self.random_state, **split_params)
        setup = RaceSetup(
            data, labels, estimator, training, classifier.models, classifier.class_order
        )
        race = run_race(
            candidates,
            setup,
            folds,
            metrics,
            budget=self.budget,
            is_lenient=isinstance(self.candidates, str),
            raises_failures=isinstance(self.error_score, str),
            drops_losers=self.drop_losers,
            n_members=1 if self.pool is None else self.pool,
            progress=progress_bar if self.verbose else None,
            on_fold=self._report_fold if self.verbose else None,
        )
        own_cv = classifier.cv
        # Folds of the user may keep groups together. Folds at random are dealt again: on those that
        # a candidate was chosen for, its calibrations would be a little overconfident.
        if race.calibration_folds is not None and not isinstance(self.cv, int | np.integer | str):
            classifier.cv = race.calibration_folds
            setup = replace(setup, training=replace(training, cv=race.calibration_folds))
        if self.pool is None:
            chosen = [choose_runner(race)]
        else:
            chosen = choose_members(race, self.pool)
            self.pool_ = [runner.candidate for runner in chosen]
        self.best_candidate_ = chosen[0].candidate
        self.best_params_ = dict(self.best_candidate_.params or {})
        self.n_folds_, self.n_splits_ = race.n_folds, len(folds)
        self.cv_results_ = tabulate_race(race, chosen)
        self.best_index_ = race.runners.index(chosen[0])
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        if len(chosen) > 1:
            self.best_score_ = score_pool(chosen, setup, metrics[0])
        optimal = self.cv_results_["candidate"][self.cv_results_["is_pareto"]]
        self.pareto_ = optimal.tolist()
        if self.refit and len(chosen) > 1:
            self._fit_pool(classifier, setup, X, y)
        elif self.refit:
            self._refit(classifier, setup, X, y, sample_weight, given)
        if self.refit:
            self.best_estimator_.cv = own_cv
        return self

    def _fit_pool(
        self, classifier: PolytomyClassifier, setup: RaceSetup, X: Any, y: ArrayLike
    ) -> None:
        """Train the pool that was scored; estimators, folds and kernels are shared."""
        classifier = configure(classifier, self.best_candidate_)
        classifier.set_params(scheme=[each.scheme for each in self.pool_])
        check_training_data(classifier, X, y)
        classifier.classes_, classifier.class_order_ = self.classes_, classifier.class_order
        members = [
            PoolMember(
                self._make_scheme(each.scheme, classifier, setup),
                setup.estimator if each.estimator is None else each.estimator,
                each.solver,
            )
            for each in self.pool_
        ]
        options = replace(setup.training, wants_probabilities=True)
        classifier.composition_ = fit_pool_members(
            members,
            setup.X,
            options,
            models=classifier.models,
            prediction_dtype=classifier.prediction_dtype,
        )
        self.best_estimator_ = classifier

    def _refit(
        self,
        classifier: PolytomyClassifier,
        setup: RaceSetup,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        fit_params: dict[str, Any],
    ) -> None:
        """Train the classifier that was scored, with the models that its scheme names."""
        classifier = configure(classifier, self.best_candidate_)
        if classifier.models is not None:
            scheme = self._make_scheme(classifier.scheme, classifier, setup)
            named = set().union(*map(names_in, members_of(scheme)))
            models = {name: model for name, model in classifier.models.items() if name in named}
            classifier.set_params(models=models)
        if get_config()["enable_metadata_routing"]:
            # Without the arguments that only the folds of the search requested.
            consumed = classifier.get_metadata_routing().consumes("fit", fit_params)
            fit_params = {name: fit_params[name] for name in consumed}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClassOrderWarning)  # the search has warned
            self.best_estimator_ = classifier.fit(X, y, sample_weight, **fit_params)

    def _make_scheme(
        self, scheme: Any, classifier: PolytomyClassifier, setup: RaceSetup
    ) -> Scheme | SchemeEnsemble:
        """Return the scheme that a classifier trained on all the data has."""
        return scheme_from(
            scheme,
            self.classes_,
            X=setup.X,
            y=setup.y,
            random_state=classifier.random_state,
            class_order=classifier.class_order,
            warns_of_order=False,
            max_sides=setup.training.max_sides,
        )

    def _split_params(
        self, sample_weight: ArrayLike | None, given: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the folds' arguments; remove them from `given` if nothing else uses them."""
        if get_config()["enable_metadata_routing"]:
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            return dict(process_routing(self, "fit", **weights, **given)["folds"].split)
        split_params = take_groups(self.cv, given)
        if is_splitter(self._classifier().cv):
            given |= split_params  # the calibration folds keep groups together too
        return split_params

    @property
    def best_scheme_(self) -> Scheme | SchemeEnsemble:
        """The chosen scheme, made from all the data."""
        check_is_fitted(self, "best_estimator_")
        scheme: Scheme | SchemeEnsemble = self.best_estimator_.scheme_
        return scheme

    def frame(self) -> Any:
        """Return the results as a pandas frame, the best candidates first."""
        check_is_fitted(self, "cv_results_")
        frame = make_frame(self.cv_results_, "cv_results_ has the same values.")
        return frame.sort_values("rank").reset_index(drop=True)

    # -- answers of the chosen classifier ----------------------------------------------------------

    predict = _ask_winner("predict")
    decision_function = _ask_winner("decision_function")
    decisions = _ask_winner("decisions")
    predict_proba = available_unless(_why_no_probabilities)(_ask_winner("predict_proba"))
    predict_log_proba = available_unless(_why_no_probabilities)(_ask_winner("predict_log_proba"))
    predict_top_k = available_unless(_why_no_probabilities)(_ask_winner("predict_top_k"))
    predict_set = available_unless(_why_no_probabilities)(_ask_winner("predict_set"))
    explain = available_unless(_why_no_probabilities)(_ask_winner("explain"))

    # -- parts of the above ----------------------------------------------------------------------

    def _winner(self) -> PolytomyClassifier:
        if hasattr(self, "best_candidate_") and not hasattr(self, "best_estimator_"):
            raise NotFittedError(
                "this search chose a scheme but did not train it, because refit=False. Fit with "
                "refit=True, or train best_candidate_ yourself."
            )
        check_is_fitted(self, "best_estimator_")
        winner: PolytomyClassifier = self.best_estimator_
        return winner

    def _classifier(self) -> PolytomyClassifier:
        """Return an unfitted classifier with the parameters that all candidates share."""
        if isinstance(self.estimator, PolytomyClassifier):
            classifier: PolytomyClassifier = clone(self.estimator)
        else:
            is_object = hasattr(self.estimator, "get_params") and not isinstance(
                self.estimator, type
            )
            classifier = PolytomyClassifier(clone(self.estimator) if is_object else self.estimator)
        if not (isinstance(self.final_calibration, str) and self.final_calibration == "auto"):
            classifier.final_calibration = self.final_calibration
        if self.random_state is not None:
            classifier.random_state = self.random_state
        if self.n_jobs is not None:
            classifier.n_jobs = self.n_jobs
        if self.class_order is not None:
            classifier.class_order = self.class_order
        return classifier

    def _scoring(self) -> Sequence[str]:
        if not isinstance(self.scoring, str | Sequence):
            raise ArgumentError(
                Argument("scoring"), f" must be a name or a list of names; got {self.scoring!r}."
            )
        names = (self.scoring,) if isinstance(self.scoring, str) else tuple(self.scoring)
        if not names:
            raise ArgumentError(Argument("scoring"), " is empty. Give at least one score.")
        return names

    def _report_fold(self, race: Race) -> None:
        from rich.console import Console

        left = race.survivors
        best = race.leader(left)
        name = next(iter(best.folds[0].scores))
        values = [fold.scores[name] for fold in best.folds]
        Console(stderr=True).print(
            f"fold {race.n_folds}: {len(left)} of {len(race.runners)} candidates left, best "
            f"{best.candidate.name} ({name} {np.mean(values):.4f})",
            markup=False,
            highlight=False,
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which arguments of `fit` are passed to the binaries and to their splitter."""
        classifier = self._classifier()
        estimator = resolve_estimator(classifier.estimator)
        router = make_router(self, estimator, classifier.models, classifier.cv)
        return router.add(
            folds=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = self._classifier().__sklearn_tags__().input_tags
        return tags


def options_for_control_text(search: SchemeSearchCV) -> dict[str, Any]:
    """Return the parameters that, with the control text of the chosen scheme, train the winner.

    Only those that differ from the defaults of PolytomyClassifier.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> search = SchemeSearchCV(None, [("ordered", "divergence")], cv=2)
    >>> options_for_control_text(search.fit(*load_iris(return_X_y=True)))
    {'solver': 'divergence'}
    """
    winner, default = search._winner(), PolytomyClassifier()
    options = {
        "solver": winner.solver,
        "calibration": winner.calibration,
        "final_calibration": winner.final_calibration,
    }
    return {name: value for name, value in options.items() if value != getattr(default, name)}


def _designs_in_order(candidates: Sequence[Candidate]) -> list[str]:
    """Return the names of the designs among the candidates that use the order of the classes."""
    names = [each.scheme for each in candidates if isinstance(each.scheme, str)]
    return [name for name in names if uses_class_order(name)]
