"""Training the binaries of a scheme on a cluster: the steps of a fit.

1. Each part of the data is sorted by class, on the worker that has it.
2. Transformers that all binaries share are fitted.
3. All rows of a class are joined on one worker.
4. Every gamma that depends on the data becomes a number, the same for all binaries.
5. Dichotomies are divided into groups, and each is trained in one task.
6. The scores of held-out rows are collected, for the final calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import getitem
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from dask import delayed
from polytomy.calibration.folds import Folds, HoldOut
from polytomy.dask.cluster import gather, gather_as_completed, name_task, pass_on, sending_data
from polytomy.dask.grouping import (
    Layout,
    Part,
    RowBlock,
    ScoredChoice,
    choose_rows,
    cut_piece,
    deal_folds,
    divide_quota,
    group_part,
    join_blocks,
    join_class,
    pick_rows,
    summarise_part,
    take_scored,
    weight_rows,
)
from polytomy.inputs.arguments import BALANCED_PER_PARTITION
from polytomy.inputs.numbers import class_weights
from polytomy.inputs.rows import group_rows, unchangeable
from polytomy.inputs.seeds import partition_seeds, seed_all
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy, group_sides
from polytomy.learners.svm.machines import KernelMachine, merge_vectors
from polytomy.learners.svm.suitability import (
    UnsuitableError,
    as_numbers,
    fix_gamma_by_variance,
    has_gamma_of_data,
)
from polytomy.learners.trained import TrainedBinary
from polytomy.learners.workload import FitArguments, Trained, TrainingListener, TrainingOptions
from polytomy.model.decisions import ClassFrequencies
from polytomy.model.fitting import TrainedBinaries, train_dichotomies, warn_of_shortcomings
from polytomy.model.out_of_fold import (
    MOST_SCORES,
    FoldRule,
    OutOfFold,
    find_fold_rule,
    takes_weights,
    warn_of_no_rows,
)
from polytomy.model.preprocessing import check_shareable, cut_pipelines, find_lead


@dataclass(frozen=True, slots=True, eq=False)
class GroupedData:
    """Training data whose parts are sorted by class, in the memory of the workers.

    Attributes
    ----------
    client : distributed.Client
    parts : list of futures of GroupedPart; emptied when the rows of the classes are joined
    layout : Layout
    """

    client: Any
    parts: list[Any]
    layout: Layout

    def sample(self, most_rows: int, seed: int) -> RowBlock:
        """Return a stratified sample of the rows in their order; all rows if there are not more."""
        layout = self.layout
        futures = [
            self.client.submit(
                pick_rows,
                self.parts[part],
                layout.places[part],
                rows,
                int(layout.first_rows[part]),
                key=name_task("sample rows"),
            )
            for part, rows in choose_rows(layout, most_rows, seed).items()
        ]
        return join_blocks(gather(self.client, futures))


def group_rows_by_class(
    client: Any, parts: Sequence[Part], advance: Callable[[str], None]
) -> GroupedData:
    """Sort the parts of the data by class, each on the worker that has it.

    Parameters
    ----------
    client : distributed.Client
    parts : parts of the data
    advance : called for each part that is done
    """
    with sending_data():
        grouped = client.compute(
            [
                delayed(group_part)(*part, number, dask_key_name=name_task("group rows"))
                for number, part in enumerate(parts)
            ]
        )
        futures = [
            client.submit(summarise_part, part, key=name_task("count rows")) for part in grouped
        ]
    summaries: list[Any] = [None] * len(futures)
    for number, summary in gather_as_completed(client, futures):
        summaries[number] = summary
        advance(f"part {number}")
    return GroupedData(client, list(grouped), Layout.of(summaries))


def train_binaries(
    data: GroupedData,
    dichotomies: Sequence[Dichotomy],
    options: TrainingOptions,
    class_weight: Mapping[Any, float] | str | None,
    make_sample: Callable[[], RowBlock],
    listener: TrainingListener,
) -> TrainedBinaries:
    """Return a trained binary for each dichotomy, in their order, as `fit_binaries` does.

    Parameters
    ----------
    data : GroupedData
    dichotomies : dichotomies with sides as class indices; those with a trained model keep it
    options : TrainingOptions, without arguments and folds; `cv` is a number or HoldOut
    class_weight : dict, "balanced", "balanced-per-partition" or None
    make_sample : returns the rows that shared transformers are fitted to
    listener : TrainingListener
    """
    client, layout = data.client, data.layout
    by_class = weights_by_class(class_weight, layout)
    seeds = partition_seeds(options.random_state, len(dichotomies))
    rule = find_fold_rule(dichotomies, len(layout.classes), options)
    folds = None if rule is None else FoldPlan.of(rule, layout, options, len(dichotomies))
    preprocessing = None
    lead = find_lead(dichotomies) if options.shares_preprocessing else None
    trainable = list(dichotomies)
    if lead is not None:
        check_shareable(lead, dichotomies)
        (seed,) = partition_seeds(options.random_state, 1)
        steps = lead.estimator.steps[:-1]
        preprocessing = fit_transformers(steps, make_sample(), seed)
        trainable = cut_pipelines(dichotomies)
    groups = divide_into_groups(trainable, layout.class_sizes)
    blocks = _join_classes(data, folds, preprocessing)
    trainable = _fix_gamma(client, trainable, blocks)
    sent = TaskOptions(
        len(layout.classes),
        replace(options, n_jobs=1 if options.n_jobs is None else options.n_jobs),
        folds,
        by_class,
    )
    sample = None if folds is None else join_sample(client, blocks)
    found = train_groups(client, trainable, groups, seeds, sent, blocks, sample, listener)
    trained = [each.binary for each in found]
    warn_of_shortcomings(trained)
    out_of_fold = None
    if folds is not None:
        weighted = client.submit(weight_rows, sample, by_class, pure=False)
        scores = [each.scores for each in found]
        given = [i for i, each in enumerate(dichotomies) if each.trained is not None]
        if given:
            task = client.submit(_score_given, [trained[i] for i in given], weighted, pure=False)
            (columns,) = gather(client, [task])
            for i, column in zip(given, columns.T, strict=True):
                scores[i] = column
        (rows,) = gather(client, [client.submit(RowBlock.without_samples, weighted, pure=False)])
        weights = calibration_weights(rows, layout, balances_sides=options.balances_sides)
        out_of_fold = folds.collect(rows, weights, scores, options.keep_out_of_fold)
    frequencies = find_frequencies(layout, by_class, balances_sides=options.balances_sides)
    return TrainedBinaries(trained, out_of_fold, preprocessing, frequencies=frequencies)


def _score_given(binaries: Sequence[TrainedBinary], sample: RowBlock) -> NDArray[np.float32]:
    """Return the scores of binaries trained elsewhere, for the rows that every binary scores."""
    return Bank(binaries).scores(sample.X).astype(np.float32)


def _join_classes(data: GroupedData, folds: FoldPlan | None, preprocessing: Any) -> dict[int, Any]:
    """Return the future of the RowBlock of each class."""
    client, layout = data.client, data.layout
    sizes = layout.class_sizes
    owners = [(k, part) for k in range(len(sizes)) for part in layout.parts_of(k)]
    # One call for all pieces: there may be very many.
    cut = client.map(
        cut_piece,
        [data.parts[part] for _, part in owners],
        [int(layout.places[part, k]) for k, part in owners],
        [k for k, _ in owners],
        [int(layout.first_rows[part]) for _, part in owners],
        key=[name_task("cut rows") for _ in owners],
    )
    pieces: dict[int, list[Any]] = {k: [] for k in range(len(sizes))}
    for (k, _), piece in zip(owners, cut, strict=True):
        pieces[k].append(piece)
    dealt: list[Any] = [None] * len(sizes)
    if folds is not None:
        folds_of_all = client.submit(
            deal_folds, sizes, folds.dealt, folds.seed, key=name_task("deal folds")
        )
        key = [name_task("take folds") for _ in sizes]
        dealt = client.map(getitem, [folds_of_all] * len(sizes), range(len(sizes)), key=key)
    transformers = None
    if preprocessing is not None:
        transformers = client.submit(pass_on, preprocessing, key=name_task("transformers"))
    blocks = {
        k: client.submit(
            join_class,
            pieces[k],
            dealt[k],
            None if folds is None else folds.choices[k],
            transformers,
            key=name_task("join rows of a class"),
        )
        for k in range(len(sizes))
    }
    # The workers can release the parts as soon as their rows are joined.
    data.parts.clear()
    return blocks


# -- transformers that all binaries share ----------------------------------------------------------


def fit_transformers(steps: Sequence[tuple[str, Any]], sample: RowBlock, seed: Any) -> Pipeline:
    """Return the transformers of a pipeline, fitted to a sample of the rows.

    Parameters
    ----------
    steps : names and unfitted transformers
    sample : RowBlock
    seed : int, optional, for the transformers
    """
    pipeline = clone(Pipeline(list(steps)))
    seed_all(pipeline, seed)
    return pipeline.fit(unchangeable(weight_rows(sample, None).X))


# -- the variance of all values, for gamma="scale" -------------------------------------------------


def _fix_gamma(
    client: Any, dichotomies: Sequence[Dichotomy], blocks: Mapping[int, Any]
) -> list[Dichotomy]:
    """Return the dichotomies with a number for every gamma, computed from all rows."""
    estimators = [each.estimator for each in dichotomies]
    if not has_gamma_of_data(estimators):
        return list(dichotomies)
    futures = [client.submit(find_moments, block, pure=False) for block in blocks.values()]
    moments = gather(client, futures)
    if None not in moments:
        n_features = moments[0].n_features
        estimators = fix_gamma_by_variance(estimators, n_features, find_variance(moments))
    return [
        each._replace(estimator=estimator)
        for each, estimator in zip(dichotomies, estimators, strict=True)
    ]


class Moments(NamedTuple):
    """Number, mean and variance of all values of some rows, and how many values a row has."""

    n_values: int
    mean: float
    variance: float
    n_features: int


def find_moments(block: RowBlock) -> Moments | None:
    """Return the moments of the rows of a block; None if their values are not numbers."""
    try:
        X = as_numbers(block.X)
    except (UnsuitableError, TypeError, ValueError):
        return None
    n_values, mean = int(np.prod(X.shape)), float(X.mean())
    stored = X.data if is_sparse(X) else X
    squares = float(((stored - mean) ** 2).sum()) + (n_values - stored.size) * mean**2
    return Moments(n_values, mean, squares / n_values, X.shape[1])


def find_variance(moments: Sequence[Moments]) -> float:
    """Return the variance of the values of all blocks, without cancellation.

    Examples
    --------
    >>> find_variance([Moments(2, 1.5, 0.25, 2), Moments(2, 4.5, 2.25, 2)])  # of 1, 2, 3 and 6
    3.5
    """
    sizes, means, variances = np.array([each[:3] for each in moments]).T
    deviations = means - np.average(means, weights=sizes)
    return float(np.average(variances + deviations**2, weights=sizes))


# -- groups of dichotomies, each trained in one task by a worker that has only the rows they need --


# Small problems are grouped until they have this many samples, so that training them takes longer
# than starting a task.
_ENOUGH = 2**13

# At most this many problems with most rows in common are grouped, so that there is work for several
# workers, and only if their kernel matrix has at most this many bytes.
_MOST_TOGETHER = 4
_LARGEST_MATRIX = 2**30


# -- weights and folds -----------------------------------------------------------------------------


def weights_by_class(
    class_weight: Mapping[Any, float] | str | None, layout: Layout
) -> NDArray[np.float64] | None:
    """Return the weight of each class; None if all are one."""
    if class_weight is None or class_weight == BALANCED_PER_PARTITION:
        return None
    if isinstance(class_weight, Mapping):
        # One sample of each class, to check the weights.
        return class_weights(class_weight, layout.classes, np.arange(len(layout.classes)), None)
    return balance_classes(layout)


def balance_classes(layout: Layout) -> NDArray[np.float64]:
    """Return weights that give all classes the same total; zero for a class without weight."""
    totals = layout.class_weights
    share = totals.sum() / len(totals)
    weights = np.zeros_like(totals)
    np.divide(share, totals, out=weights, where=totals > 0)
    return weights


def find_frequencies(
    layout: Layout, by_class: NDArray[np.float64] | None, *, balances_sides: bool
) -> ClassFrequencies:
    """Return how frequent the classes are, with and without their weights.

    If both sides of each problem were balanced, all classes count the same.
    """
    n_classes, of_data = len(layout.classes), layout.class_weights
    by_class = balance_classes(layout) if balances_sides else by_class
    of_model = of_data if by_class is None else of_data * by_class
    return ClassFrequencies.from_weights(np.arange(n_classes), n_classes, of_data, of_model)


# -- folds -----------------------------------------------------------------------------------------


# Largest size of the rows that every binary scores, for the final calibration. They are sent to
# every worker, whatever classes it has.
_SAMPLE_BYTES = 2**26


@dataclass(frozen=True, slots=True, eq=False)
class FoldPlan:
    """Shared folds, and the rows that every binary scores.

    Attributes
    ----------
    dealt : number of folds that the rows are divided into, or HoldOut for one held-out part
    n_folds : number of folds that are held out; rows of the others are always trained on
    seed : int
    choices : list of ScoredChoice, one for each class
    n_rows : number of all rows
    final_calibration : a name or an object; None if only the binaries use the folds
    given_seed : seed of the final calibration; None without a random_state
    """

    dealt: int | HoldOut
    n_folds: int
    seed: int
    choices: list[ScoredChoice]
    n_rows: int
    final_calibration: Any
    given_seed: int | None

    @classmethod
    def of(
        cls, rule: FoldRule, layout: Layout, options: TrainingOptions, n_dichotomies: int
    ) -> Self:
        """Return the folds that a rule requires."""
        # Tasks that are run again must get the same folds.
        seed = rule.seed
        if seed is None:
            seed = int(np.random.default_rng().integers(2**31))
        sizes, cv = layout.class_sizes, options.cv
        weights: list[float | None] = [None] * len(sizes)
        dealt: int | HoldOut
        if isinstance(cv, HoldOut):
            dealt, n_folds = cv, 1
            candidates = [cv.count_of(size) for size in sizes]
            if takes_weights(options) and any(cv.weight_of(size) != 1.0 for size in sizes):
                weights = [cv.weight_of(size) for size in sizes]
        else:
            # A class with fewer rows than folds has one in each of the first folds.
            dealt = n_folds = min(int(cv), max(sizes))
            if rule.enough_rows is not None:
                n_folds = _count_enough(sizes, dealt, rule.enough_rows)
            candidates = [-(-size * n_folds // dealt) for size in sizes]
        most_rows = int(
            min(MOST_SCORES // max(1, n_dichotomies), _SAMPLE_BYTES // layout.bytes_per_row)
        )
        quotas: list[int | None] = [None] * len(candidates)
        if rule.final_calibration is None:
            quotas = [0] * len(candidates)
        elif sum(candidates) > most_rows:
            quotas = list(divide_quota(candidates, most_rows))
        choices = [
            ScoredChoice(n_folds, quota, [seed, k], weights[k]) for k, quota in enumerate(quotas)
        ]
        return cls(dealt, n_folds, seed, choices, layout.n_rows, rule.final_calibration, rule.seed)

    def of_block(self, block: RowBlock) -> Folds:
        """Return the folds of some rows, which know theirs."""
        assert block.fold_of is not None
        assert block.is_scored is not None
        fold_of = block.fold_of.astype(np.intp)
        is_trained_on = np.arange(self.n_folds)[:, np.newaxis] != fold_of
        scored = np.flatnonzero(block.is_scored)
        is_only_part = isinstance(self.dealt, HoldOut)  # it is never trained on
        return Folds(fold_of, is_trained_on, scored, is_only_part, block.fold_weight)

    def collect(
        self,
        rows: RowBlock,
        weight: NDArray[np.float64],
        scores: Sequence[NDArray[np.float32] | None],
        keeps_probabilities: bool,
    ) -> OutOfFold | None:
        """Return the out-of-fold scores of all binaries; None if a fold could not be trained.

        Also None if there is no final calibration to learn from them.

        Parameters
        ----------
        rows : the rows that every binary has scored, without samples
        weight : their weights
        scores : the scores of each binary, or None
        keeps_probabilities : whether the final calibration keeps its probabilities
        """
        if self.final_calibration is None:
            return None
        if not len(rows.rows):
            warn_of_no_rows()
            return None
        known = [each for each in scores if each is not None]
        if len(known) < len(scores):
            return None
        assert rows.fold_of is not None
        return OutOfFold(
            np.column_stack(known),
            rows.rows.astype(np.intp),
            self.n_rows,
            rows.class_indices,
            weight if rows.fold_weight is None else weight * rows.fold_weight,
            rows.fold_of.astype(np.intp),
            self.final_calibration,
            self.given_seed,
            keeps_probabilities,
        )


def _count_enough(class_sizes: Sequence[int], n_folds: int, enough_rows: int) -> int:
    """Return how many folds hold out enough rows, or all of them if none do."""
    folds, rare = np.arange(n_folds), [size for size in class_sizes if size < n_folds]
    n_common = sum(class_sizes) - sum(rare)
    sizes = n_common // n_folds + (folds < n_common % n_folds)
    sizes += np.sum([folds < size for size in rare], axis=0, dtype=np.intp)
    return min(n_folds, 1 + int(np.searchsorted(np.cumsum(sizes), enough_rows)))


def calibration_weights(
    rows: RowBlock, layout: Layout, *, balances_sides: bool
) -> NDArray[np.float64]:
    """Return the weights with which the final calibration learns: those of training.

    If both sides of each problem were balanced, all classes get the same total weight.
    """
    weight = np.ones(len(rows.rows)) if rows.weight is None else rows.weight
    return weight * balance_classes(layout)[rows.class_indices] if balances_sides else weight


# -- tasks -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TaskOptions:
    """What all tasks of a fit have in common.

    Attributes
    ----------
    n_classes : int, number of all classes
    training : TrainingOptions, without arguments
    folds : FoldPlan that all binaries share; None if there is none
    class_weight : array with the weight of each class, optional
    routes_metadata : bool, whether scikit-learn's metadata routing is on
    """

    n_classes: int
    training: TrainingOptions
    folds: FoldPlan | None = None
    class_weight: NDArray[np.float64] | None = None
    routes_metadata: bool = field(default_factory=lambda: get_config()["enable_metadata_routing"])


def train_groups(
    client: Any,
    dichotomies: Sequence[Dichotomy],
    groups: Sequence[Sequence[int]],
    seeds: Sequence[int | None],
    options: TaskOptions,
    blocks: Mapping[int, Any],
    sample: Any,
    listener: TrainingListener,
) -> list[Trained]:
    """Train groups of dichotomies on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    dichotomies : dichotomies with sides as class indices; those with a trained model keep it
    groups : as `divide_into_groups` returns them
    seeds : one for each dichotomy
    options : TaskOptions
    blocks : future of the RowBlock of each class
    sample : future of the rows that every binary scores, or None
    listener : TrainingListener, called in this process
    """
    futures = []
    with sending_data():
        for group in groups:
            members = tuple(dichotomies[i] for i in group)
            classes = classes_of(members)
            futures.append(
                client.submit(
                    train_group,
                    members,
                    [seeds[i] for i in group],
                    options,
                    [blocks[k] for k in classes],
                    None if len(classes) == len(blocks) else sample,
                    key=name_task(f"train {members[0].name}"),
                )
            )
    found = {
        i: Trained(each.trained) for i, each in enumerate(dichotomies) if each.trained is not None
    }
    notes: dict[int, list[str]] = {}
    for number, (trained, notes[number]) in gather_as_completed(client, futures):
        found |= zip(groups[number], trained, strict=True)
        for i in groups[number]:
            if dichotomies[i].is_counted:
                listener.trained(dichotomies[i].partition.name)
    for note in dict.fromkeys(chain(*(notes[number] for number in sorted(notes)))):
        listener.note(note)
    # Each vector is stored once for all tasks, so prediction computes its kernel values once.
    machines = {
        i: each.binary.estimator
        for i, each in found.items()
        if isinstance(each.binary.estimator, KernelMachine)
    }
    for i, machine in zip(machines, merge_vectors(list(machines.values())), strict=True):
        found[i] = found[i]._replace(binary=replace(found[i].binary, estimator=machine))
    return [found[i] for i in range(len(dichotomies))]


def join_sample(client: Any, blocks: Mapping[int, Any]) -> Any:
    """Return the future of the rows of all blocks that every binary scores.

    They are taken on the workers that have the blocks, so that no worker has to hold all blocks.
    """
    key = [name_task("take rows to score") for _ in blocks]
    taken = client.map(take_scored, list(blocks.values()), key=key)
    return client.submit(join_blocks, taken, key=name_task("rows to score"))


def classes_of(dichotomies: Sequence[Dichotomy]) -> tuple[int, ...]:
    """Return the indices of the classes that dichotomies separate, ascending."""
    return tuple(sorted({k for each in dichotomies for k in (*each.negative, *each.positive)}))


def divide_into_groups(
    dichotomies: Sequence[Dichotomy], class_sizes: Sequence[int]
) -> list[list[int]]:
    """Return which dichotomies to train in the same task.

    The groups depend on the data and the scheme but not on the workers, so neither do the results.

    Parameters
    ----------
    dichotomies : dichotomies with sides as class indices; those with a trained model are left out
    class_sizes : number of rows of each class

    Returns
    -------
    list of groups of positions
    """
    left = [i for i, each in enumerate(dichotomies) if each.trained is None]
    sizes = np.asarray(class_sizes)
    n_rows = int(sizes.sum())
    groups: list[list[int]] = []
    load_of_last = 0
    for unit in group_sides(dichotomies, left):
        n_samples = int(sizes[list(classes_of([dichotomies[i] for i in unit]))].sum())
        limit = _ENOUGH
        if 2 * n_samples > n_rows and 8 * n_rows**2 <= _LARGEST_MATRIX:
            # Such problems have most rows in common; machines share their kernel values.
            limit = max(limit, _MOST_TOGETHER * n_samples)
        load = n_samples * len(unit)
        if groups and load_of_last + load <= limit:
            groups[-1] += unit
            load_of_last += load
        else:
            groups.append(unit)
            load_of_last = load
    return groups


def train_group(
    dichotomies: Sequence[Dichotomy],
    seeds: Sequence[int | None],
    options: TaskOptions,
    blocks: Sequence[RowBlock],
    sample: RowBlock | None = None,
) -> tuple[list[Trained], list[str]]:
    """Train some dichotomies together; also return sentences about how they were trained.

    Parameters
    ----------
    dichotomies : untrained, with sides as class indices
    seeds : one for each of them
    options : TaskOptions
    blocks : the rows of the classes that the dichotomies separate
    sample : RowBlock, optional
        Rows of all classes that every binary scores; rows that are also in `blocks` count once.
    """
    block = join_blocks([*blocks, *([] if sample is None else [sample])])
    block = weight_rows(block, options.class_weight)
    folds = None if options.folds is None else options.folds.of_block(block)
    arguments = FitArguments(block.weight if len(block.rows) else None)
    notes = _Notes()
    # Workers are daemons, which cannot start processes.
    with (
        config_context(enable_metadata_routing=options.routes_metadata),
        parallel_config("threading"),
    ):
        trained = train_dichotomies(
            dichotomies,
            group_rows(block.class_indices, options.n_classes),
            block.X,
            replace(options.training, arguments=arguments, class_indices=block.class_indices),
            folds,
            seeds,
            notes,
        )
    return trained, notes.sentences


class _Notes(TrainingListener):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def note(self, text: str) -> None:
        self.sentences.append(text)
