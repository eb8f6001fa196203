"""Classes that come and go: a fitted classifier gets more classes, or loses some.

The binaries that do not concern these classes stay as they are, bit for bit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from polytomy.calibration.folds import Folds, HoldOut
from polytomy.distances import compute_distances
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import count_things, list_names
from polytomy.inputs.label_order import has_natural_order, sort_naturally
from polytomy.inputs.rows import fingerprint_rows, take_rows
from polytomy.inputs.training_data import check_training_data, read_class_order
from polytomy.learners.bank import Bank
from polytomy.learners.preparation import resolve_estimator
from polytomy.learners.problems import Dichotomy
from polytomy.learners.svm.machines import KernelMachine
from polytomy.learners.svm.suitability import has_gamma_of_data
from polytomy.learners.trained import TrainedBinary
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.model.arrangement import Arrangement, ClassTranslation
from polytomy.model.composition import Composition, warn_of_lost_calibration
from polytomy.model.estimator import make_training_options, progress_bar
from polytomy.model.fitting import TrainedBinaries, TrainingPlan, fit_binaries, plan_members
from polytomy.model.out_of_fold import OutOfFold, calibration_weights, judge
from polytomy.model.preprocessing import cut_pipelines
from polytomy.model.scheme_argument import SchemeArgument, members_of, scheme_from
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.scheme.changing import add_class, prune_scheme
from polytomy.scheme.nodes import Label, compact_classes, normalize_labels

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class ClassChange(NamedTuple):
    """How the classes of a classifier were changed.

    Attributes
    ----------
    added, removed : lists of labels
    n_kept : int, number of binaries that stayed as they were
    n_trained : int, number of binaries that were trained
    """

    added: list[Any]
    removed: list[Any]
    n_kept: int
    n_trained: int

    def __str__(self) -> str:
        kept = count_things(self.n_kept, "binary is", "binaries are")
        trained = count_things(self.n_trained, "is", "are")
        return f"{kept} kept, {trained} trained"


def _refuse_compressed(composition: Composition) -> None:
    if composition.compression is not None:
        raise ArgumentError(
            "the classifier is compressed: its binaries are approximated together. Change the "
            "classes of the exact classifier, and compress the result."
        )


# -- fewer classes ---------------------------------------------------------------------------------


def remove_classes(composition: Composition, labels: Any) -> tuple[Composition, ClassChange]:
    """Return the composition without some of its classes; see `without_classes`."""
    _refuse_compressed(composition)
    classes = composition.classes
    labels = getattr(labels, "tolist", lambda: labels)()
    is_one = isinstance(labels, str) or not isinstance(labels, Iterable)
    given = [labels] if is_one else list(labels)
    unknown = [label for label in given if label not in classes.tolist()]
    if unknown:
        raise ArgumentError(
            Argument("labels"),
            f" has {list_names(map(repr, unknown))}; the classes are "
            f"{list_names(map(repr, classes.tolist()))}.",
        )
    kept = np.flatnonzero(~np.isin(classes, given))
    if len(kept) < 2:
        raise ArgumentError(
            Argument("labels"),
            f" leaves {count_things(len(kept), 'class', 'classes')}. Keep two or more.",
        )
    translate, wholes = ClassTranslation(kept, len(classes)), dict[Any, Any]()
    arrangements = [_prune(each, kept) for each in composition.arrangements]
    if len({frozenset(each.scheme.classes) for each in arrangements}) > 1:
        # A member keeps sides without classes, and all members of a pool have the same classes.
        arrangements = [
            each._replace(positions=each.positions[kept]) for each in composition.arrangements
        ]
    used = np.unique(np.concatenate([each.columns for each in arrangements]))
    before = [composition.dichotomies[column] for column in used]
    schemes = [each.scheme for each in arrangements]
    is_pool = isinstance(composition.scheme, SchemeEnsemble)
    costs, scores = composition.costs, composition.out_of_fold
    smaller = replace(
        composition,
        classes=classes[kept],
        scheme=SchemeEnsemble(schemes) if is_pool else schemes[0],
        dichotomies=tuple([each.translated(translate, wholes) for each in before]),
        arrangements=tuple(
            [each._replace(columns=np.searchsorted(used, each.columns)) for each in arrangements]
        ),
        bank=Bank([composition.binaries[column] for column in used], composition.bank.dtype),
        tie_order=None,
        final=None,
        frequencies=_restrict(composition.frequencies, kept),
        prior=_restrict(composition.prior, kept),
        costs=costs and replace(costs, matrix=costs.matrix[np.ix_(kept, kept)]),
    )
    if scores is not None:
        own = scores.take_binaries(used).take_classes(kept)
        smaller = smaller.calibrated_on(own if len(own.rows) else None)
    elif composition.final is not None:
        smaller = _restrict_final(composition, smaller, kept, used)
    n_kept = sum(each.is_counted for each in before)
    return smaller, ClassChange([], np.delete(classes, kept).tolist(), n_kept, 0)


def _prune(arrangement: Arrangement, kept: Indices) -> Arrangement:
    """Return the arrangement of a scheme with some of the classes, for the same binaries."""
    scheme, positions = arrangement.scheme, arrangement.positions
    is_kept = np.ones(len(scheme.classes), dtype=np.bool_)
    is_kept[np.delete(positions, kept)] = False
    smaller, rows = prune_scheme(scheme, is_kept)
    place = {label: position for position, label in enumerate(smaller.classes)}
    labels = [scheme.classes[position] for position in positions[kept]]
    own = np.array([place[label] for label in labels], dtype=np.intp)
    return Arrangement(smaller, own, arrangement.columns[rows], arrangement.signs[rows])


def _restrict(distributions: Any, kept: Indices) -> Any:
    """Return frequencies or a prior of some of the classes."""
    if distributions is None:
        return None
    first, second = [getattr(distributions, name)[kept] for name in distributions.__slots__]
    if not (first.sum() > 0 and second.sum() > 0):
        raise ArgumentError(
            Argument("labels"), " leaves only classes whose prior is zero. Use with_prior(None)."
        )
    return type(distributions)(first / first.sum(), second / second.sum())


def _restrict_final(
    composition: Composition, smaller: Composition, kept: Indices, used: Indices
) -> Composition:
    """Return the smaller composition with what the final calibration knows of its classes."""
    final: Any = composition.final
    if not hasattr(final.map, "keep"):
        warn_of_lost_calibration()
        return smaller
    pairs = zip(composition.arrangements, smaller.arrangements, strict=True)
    columns = [
        np.searchsorted(np.unique(before.columns), used[np.unique(after.columns)])
        for before, after in pairs
    ]
    map_ = final.map.keep(kept, columns if len(columns) > 1 else used)
    rows, score = final.conformity, dict[str, float]()
    if rows is not None:
        rows = rows.take_classes(kept)
        score = judge(rows.probabilities(), rows.class_indices, rows.weight)
    return replace(smaller, final=replace(final, map=map_, score=score, conformity=rows))


# -- more classes ----------------------------------------------------------------------------------


def add_classes(
    classifier: Any,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    fit_params: Mapping[str, Any],
    scheme: SchemeArgument | None,
) -> tuple[Composition, list[Any] | None, ClassChange]:
    """Return the composition with more classes, and their order; see `with_classes`."""
    composition: Composition = classifier.composition_
    _refuse_compressed(composition)
    given_labels = y
    X, y = check_training_data(classifier, X, y, reset=False)
    classes = _join_classes(composition.classes, y)
    order = _extend_order(classifier, given_labels, classes)
    options = make_training_options(
        classifier, "fit", sample_weight, fit_params, classes, np.searchsorted(classes, y)
    )
    samples = composition.preprocess(X)
    if scheme is None:
        larger = _grow(composition, classes, samples, y)
    else:
        data = {"X": X, "y": y, "class_order": order, "max_sides": options.max_sides}
        larger = scheme_from(scheme, classes, random_state=classifier.random_state, **data)
    plan, earlier = _plan_larger(composition, larger, classes, classifier.estimator)
    pairs = zip(plan.dichotomies, earlier, strict=True)
    is_new = [column is None for each, column in pairs if each.is_counted]
    n_new, added = sum(is_new), np.setdiff1d(classes, composition.classes).tolist()
    change = ClassChange(added, [], len(is_new) - n_new, n_new)
    progress = progress_bar(n_new) if classifier.verbose else nullcontext(TrainingListener())
    with progress as shown:
        if classifier.verbose:
            shown.note(str(change))
        trained = _train(composition, plan.dichotomies, earlier, X, samples, options, shown)
    solvers = composition.solvers if scheme is None else classifier.solver
    return plan.compose(trained, solvers, composition.bank.dtype), order, change


def _join_classes(known: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of all classes, or raise an ArgumentError."""
    is_text = [each.dtype.kind in "UO" and isinstance(each[0], str) for each in (known, y)]
    if is_text[0] != is_text[1]:
        raise ArgumentError(
            f"y has labels such as {y.tolist()[0]!r}, but the classifier has classes such as "
            f"{known.tolist()[0]!r}. Use labels of the same type."
        )
    if not len(np.setdiff1d(y, known)):
        raise ArgumentError(
            "y has no class that the classifier does not know. Use fit to train it on more samples."
        )
    missing = np.setdiff1d(known, y)
    if len(missing):
        raise ArgumentError(
            f"y has no samples of {list_names(map(repr, missing.tolist()))}. New classes have to "
            "be separated from all others, so pass samples of every class: the training data, or "
            "part of it, together with the new samples."
        )
    return np.union1d(known, y)


def _extend_order(classifier: Any, y: Any, classes: NDArray[Any]) -> list[Any] | None:
    """Return the order of all classes, if that of the known classes is known."""
    known, labels = classifier.class_order_, classes.tolist()
    if known is None:
        return None
    order = read_class_order(y, classes, None)
    if order is None and has_natural_order(labels) and known == sort_naturally(sorted(known)):
        order = sort_naturally(labels)
    if order is None:
        raise ArgumentError(
            "the classes have an order, and y does not say where the new ones belong. Pass y as an "
            "ordered Categorical of pandas with all labels as categories."
        )
    return order


def _grow(
    composition: Composition, classes: NDArray[Any], X: Any, y: NDArray[Any]
) -> Scheme | SchemeEnsemble:
    """Return the scheme with the classes that it does not have yet."""

    @cache
    def find_distances() -> Floats:
        return compute_distances("centroid", X, y).matrix

    def grow(arrangement: Arrangement) -> Scheme:
        scheme = arrangement.scheme
        known = [scheme.classes[position] for position in arrangement.positions]
        index = dict(zip(known, np.searchsorted(classes, composition.classes), strict=True))
        new = np.setdiff1d(classes, composition.classes)
        index |= zip(normalize_labels(new), np.searchsorted(classes, new), strict=True)

        def distance(one: Sequence[Label], other: Sequence[Label]) -> float:
            # Classes of the scheme without samples have no distances.
            pair = [[index[label] for label in group if label in index] for group in (one, other)]
            return float(find_distances()[np.ix_(*pair)].mean()) if all(pair) else np.inf

        for label in normalize_labels(new):
            if label not in scheme.classes:
                scheme = add_class(scheme, label, distance)
        return scheme

    schemes = [grow(each) for each in composition.arrangements]
    return SchemeEnsemble(schemes) if isinstance(composition.scheme, SchemeEnsemble) else schemes[0]


def _plan_larger(
    composition: Composition, scheme: Scheme | SchemeEnsemble, classes: NDArray[Any], estimator: Any
) -> tuple[TrainingPlan, list[int | None]]:
    """Return the plan of the larger scheme, and which binary each dichotomy has already."""
    models = {each.model: each.estimator for each in composition.dichotomies if each.model}
    default, n_members = resolve_estimator(estimator), len(members_of(scheme))
    defaults = [_default_of(composition, each, default) for each in composition.arrangements]
    if len(defaults) != n_members:
        defaults = defaults[:1] * n_members
    plan = plan_members(scheme, defaults, classes, models)
    new_index = np.searchsorted(classes, composition.classes)
    wholes: dict[Any, Any] = {}
    before = [
        each.translated(
            lambda side: compact_classes(new_index[np.asarray(side, dtype=np.intp)]), wholes
        )
        for each in composition.dichotomies
    ]
    columns: dict[Hashable, list[int | None]] = {}
    for number, each in enumerate(before):
        columns.setdefault(_key(each), []).append(number)
    earlier = [(columns.get(_key(each)) or [None]).pop(0) for each in plan.dichotomies]
    dichotomies, flips = list(plan.dichotomies), np.ones(len(earlier))
    for k, column in enumerate(earlier):
        if column is not None:
            own = before[column]
            flips[k] = 1.0 if own.sides_key == dichotomies[k].sides_key else -1.0
            dichotomies[k] = own
        elif dichotomies[k].trained is not None:
            raise ArgumentError(
                f"the model of {dichotomies[k].name} was fitted elsewhere, so it cannot be trained "
                "on new classes. Pass a scheme in which they are not on its sides."
            )
    arrangements = tuple(
        [each._replace(signs=each.signs * flips[each.columns]) for each in plan.arrangements[0]]
    )
    return replace(plan, dichotomies=tuple(dichotomies), arrangements=(arrangements,)), earlier


def _default_of(composition: Composition, arrangement: Arrangement, default: Any) -> Any:
    """Return the estimator of the binaries of a member that have none of their own."""
    own = [composition.dichotomies[column] for column in arrangement.columns]
    plain = (each for each in own if each.model is None and not each.binary.is_specification)
    return next((each.estimator for each in plain), default)


def _key(dichotomy: Dichotomy) -> Hashable:
    """Return what a dichotomy separates, two sides in either order, and which estimator it has."""
    binary, sides = dichotomy.binary, dichotomy.sides_key
    source = binary if binary.is_specification else dichotomy.model or id(dichotomy.estimator)
    return frozenset(sides) if dichotomy.is_binary else sides, source


def _train(
    composition: Composition,
    dichotomies: Sequence[Dichotomy],
    earlier: Sequence[int | None],
    X: Any,
    samples: Any,
    options: TrainingOptions,
    listener: TrainingListener,
) -> TrainedBinaries:
    """Return the binaries of all dichotomies; those that are there already stay as they are."""
    new_index = np.searchsorted(options.classes, composition.classes)
    seen = _SeenRows.find(composition.out_of_fold, X, options.class_indices, new_index)
    if seen is None and composition.binaries:
        if composition.final is not None:
            warn_of_lost_calibration()
        options = replace(options, final_calibration=None)
    elif (
        seen is not None and seen.has_any and not isinstance(options.cv, int | np.integer | HoldOut)
    ):
        raise ArgumentError(
            Argument("cv", options.cv),
            " cannot continue the folds of an earlier fit. Use a number of folds, or a fraction.",
        )
    wanted, before = list(dichotomies), list(composition.dichotomies)
    if composition.preprocessing is not None:
        wanted, before = cut_pipelines(wanted), cut_pipelines(before)
        options = options.with_validation(composition.preprocessing.transform)
    wanted = [
        each if column is None else each._replace(trained=composition.binaries[column])
        for each, column in zip(
            _share_gamma(wanted, before, composition.binaries), earlier, strict=True
        )
    ]
    trained = fit_binaries(
        wanted,
        samples,
        replace(options, shares_preprocessing=False),
        listener,
        adapt_folds=None if seen is None else seen.adapt,
    )
    scores = trained.out_of_fold
    if scores is not None:
        if seen is not None:
            scores = seen.insert(scores, earlier, calibration_weights(options))
        scores = replace(scores, fingerprints=fingerprint_rows(take_rows(X, scores.rows)))
    return replace(trained, out_of_fold=scores, preprocessing=composition.preprocessing)


def _share_gamma(
    wanted: Sequence[Dichotomy], before: Sequence[Dichotomy], binaries: Sequence[TrainedBinary]
) -> list[Dichotomy]:
    """Return the dichotomies with the gamma of machines that are there, so that all share kernels.

    Parameters
    ----------
    wanted : dichotomies to train
    before, binaries : dichotomies that have been trained, and their binaries
    """
    machines = {
        id(each.estimator): (each.estimator, binary.estimator.kernel.gamma)
        for each, binary in zip(before, binaries, strict=True)
        if isinstance(binary.estimator, KernelMachine)
    }
    fixed = {
        key: clone(estimator).set_params(gamma=gamma)
        for key, (estimator, gamma) in machines.items()
        if has_gamma_of_data([estimator])
    }
    return [
        each._replace(estimator=fixed.get(id(each.estimator), each.estimator)) for each in wanted
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _SeenRows:
    """Which rows have out-of-fold scores already.

    A binary that stays has been trained on rows of the known classes, so only the stored scores of
    these are out of fold. Rows of new classes are new to it. If no row of a known class is
    recognised, all are taken to be new.

    Attributes
    ----------
    scores : OutOfFold, those of the known classes
    places : array of shape (n_rows,), where each row is among them; −1 for other rows
    class_indices : array of shape (n_rows,)
    is_known : bool array of shape (n_rows,), whether the class of a row was known
    """

    scores: OutOfFold
    places: Indices
    class_indices: Indices
    is_known: NDArray[np.bool_]

    @classmethod
    def find(
        cls, scores: OutOfFold | None, X: Any, class_indices: Indices, new_index: Indices
    ) -> _SeenRows | None:
        """Return the rows of X that have scores; None if rows cannot be recognised."""
        if scores is None or scores.fingerprints is None:
            return None
        keys = fingerprint_rows(X) + class_indices * _FACTOR
        known = scores.fingerprints + new_index[scores.class_indices] * _FACTOR
        _, rows, places = np.intersect1d(keys, known, return_indices=True)
        found = np.full(len(keys), -1, dtype=np.intp)
        found[rows] = places
        return cls(scores, found, class_indices, np.isin(class_indices, new_index))

    @property
    def has_any(self) -> bool:
        """Whether any row is recognised."""
        return bool((self.places >= 0).any())

    def adapt(self, folds: Folds) -> Folds:
        """Return folds that hold out the recognised rows as before, and rows of new classes.

        Other rows of known classes are never held out, because the binaries may have seen them.
        """
        if not self.has_any:
            return folds
        stored = np.where(self.places >= 0, self.scores.fold_of[self.places], -1)
        adapted = Folds.from_numbers(np.where(self.is_known, stored, folds.fold_of))
        return replace(adapted, is_only_part=folds.is_only_part and adapted.n_folds == 1)

    def insert(self, scores: OutOfFold, earlier: Sequence[int | None], weight: Floats) -> OutOfFold:
        """Return the scores with the stored ones, and with weights that restore class frequencies.

        Parameters
        ----------
        scores : OutOfFold, for which binaries that stay have scored all rows
        earlier : for each binary, its column in the stored scores; None if it is new
        weight : array of shape (n_rows,), the weights of all rows
        """
        if not self.has_any:
            return scores
        places, values = self.places[scores.rows], scores.scores.copy()
        for column, before in enumerate(earlier):
            if before is not None:
                stored = self.scores.scores[places, before]
                values[:, column] = np.where(places >= 0, stored, values[:, column])
        totals = np.bincount(self.class_indices, weight)
        held_out = np.bincount(scores.class_indices, scores.weight, len(totals))
        shares = totals / np.where(held_out > 0, held_out, np.inf)
        own = scores.weight * shares[scores.class_indices]
        return replace(scores, scores=values, weight=own * (scores.weight.sum() / own.sum()))


# Equal samples of different classes are different rows.
_FACTOR = np.int64(0x1B873593CC9E2D51)
