"""Training a scheme: folds, shared transformers, the learners in turn, and the plan before them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.folds import Folds
from polytomy.errors import ArgumentError, CalibrationWarning, warn_caller
from polytomy.inputs.arguments import count_things
from polytomy.inputs.rows import group_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.any_estimator import train_estimators, update_binary
from polytomy.learners.bank import Bank
from polytomy.learners.linear.training import train_linear_models
from polytomy.learners.problems import Dichotomy, binary_problem, group_sides, sides_problem
from polytomy.learners.sides import train_sided_models, update_sides
from polytomy.learners.svm.suitability import (
    fix_C,
    fix_gamma,
)
from polytomy.learners.svm.training import train_svms
from polytomy.learners.trained import TrainedBinary
from polytomy.learners.workload import Trained, TrainingListener, TrainingOptions, Workload
from polytomy.model.arrangement import (
    AUTO,
    Arrangement,
    ClassTranslation,
    Solver,
    bind_classes,
    check_models,
    make_dichotomies,
    resolve_solvers,
)
from polytomy.model.composition import Composition
from polytomy.model.decisions import ClassFrequencies
from polytomy.model.out_of_fold import (
    OutOfFold,
    calibration_weights,
    collect_out_of_fold,
    find_fold_rule,
    plan_folds,
)
from polytomy.model.preprocessing import SharedPreprocessing, share_preprocessing
from polytomy.model.scheme_argument import members_of
from polytomy.scheme import BinaryName, Scheme, SchemeEnsemble

LEARNERS: tuple[Callable[[Workload], list[Trained | None]], ...] = (
    train_svms,
    train_linear_models,
    train_sided_models,
    train_estimators,
)
"""Who trains binaries, in the order in which they are asked."""

_MOST_SHORTCOMINGS = 3


@dataclass(frozen=True, slots=True, eq=False)
class TrainedBinaries:
    """The binaries of some dichotomies.

    Attributes
    ----------
    binaries : list of TrainedBinary, in the order of the dichotomies
    out_of_fold : OutOfFold, or None without a final calibration
    preprocessing : fitted transformers that all binaries share, or None
    preprocessing_seconds : float, the time that fitting them took
    frequencies : ClassFrequencies of the training data, if it is known
    """

    binaries: list[TrainedBinary]
    out_of_fold: OutOfFold | None = None
    preprocessing: Any = None
    preprocessing_seconds: float = 0.0
    frequencies: ClassFrequencies | None = None

    @property
    def seconds(self) -> float:
        """Total training time of the binaries in seconds, including their pre-processing."""
        return self.preprocessing_seconds + sum(binary.seconds for binary in self.binaries)

    def take(self, columns: Sequence[int]) -> TrainedBinaries:
        """Return some of the binaries."""
        scores = self.out_of_fold
        return replace(
            self,
            binaries=[self.binaries[column] for column in columns],
            out_of_fold=None if scores is None else scores.take_binaries(columns),
        )


def fit_binaries(
    dichotomies: Sequence[Dichotomy],
    X: Any,
    options: TrainingOptions,
    listener: TrainingListener | None = None,
    *,
    seeds: Sequence[int | None] | None = None,
    adapt_folds: Callable[[Folds], Folds] | None = None,
    n_of_classifier: int | None = None,
) -> TrainedBinaries:
    """Return a trained binary for each dichotomy, in their order.

    Support vector machines are trained together, in threads, if their kernel matrix fits in the
    memory budget. So are logistic regressions and linear support vector classifiers. All others are
    distributed over joblib's jobs. The result depends neither on the backend nor on the number of
    jobs: each dichotomy has its own seed.

    Parameters
    ----------
    dichotomies : dichotomies with sides as class indices; those with a trained model keep it
    X : training data of any kind
    options : TrainingOptions, with the classes and the class of each row
    listener : TrainingListener, optional
        Called in this process.
    seeds : sequence of ints, one for each dichotomy, optional
        By default they come from the random_state of the options.
    adapt_folds : function, optional
        Adapts the folds to those of an earlier fit.
    n_of_classifier : int, optional
        Number of binaries of one classifier, if those of several are trained together. The number
        of rows that are scored depends on it.
    """
    if seeds is None:
        seeds = partition_seeds(options.random_state, len(dichotomies))
    rule = find_fold_rule(dichotomies, len(options.classes), options)
    n_columns = len(dichotomies) if n_of_classifier is None else n_of_classifier
    folds = None if rule is None else plan_folds(rule, X, n_columns, options, adapt_folds)
    shared = SharedPreprocessing(dichotomies, X)
    if options.shares_preprocessing:
        shared = share_preprocessing(dichotomies, X, options)
        if shared.pipeline is not None:
            options = options.with_validation(shared.pipeline.transform)
    given, X = X, shared.X
    estimators = fix_gamma([each.estimator for each in shared.dichotomies], X)
    estimators = fix_C(estimators, X, len(options.classes))
    dichotomies = [
        each._replace(estimator=estimator)
        for each, estimator in zip(dichotomies, estimators, strict=True)
    ]
    rows_of_class = group_rows(options.class_indices, len(options.classes))
    trained = train_dichotomies(dichotomies, rows_of_class, X, options, folds, seeds, listener)
    binaries = [each.binary for each in trained]
    warn_of_shortcomings(binaries)
    out_of_fold = None
    if folds is not None and rule is not None and rule.final_calibration is not None:
        out_of_fold = collect_out_of_fold(rule, folds, trained, X, options, given)
    frequencies = ClassFrequencies.from_weights(
        options.class_indices,
        len(options.classes),
        options.arguments.given_weight,
        calibration_weights(options),
    )
    return TrainedBinaries(binaries, out_of_fold, shared.pipeline, shared.seconds, frequencies)


def train_dichotomies(
    dichotomies: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
    folds: Folds | None,
    seeds: Sequence[int | None],
    listener: TrainingListener | None = None,
) -> list[Trained]:
    """Return a trained binary for each dichotomy, in their order.

    The learners are asked in turn which of the dichotomies they train; the last one trains all that
    are left. Every gamma is already a number if possible.

    Parameters
    ----------
    dichotomies : dichotomies with sides as class indices; those with a trained model keep it
    rows_of_class : as `polytomy.inputs.rows.group_rows` returns them
    X : training data of any kind
    options : TrainingOptions
    folds : Folds, optional
    seeds : one for each dichotomy
    listener : TrainingListener, optional
    """
    work = Workload.of(dichotomies, rows_of_class, X, options, folds, seeds, listener)
    found = {
        k: Trained(each.trained) for k, each in enumerate(dichotomies) if each.trained is not None
    }
    for learner in LEARNERS:
        left = [k for k in range(len(dichotomies)) if k not in found]
        if not left:
            break
        results = zip(left, learner(work.take(left)), strict=True)
        found |= {k: trained for k, trained in results if trained is not None}
    return [found[k] for k in range(len(dichotomies))]


def warn_of_shortcomings(binaries: Sequence[TrainedBinary]) -> None:
    """Warn about binaries that could not be calibrated, naming the first few."""
    shortcomings = [binary.shortcoming for binary in binaries if binary.shortcoming]
    if not shortcomings:
        return
    shown = " ".join(shortcomings[:_MOST_SHORTCOMINGS])
    more = len(shortcomings) - _MOST_SHORTCOMINGS
    if more > 0:
        verb = "has" if more == 1 else "have"
        shown += f" {count_things(more, 'more partition')} {verb} the same problem."
    warn_caller(shown, CalibrationWarning)


def update_binaries(
    binaries: Sequence[TrainedBinary] | None,
    dichotomies: Sequence[Dichotomy],
    X: Any,
    options: TrainingOptions,
) -> list[TrainedBinary]:
    """Return the uncalibrated binaries after one more batch; `binaries` is None for the first."""
    for arguments in (options.arguments, *options.arguments_by_model.values()):
        if arguments.names:
            raise ArgumentError(f"partial_fit does not take {', '.join(arguments.names)}.")
    rows_of_class = group_rows(options.class_indices, len(options.classes))
    seeds = partition_seeds(options.random_state, len(dichotomies))
    updated: list[TrainedBinary | None] = [each.trained for each in dichotomies]
    for group in group_sides(dichotomies, [i for i, each in enumerate(updated) if each is None]):
        each, earlier = dichotomies[group[0]], None if binaries is None else binaries[group[0]]
        weight = options.arguments_for(each.model).sample_weight
        given: dict[str, Any] = {"random_state": seeds[group[0]], "sample_weight": weight}
        name, sides = each.partition.name, each.partition.sides
        if each.is_binary:
            problem = binary_problem(rows_of_class, *sides, name=name)
            updated[group[0]] = update_binary(earlier, each.estimator, X, problem, **given)
            continue
        whole = sides_problem(rows_of_class, sides, name=name)
        found = update_sides(earlier, each.estimator, X, whole, **given)
        for i in group:
            updated[i] = found[dichotomies[i].side]
    return [binary for binary in updated if binary is not None]


# -- the plan: which dichotomies to train for one scheme, or for several that share them -----------


@dataclass(frozen=True, slots=True, eq=False)
class TrainingPlan:
    """The dichotomies that schemes over the same classes need, each once.

    Attributes
    ----------
    classes : array of labels
    schemes : tuple of Scheme or SchemeEnsemble
    dichotomies : tuple of Dichotomy, with sides as class indices
    arrangements : for each scheme a tuple with the arrangement of each of its members
    """

    classes: NDArray[Any]
    schemes: tuple[Scheme | SchemeEnsemble, ...]
    dichotomies: tuple[Dichotomy, ...]
    arrangements: tuple[tuple[Arrangement, ...], ...]

    def columns_of(self, number: int) -> list[int]:
        """Return which dichotomies one of the schemes needs, in the order of its partitions."""
        every = (column for each in self.arrangements[number] for column in each.columns.tolist())
        return list(dict.fromkeys(every))

    def only(self, number: int) -> TrainingPlan:
        """Return the plan of one of the schemes alone."""
        columns = self.columns_of(number)
        place = {column: i for i, column in enumerate(columns)}
        own = tuple(
            each._replace(columns=np.array([place[k] for k in each.columns.tolist()], np.intp))
            for each in self.arrangements[number]
        )
        needed = tuple(self.dichotomies[column] for column in columns)
        return TrainingPlan(self.classes, (self.schemes[number],), needed, (own,))

    def compose(
        self,
        trained: TrainedBinaries,
        solver: Solver | Sequence[Solver],
        prediction_dtype: Any = np.float64,
    ) -> Composition:
        """Return the composition of a plan's only scheme, with its final calibration.

        Parameters
        ----------
        trained : the binaries of all dichotomies, in their order
        solver : name of a method, "auto", or function of (scheme, decisions); or one for each
            member of an ensemble
        prediction_dtype : float64 or float32
        """
        (scheme,), (arrangements,) = self.schemes, self.arrangements
        bank = Bank(trained.binaries, prediction_dtype)
        is_calibrated = trained.out_of_fold is not None
        composition = Composition(
            self.classes,
            scheme,
            self.dichotomies,
            arrangements,
            bank,
            resolve_solvers(solver, scheme, is_calibrated=is_calibrated),
            preprocessing=trained.preprocessing,
            frequencies=trained.frequencies,
        )
        return composition.calibrated_on(trained.out_of_fold)


def plan_training(
    schemes: Iterable[Scheme | SchemeEnsemble],
    classes: NDArray[Any],
    estimator: Any,
    models: Mapping[str, Any] | None = None,
) -> TrainingPlan:
    """Return the dichotomies that schemes need, each once, and how each scheme uses them.

    A partition that occurs several times in one scheme has a binary for each occurrence.
    Dichotomies of different schemes are the same if they are trained from the same estimator and
    separate the same classes, with the sides in either order.

    Parameters
    ----------
    schemes : schemes or ensembles that name all classes
    classes : the labels of the data
    estimator : the default estimator
    models : estimators, or fitted models, for names in the schemes
    """
    schemes = tuple(schemes)
    check_models([member for scheme in schemes for member in members_of(scheme)], models)
    collector = _Collector(classes, models)
    arrangements = tuple(
        tuple(collector.arrange(member, estimator) for member in members_of(scheme))
        for scheme in schemes
    )
    return TrainingPlan(classes, schemes, tuple(collector.needed), arrangements)


class PoolMember(NamedTuple):
    """A member of a pool whose members differ in more than their schemes.

    Attributes
    ----------
    scheme : Scheme or SchemeEnsemble; each scheme of an ensemble becomes a member
    estimator : the estimator of its binaries
        Members with the same object share the binaries that both need.
    solver : name of a method, "auto", or function of (scheme, decisions)
    """

    scheme: Scheme | SchemeEnsemble
    estimator: Any
    solver: Solver = AUTO


def fit_pool_members(
    members: Sequence[PoolMember],
    X: Any,
    options: TrainingOptions,
    listener: TrainingListener | None = None,
    *,
    models: Mapping[str, Any] | None = None,
    prediction_dtype: Any = np.float64,
) -> Composition:
    """Train the binaries of all members on shared folds, and return their pool.

    Support vector machines with the same kernel parameters share kernel values, also if they differ
    in C. The final calibration in the options is that of each member.

    Parameters
    ----------
    members : one or more members
    X : training data of any kind
    options : TrainingOptions, with the classes and the class of each row
    listener : TrainingListener, optional
    models : estimators, or fitted models, for names in the schemes
    prediction_dtype : float64 or float32
    """
    each = [(scheme, member) for member in members for scheme in members_of(member.scheme)]
    pool = SchemeEnsemble([scheme for scheme, _ in each])
    check_models(pool.schemes, models)
    plan = plan_members(pool, [own.estimator for _, own in each], options.classes, models)
    trained = fit_binaries(plan.dichotomies, X, options, listener)
    return plan.compose(trained, [own.solver for _, own in each], prediction_dtype)


def plan_members(
    scheme: Scheme | SchemeEnsemble,
    estimators: Sequence[Any],
    classes: NDArray[Any],
    models: Mapping[str, Any] | None = None,
) -> TrainingPlan:
    """Return the plan of a scheme or pool, given the estimator of each member."""
    collector = _Collector(classes, models)
    pairs = zip(members_of(scheme), estimators, strict=True)
    arrangements = tuple([collector.arrange(*pair) for pair in pairs])
    return TrainingPlan(classes, (scheme,), tuple(collector.needed), (arrangements,))


class _Collector:
    """Collects dichotomies from one scheme after another."""

    def __init__(self, classes: NDArray[Any], models: Mapping[str, Any] | None) -> None:
        self._classes, self._models = classes, models
        self._known: dict[tuple[Hashable, Hashable, int, int], int] = {}
        self._specified: dict[int, dict[BinaryName, Any]] = {}
        self.needed: list[Dichotomy] = []

    def arrange(self, scheme: Scheme, estimator: Any) -> Arrangement:
        """Return the arrangement of a scheme, after adding the dichotomies that are new."""
        positions = bind_classes(scheme, self._classes)
        translate = ClassTranslation(positions, len(scheme.classes))
        occurrences: dict[tuple[frozenset[Hashable], int], int] = {}
        wholes: dict[Any, Any] = {}
        columns, signs = [], []
        specified = self._specified.setdefault(id(estimator), {})
        for each in make_dichotomies(scheme, estimator, self._models, specified):
            dichotomy = each if translate.is_identity else each.translated(translate, wholes)
            sides = dichotomy.sides_key
            source = id(dichotomy.estimator)
            either_order = frozenset(sides), source
            occurrence = occurrences.get(either_order, 0)
            occurrences[either_order] = occurrence + 1
            column = self._known.get((*sides, source, occurrence))
            sign = 1.0
            if column is None and dichotomy.trained is None and dichotomy.is_binary:
                column = self._known.get((*sides[::-1], source, occurrence))
                sign = 1.0 if column is None else -1.0
            if column is None:
                column = self._known[*sides, source, occurrence] = len(self.needed)
                self.needed.append(dichotomy)
            columns.append(column)
            signs.append(sign)
        return Arrangement(scheme, positions, np.array(columns, dtype=np.intp), np.array(signs))
