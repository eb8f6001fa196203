"""The scheme "limited", for models that take only a few classes, and the plan of a fit.

Designs that suit such models are trained on the same folds, and the one with the lowest out-of-fold
log-loss is kept. Their number is bounded: a fit of a model may take long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from polytomy.designs import blocks, cluster_trees, direct, n_ary_code
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import count_things
from polytomy.inputs.seeds import RandomState
from polytomy.learners.preparation import LIMIT_ATTRIBUTES, name_kind
from polytomy.learners.problems import Dichotomy, count_models
from polytomy.learners.workload import TrainingOptions
from polytomy.metrics.scores import DECIDING
from polytomy.model.arrangement import AUTO, Solver, check_solver, gives_probabilities
from polytomy.model.fitting import TrainedBinaries, TrainingPlan, plan_training
from polytomy.model.out_of_fold import find_fold_rule, plan_folds
from polytomy.model.scheme_argument import LIMITED, members_of
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.scheme.coverings import count_cover

# All candidates together are fitted at most this many times as often as the models of a `cover`.
_MOST_FITS = 14

# A covering by blocks is a candidate up to this many classes for each side.
_MOST_CLASSES_OF_BLOCKS = 3

_MOST_TREES = 4

_MOST_SHOWN = 12


def plan_limited(
    X: Any,
    y: NDArray[Any],
    estimator: Any,
    training: TrainingOptions,
    models: Mapping[str, Any] | None,
    random_state: RandomState,
    solver: Solver = AUTO,
) -> TrainingPlan:
    """Return the dichotomies of all candidates of ``scheme="limited"``.

    With no more classes than `max_sides`, the model itself is the only one, and so is a fitted
    model in a FrozenEstimator. Otherwise they are a cluster tree, blocks if there are few classes,
    two varied cluster trees, an n-ary code with as many models as a `cover` has, and three or four
    trees instead of two; but only those that the solver can solve, and only as long as all models
    together, with those of their folds, are fitted at most 14 times as often as the models of a
    cover.

    Parameters
    ----------
    X, y : the data, checked
    estimator, models, random_state, solver : as in the classifier
    training : TrainingOptions
    """
    labels, most = training.classes, training.max_sides
    if isinstance(estimator, FrozenEstimator):
        most = len(labels)
    if most is None:
        raise ArgumentError(
            Argument("scheme", LIMITED),
            f" needs the number of classes that a model takes, which {name_kind(estimator)} does "
            f"not state as {', '.join(LIMIT_ATTRIBUTES)}. Use ",
            Argument("max_sides", 10),
            ", for example.",
        )
    if len(labels) <= most:
        return plan_training([direct(labels)], labels, estimator, models)
    n_rows = count_cover(len(labels), most)
    trees = cluster_trees(X, y, _MOST_TREES, sides=most, random_state=random_state).schemes
    candidates: list[Scheme | SchemeEnsemble] = [trees[0]]
    if len(labels) <= _MOST_CLASSES_OF_BLOCKS * most:
        candidates.append(blocks(labels, sides=most))
    candidates.append(SchemeEnsemble(trees[:2]))
    candidates.append(n_ary_code(labels, sides=most, rows=n_rows, random_state=random_state))
    candidates += [SchemeEnsemble(trees[:number]) for number in range(3, _MOST_TREES + 1)]
    candidates = _solved_by(solver, candidates)
    plan = plan_training(candidates[:1], labels, estimator, models)
    n_fits_of_model = 1 + count_folds(plan.dichotomies, X, options_of_comparison(training))
    for candidate in candidates[1:]:
        # More trees take the place of fewer.
        are_trees = isinstance(candidate, SchemeEnsemble)
        kept = [each for each in plan.schemes if not (are_trees and type(each) is SchemeEnsemble)]
        larger = plan_training([*kept, candidate], labels, estimator, models)
        if count_models(larger.dichotomies) * n_fits_of_model <= _MOST_FITS * n_rows:
            plan = larger
    return plan


def _solved_by(
    solver: Solver, schemes: Sequence[Scheme | SchemeEnsemble]
) -> list[Scheme | SchemeEnsemble]:
    """Return the schemes that a solver can solve; raise its error if there are none."""
    solved, errors = [], []
    for scheme in schemes:
        try:
            for member in members_of(scheme):
                check_solver(member, solver)
            solved.append(scheme)
        except ArgumentError as error:
            errors.append(error)
    if not solved:
        raise errors[0]
    return solved


def options_of_comparison(training: TrainingOptions) -> TrainingOptions:
    """Return the options with which candidates are trained: their log-loss is out of fold."""
    final = "auto" if training.final_calibration is None else training.final_calibration
    return replace(training, final_calibration=final, wants_probabilities=True)


def choose_best(
    plan: TrainingPlan, trained: TrainedBinaries, solver: Solver, training: TrainingOptions
) -> tuple[TrainingPlan, TrainedBinaries]:
    """Return the scheme of a plan with the lowest out-of-fold log-loss, and its binaries.

    Parameters
    ----------
    plan : the candidates
    trained : the binaries of all of them, trained with `options_of_comparison`
    solver : that of the classifier; if it gives no probabilities, "auto" decides
    training : the options of the classifier
    """
    compared = solver if gives_probabilities(solver) else AUTO
    losses = []
    for number in range(len(plan.schemes)):
        own = trained.take(plan.columns_of(number))
        final = plan.only(number).compose(own, compared).final
        losses.append(np.inf if final is None else final.score[DECIDING])
    best = int(np.argmin(losses))
    found = trained.take(plan.columns_of(best))
    if training.final_calibration is None:
        found = replace(found, out_of_fold=None)
    return plan.only(best), found


# -- how many models and fits --------------------------------------------------------------------


def count_folds(dichotomies: Sequence[Dichotomy], X: Any, options: TrainingOptions) -> int:
    """Return how many more times each model is fitted, without the rows of a fold."""
    rule = find_fold_rule(dichotomies, len(options.classes), options)
    if rule is None:
        return 0
    folds = plan_folds(rule, X, len(dichotomies), options)
    return 0 if folds.is_only_part else folds.n_folds


class PlannedModel(NamedTuple):
    """A model to be trained: its partition's name and sides, and the rows of its classes."""

    name: str
    n_sides: int
    n_rows: int


@dataclass(frozen=True)
class FitPlan:
    """What a fit will train. It prints as a table.

    Attributes
    ----------
    models : tuple of PlannedModel, with name, n_sides and n_rows
    n_folds : number of folds; each model is fitted once more without the rows of each
    n_schemes : number of schemes that are compared
    is_choice : whether the chosen scheme is then trained again, as with ``scheme="auto"``
    """

    models: tuple[PlannedModel, ...]
    n_folds: int
    n_schemes: int = 1
    is_choice: bool = False

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def n_fits(self) -> int:
        """Number of fits: of each model, with all rows and without each fold."""
        return self.n_models * (1 + self.n_folds)

    @property
    def summary(self) -> str:
        """The numbers, in one line."""
        if not self.models:
            return "no models to train"
        schemes = f"{self.n_schemes} schemes: " if self.n_schemes > 1 else ""
        most = max(each.n_sides for each in self.models)
        return (
            f"{schemes}{count_things(self.n_models, 'model')} of up to {most} sides, "
            f"{count_things(self.n_folds, 'fold')}, {count_things(self.n_fits, 'fit')}"
            f"{', then those of the chosen scheme again' if self.is_choice else ''}"
        )

    def __str__(self) -> str:
        if not self.models:
            return self.summary
        width = max(5, *(len(each.name) for each in self.models))
        lines = [self.summary, f"{'model':{width}}  sides    rows"]
        lines += [
            f"{each.name:{width}}  {each.n_sides:5}  {each.n_rows:6}"
            for each in self.models[:_MOST_SHOWN]
        ]
        more = self.n_models - _MOST_SHOWN
        return "\n".join([*lines, f"and {count_things(more, 'more model')}"] if more > 0 else lines)


def describe_fit(plan: TrainingPlan, X: Any, options: TrainingOptions) -> FitPlan:
    """Return what a fit will train, without training it.

    Parameters
    ----------
    plan : TrainingPlan
    X : the training data
    options : TrainingOptions
    """
    counts = np.bincount(options.class_indices, minlength=len(options.classes))
    models = tuple(
        PlannedModel(
            each.partition.name,
            len(each.partition.sides),
            int(counts[[*each.negative, *each.positive]].sum()),
        )
        for each in plan.dichotomies
        if each.is_counted and each.trained is None
    )
    return FitPlan(models, count_folds(plan.dichotomies, X, options), len(plan.schemes))
