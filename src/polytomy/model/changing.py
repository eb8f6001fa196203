"""Classes that come and go: a fitted classifier gets more classes, or loses some.

The binaries that do not concern these classes stay as they are, bit for bit.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
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
from polytomy.learners.problems import Dichotomy, divide_partition
from polytomy.learners.svm.suitability import has_gamma_of_data
from polytomy.learners.trained import TrainedBinary
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.model.arrangement import Arrangement, ClassTranslation
from polytomy.model.composition import Composition, warn_of_lost_calibration
from polytomy.model.estimator import make_training_options, progress_bar
from polytomy.model.fitting import TrainedBinaries, TrainingPlan, fit_binaries, plan_members
from polytomy.model.out_of_fold import OutOfFold, calibration_weights, judge
from polytomy.model.preprocessing import cut_pipelines
from polytomy.model.scheme_argument import SchemeArgument, check_sides, members_of, scheme_from
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


def remove_classes(composition: Composition, labels: Any) -> Composition:
    """Return the composition without some of its classes; see `without_classes`."""
    _refuse_compressed(composition)
    classes = composition.classes
    given = np.ravel(np.asarray(labels)).tolist()
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
    remover = _Remover(composition, kept)
    arrangements = tuple([remover.arrange(each) for each in composition.arrangements])
    schemes = [each.scheme for each in arrangements]
    is_pool = isinstance(composition.scheme, SchemeEnsemble)
    rank = {k: number for number, k in enumerate(kept.tolist())}
    order, prior, costs = composition.tie_order, composition.prior, composition.costs
    smaller = replace(
        composition,
        classes=classes[kept],
        scheme=SchemeEnsemble(schemes) if is_pool else schemes[0],
        dichotomies=tuple(remover.dichotomies),
        arrangements=arrangements,
        bank=Bank(remover.binaries, composition.bank.dtype),
        tie_order=None if order is None else tuple([rank[k] for k in order if k in rank]),
        final=None,
        out_of_fold=None,
        frequencies=_restrict(composition.frequencies, kept),
        prior=_restrict(prior, kept),
        costs=costs and replace(costs, matrix=costs.matrix[np.ix_(kept, kept)]),
    )
    if composition.out_of_fold is not None:
        return smaller.calibrated_on(remover.scores(composition.out_of_fold))
    if composition.final is not None:
        return _restrict_final(composition, smaller, kept, remover.sources)
    return smaller


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
    composition: Composition, smaller: Composition, kept: Indices, sources: Indices
) -> Composition:
    """Return the smaller composition with what the final calibration knows of its classes."""
    final: Any = composition.final
    if not hasattr(final.map, "keep"):
        warn_of_lost_calibration()
        return smaller
    columns = [
        np.searchsorted(np.unique(before.columns), sources[np.unique(after.columns)])
        for before, after in zip(composition.arrangements, smaller.arrangements, strict=True)
    ]
    map_ = final.map.keep(kept, columns if len(columns) > 1 else sources)
    rows, score = final.conformity, {}
    if rows is not None:
        rows = rows.keep(kept)
        score = judge(rows.probabilities(), rows.class_indices, rows.weight)
    return replace(smaller, final=replace(final, map=map_, score=score, conformity=rows))


class _Remover:
    """Collects the binaries that are left when classes are removed.

    Parameters
    ----------
    composition : Composition
    kept : array of int, the classes that stay
    """

    def __init__(self, composition: Composition, kept: Indices) -> None:
        self._composition, self._kept = composition, kept
        self._translate = ClassTranslation(kept, len(composition.classes))
        self._wholes: dict[Any, Any] = {}
        self._known: dict[Hashable, int] = {}
        self.dichotomies: list[Dichotomy] = []
        self.binaries: list[TrainedBinary] = []
        # For each binary, its column before, and the columns of all sides that stay.
        self._sources: list[tuple[int, list[int]]] = []

    def arrange(self, arrangement: Arrangement) -> Arrangement:
        """Return the arrangement of a scheme without the classes."""
        scheme, positions = arrangement.scheme, arrangement.positions
        is_kept = np.ones(len(scheme.classes), dtype=np.bool_)
        is_kept[np.delete(positions, self._kept)] = False
        smaller, partitions = prune_scheme(scheme, is_kept)
        place = {label: position for position, label in enumerate(smaller.classes)}
        columns, signs = [], []
        for partition in partitions:
            rows = partition.row + np.arange(1 if partition.n_sides == 2 else partition.n_sides)
            own = arrangement.columns[rows].tolist()
            if len(partition.sides) == partition.n_sides:
                columns += [self._keep(column) for column in own]
                signs += arrangement.signs[rows].tolist()
            else:
                found = self._keep_sides([own[side] for side in partition.sides])
                columns += found
                signs += [1.0] * len(found)
        labels = [scheme.classes[position] for position in positions[self._kept]]
        return Arrangement(
            smaller,
            np.array([place[label] for label in labels], dtype=np.intp),
            np.array(columns, dtype=np.intp),
            np.array(signs),
        )

    def _keep(self, column: int) -> int:
        """Return the new column of a binary that stays."""
        if column not in self._known:
            self._known[column] = len(self.binaries)
            dichotomy = self._composition.dichotomies[column]
            self.dichotomies.append(dichotomy.translated(self._translate, self._wholes))
            self.binaries.append(self._composition.binaries[column])
            self._sources.append((column, []))
        return self._known[column]

    def _keep_sides(self, columns: list[int]) -> list[int]:
        """Return the new columns of a model with several sides that loses some of them."""
        key = tuple(columns)
        if key not in self._known:
            self._known[key] = len(self.binaries)
            before = [self._composition.dichotomies[column] for column in columns]
            binaries = [self._composition.binaries[column] for column in columns]
            model = binaries[0].estimator.keep([each.positive_index for each in binaries])
            own = [
                replace(each, estimator=model, positive_index=side)
                for side, each in enumerate(binaries)
            ]
            own = own[1:] if len(own) == 2 else own
            first = before[0]
            sides = tuple([self._translate(each.positive) for each in before])
            given = None if first.trained is None else own
            self.dichotomies += divide_partition(
                model.name, sides, first.binary, first.estimator, given, first.model
            )
            self.binaries += own
            self._sources += [(column, columns) for column in columns[-len(own) :]]
        start, n_columns = self._known[key], len(columns)
        return list(range(start, start + (1 if n_columns == 2 else n_columns)))

    @property
    def sources(self) -> Indices:
        """The column of each binary before."""
        return np.array([column for column, _ in self._sources], dtype=np.intp)

    def scores(self, before: OutOfFold) -> OutOfFold | None:
        """Return the out-of-fold scores of the classes that are left."""
        is_kept = np.isin(before.class_indices, self._kept)
        if not is_kept.any():
            return None
        scores = before.scores[is_kept]
        columns = []
        for column, sides in self._sources:
            own = scores[:, column]
            if sides:  # 2 q − 1, where the probabilities q of the sides have another sum
                totals = (scores[:, sides] + 1.0).sum(axis=1)
                shares = np.full(len(own), 1.0 / len(sides))
                np.divide(own + 1.0, totals, out=shares, where=totals > 0)
                own = 2.0 * shares - 1.0
            columns.append(own)
        return replace(
            before,
            scores=np.column_stack(columns).astype(np.float32),
            rows=before.rows[is_kept],
            class_indices=np.searchsorted(self._kept, before.class_indices[is_kept]),
            weight=before.weight[is_kept],
            fold_of=before.fold_of[is_kept],
            fingerprints=None if before.fingerprints is None else before.fingerprints[is_kept],
        )


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
    _check_extensible(composition)
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
        larger = scheme_from(
            scheme, classes, X=X, y=y, random_state=classifier.random_state, class_order=order
        )
    if options.max_sides is not None:
        check_sides(larger, options.max_sides)
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
    result = plan.compose(trained, solvers, composition.bank.dtype)
    if composition.tie_order is not None:
        places = np.searchsorted(classes, [*composition.classes[[*composition.tie_order]], *added])
        result = replace(result, tie_order=tuple(places.tolist()))
    return result, order, change


def _check_extensible(composition: Composition) -> None:
    _refuse_compressed(composition)
    for part, undo in (("prior", "with_prior(None)"), ("costs", "with_cost()")):
        if getattr(composition, part) is not None:
            raise ArgumentError(
                f"the {part} of the classifier do not cover new classes. Use {undo} first, and set "
                "them for all classes afterwards."
            )
    if any(binary.columns is not None for binary in composition.binaries):
        raise ArgumentError(
            "the kernel is precomputed: its columns are the rows of fit. Fit the classifier again."
        )


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
            f"y has no samples of {list_names(map(repr, missing.tolist()))}. New classes have to be "
            "separated from all others, so pass samples of every class: the training data, or part "
            "of it, together with the new samples."
        )
    return np.union1d(known, y)


def _extend_order(classifier: Any, y: Any, classes: NDArray[Any]) -> list[Any] | None:
    """Return the order of all classes, if that of the known classes is known."""
    known = classifier.class_order_
    if known is None:
        return None
    order = read_class_order(y, classes, None)
    labels = classes.tolist()
    if order is None and has_natural_order(labels) and known == sort_naturally(known):
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
        defaults = [default] * n_members
    plan = plan_members(scheme, defaults, classes, models)
    new_index = np.searchsorted(classes, composition.classes)
    wholes: dict[Any, Any] = {}
    before = [
        each.translated(lambda side: compact_classes(new_index[np.asarray(side)]), wholes)
        for each in composition.dichotomies
    ]
    columns: dict[Hashable, list[int | None]] = {}
    for column, each in enumerate(before):
        columns.setdefault(_key(each), []).append(column)
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
    if seen is None:
        if composition.final is not None:
            warn_of_lost_calibration()
        options = replace(options, final_calibration=None)
    elif seen.has_any and not isinstance(options.cv, int | np.integer | HoldOut):
        raise ArgumentError(
            Argument("cv", options.cv),
            " cannot continue the folds of an earlier fit. Use a number of folds, or a fraction.",
        )
    wanted = dichotomies
    if composition.preprocessing is not None:
        wanted = cut_pipelines(wanted)
    wanted = _share_gamma(wanted, dichotomies, composition)
    wanted = [
        each if column is None else each._replace(trained=composition.binaries[column])
        for each, column in zip(wanted, earlier, strict=True)
    ]
    trained = fit_binaries(
        wanted,
        samples,
        replace(options, shares_preprocessing=False),
        listener,
        adapt_folds=None if seen is None else seen.adapt,
    )
    scores = trained.out_of_fold
    if scores is not None and seen is not None:
        scores = seen.insert(scores, earlier, calibration_weights(options))
        scores = replace(scores, fingerprints=fingerprint_rows(take_rows(X, scores.rows)))
    return replace(trained, out_of_fold=scores, preprocessing=composition.preprocessing)


def _share_gamma(
    wanted: Sequence[Dichotomy], dichotomies: Sequence[Dichotomy], composition: Composition
) -> list[Dichotomy]:
    """Return the dichotomies with the gamma of the machines that are there, to share one kernel."""
    gammas = {
        id(each.estimator): binary.estimator.gamma
        for each, binary in zip(composition.dichotomies, composition.binaries, strict=True)
        if isinstance(getattr(binary.estimator, "gamma", None), float)
    }

    fixed: dict[int, Any] = {}
    found = []
    for own, key in zip(wanted, [id(each.estimator) for each in dichotomies], strict=True):
        if key in gammas and has_gamma_of_data([own.estimator]):
            if key not in fixed:
                fixed[key] = clone(own.estimator).set_params(gamma=gammas[key])
            own = own._replace(estimator=fixed[key])
        found.append(own)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _SeenRows:
    """Which rows have out-of-fold scores already.

    A binary that stays has been trained on rows of the known classes, so its scores of them are not
    out of fold, except those that were stored. Rows of new classes are new to it. If no row of a
    known class is recognised, all are taken to be new.

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
        keys = _number_rows(fingerprint_rows(X), class_indices)
        known = _number_rows(scores.fingerprints, new_index[scores.class_indices])
        _, rows, places = np.intersect1d(keys, known, return_indices=True)
        found = np.full(len(keys), -1, dtype=np.intp)
        found[rows] = places
        return cls(scores, found, class_indices, np.isin(class_indices, new_index))

    @property
    def has_any(self) -> bool:
        """Whether any row is recognised."""
        return bool((self.places >= 0).any())

    def adapt(self, folds: Folds) -> Folds:
        """Return folds in which the rows with scores are held out by the same folds as before.

        Other rows of known classes are never held out, because binaries may know them.
        """
        if not self.has_any:
            return folds
        fold_of = np.where(self.is_known, -1, folds.fold_of)
        is_seen = self.places >= 0
        fold_of[is_seen] = self.scores.fold_of[self.places[is_seen]]
        adapted = Folds.from_numbers(fold_of)
        is_only_part = folds.is_only_part and adapted.n_folds == 1
        return replace(adapted, is_only_part=is_only_part)

    def insert(self, scores: OutOfFold, earlier: Sequence[int | None], weight: Floats) -> OutOfFold:
        """Return out-of-fold scores of all binaries, with the stored ones for rows that have them.

        Weights restore each class's share of the data.

        Parameters
        ----------
        scores : OutOfFold, for which binaries that stay have scored all rows
        earlier : for each binary, its column in the stored scores; None if it is new
        weight : array of shape (n_rows,)
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
        is_held_out = held_out > 0
        shares = np.divide(totals, held_out, out=np.zeros(len(totals)), where=is_held_out)
        shares *= held_out.sum() / totals[is_held_out].sum()
        return replace(scores, scores=values, weight=scores.weight * shares[scores.class_indices])


def _number_rows(fingerprints: NDArray[np.int64], class_indices: Indices) -> NDArray[np.int64]:
    """Return numbers of rows that differ for rows of other classes, and for equal rows."""
    with np.errstate(over="ignore"):
        numbers = fingerprints + class_indices * _FACTORS[0]
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=numbers[order][:1] - 1))
        repeated = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        numbers[order] += repeated * _FACTORS[1]
    return numbers


_FACTORS = np.array([0x1B873593CC9E2D51, 0x2545F4914F6CDD1D], dtype=np.int64)
