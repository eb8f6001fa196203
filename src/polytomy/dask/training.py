"""Training the binaries of a scheme on a cluster: the steps of a fit.

1. Each part of the data is sorted by class, on the worker that has it.
2. Transformers that all binaries share are fitted.
3. Dichotomies are divided into groups, and the workers must have the memory for their rows.
4. All rows of a class are joined on one worker.
5. Every gamma that depends on the data becomes a number, the same for all binaries.
6. Each group is trained in one task (`group_tasks.py`).
7. The scores of held-out rows are collected, for the final calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from dask import delayed
from polytomy.calibration.folds import HoldOut
from polytomy.dask.cluster import gather, gather_as_completed, name_task, pass_on, sending_data
from polytomy.dask.group_tasks import (
    TaskOptions,
    classes_of,
    divide_into_groups,
    join_sample,
    train_groups,
)
from polytomy.dask.grouping import (
    GroupedPart,
    Layout,
    Part,
    RowBlock,
    Sample,
    ScoredChoice,
    choose_rows,
    cut_piece,
    deal_folds,
    divide_quota,
    group_part,
    join_class,
    join_samples,
    pick_rows,
    summarise_part,
    weight_rows,
)
from polytomy.errors import ClusterError
from polytomy.inputs.arguments import BALANCED_PER_PARTITION
from polytomy.inputs.numbers import class_weights
from polytomy.inputs.rows import take_rows, unchangeable
from polytomy.inputs.seeds import partition_seeds, seed_all
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy
from polytomy.learners.svm.matrix import size_in_words
from polytomy.learners.svm.suitability import (
    UnsuitableError,
    as_numbers,
    fix_gamma_by_variance,
    has_gamma_of_data,
)
from polytomy.learners.trained import TrainedBinary
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.model.decisions import ClassFrequencies
from polytomy.model.fitting import TrainedBinaries, warn_of_shortcomings
from polytomy.model.out_of_fold import (
    MOST_SCORES,
    FoldRule,
    OutOfFold,
    find_fold_rule,
    takes_weights,
    warn_of_no_rows,
)
from polytomy.model.preprocessing import check_shareable, cut_pipelines, find_lead

# A task has its rows twice: by class, as received, and in the order of the data.
_COPIES = 2


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

    def sample(self, most_rows: int, seed: int) -> Sample:
        """Return a stratified sample of the rows in their order; all rows if there are not more."""
        chosen = choose_rows(self.layout, most_rows, seed)
        futures = [
            self.client.submit(pick_rows, self.parts[part], rows, key=name_task("sample rows"))
            for part, rows in chosen.items()
        ]
        return join_samples(gather(self.client, futures))


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
    make_sample: Callable[[], Sample],
    listener: TrainingListener,
) -> TrainedBinaries:
    """Return a trained binary for each dichotomy, in their order, as `fit_binaries` does.

    Parameters
    ----------
    data : GroupedData
    dichotomies : dichotomies with sides as class indices; those with a trained model keep it
    options : TrainingOptions, without arguments and folds; `cv` is a number or HoldOut
    class_weight : dict, "balanced", "balanced-per-partition" or None
    make_sample : returns the rows that transformers without ``partial_fit`` are fitted to
    listener : TrainingListener
    """
    client, layout = data.client, data.layout
    by_class = weights_by_class(class_weight, layout)
    seeds = partition_seeds(options.random_state, len(dichotomies))
    folds = FoldPlan.find(dichotomies, layout, options)
    preprocessing = None
    lead = find_lead(dichotomies) if options.shares_preprocessing else None
    trainable = list(dichotomies)
    if lead is not None:
        check_shareable(lead, dichotomies)
        (seed,) = partition_seeds(options.random_state, 1)
        steps = lead.estimator.steps[:-1]
        preprocessing = fit_transformers(client, steps, data.parts, make_sample(), seed)
        trainable = cut_pipelines(dichotomies)
    groups = divide_into_groups(trainable, layout.class_sizes)
    check_memory(client, [[trainable[i] for i in group] for group in groups], layout)
    blocks = _join_classes(data, folds, preprocessing)
    trainable = _fix_gamma(client, trainable, blocks)
    sent = TaskOptions(
        layout.classes,
        replace(options, n_jobs=1 if options.n_jobs is None else options.n_jobs),
        None if folds is None else folds.n_folds,
        folds is not None and folds.is_only_part,
        by_class,
    )
    sample = None if folds is None else join_sample(client, blocks)
    found = train_groups(client, trainable, groups, seeds, sent, blocks, sample, listener)
    trained = [each.binary for each in found]
    warn_of_shortcomings(trained)
    out_of_fold = None
    if folds is not None:
        weighted = client.submit(weight_rows, sample, layout.classes, by_class, pure=False)
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
            layout.first_rows[layout.parts_of(k)].tolist(),
            k,
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


def check_memory(client: Any, groups: Sequence[Sequence[Dichotomy]], layout: Layout) -> None:
    """Raise a ClusterError if a task has more rows than any worker can hold.

    Otherwise, the workers would be killed one after the other.

    Parameters
    ----------
    client : distributed.Client
    groups : the dichotomies of each task
    layout : Layout
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    limits = [worker["memory_limit"] for worker in workers.values()]
    if not limits or not all(limits):
        return
    sizes = layout.class_sizes
    for group in groups:
        n_rows = sum(sizes[k] for k in classes_of(group))
        need = _COPIES * n_rows * layout.bytes_per_row
        if need > max(limits):
            raise ClusterError(
                f'partition "{group[0].name}" needs {n_rows} rows on one worker, which takes '
                f"{size_in_words(need)}; the workers have {size_in_words(max(limits))}. Give them "
                "more memory, use a scheme with smaller problems, such as one-vs-one, or train on "
                "fewer rows."
            )


# -- transformers that all binaries share ----------------------------------------------------------


def fit_transformers(
    client: Any, steps: Sequence[tuple[str, Any]], parts: Sequence[Any], sample: Sample, seed: Any
) -> Pipeline:
    """Return the fitted transformers of a pipeline.

    Those with ``partial_fit``, such as scalers, learn from all rows, one part after the other, each
    on the worker that has the part. All others are fitted to the sample.

    Parameters
    ----------
    client : distributed.Client
    steps : names and unfitted transformers
    parts : futures of GroupedPart
    sample : Sample
    seed : int, optional, for the transformers
    """
    pipeline = clone(Pipeline(list(steps)))
    seed_all(pipeline, seed)
    fitted: list[Any] = []
    X = take_rows(sample.X, np.flatnonzero(_has_weight(sample.weight, len(sample.y))))
    for number, (name, step) in enumerate(pipeline.steps):
        if step is None or step == "passthrough":
            continue
        if hasattr(step, "partial_fit"):
            state = step
            for part in parts:
                state = client.submit(
                    _learn, state, part, tuple(fitted), key=name_task(f"fit {name}")
                )
            if state is not step:
                (step,) = gather(client, [state])
        elif get_tags(step).requires_fit:
            step = step.fit(unchangeable(X))
        pipeline.steps[number] = name, step
        X = step.transform(unchangeable(X))
        fitted.append(step)
    return pipeline


def _has_weight(weight: Any, n_rows: int) -> Any:
    return np.ones(n_rows, dtype=np.bool_) if weight is None else weight > 0


def _learn(step: Any, part: GroupedPart, before: Sequence[Any]) -> Any:
    """Return a transformer that has been fitted to one more part."""
    rows = np.flatnonzero(_has_weight(part.weight, len(part.rows)))
    if not len(rows):
        return step
    X = take_rows(part.X, rows)
    if before:
        X = make_pipeline(*before).transform(X)
    # A copy: the state before this part may be needed again if a worker is lost.
    return deepcopy(step).partial_fit(X)


# -- the variance of all values, for gamma="scale" -------------------------------------------------


def _fix_gamma(
    client: Any, dichotomies: Sequence[Dichotomy], blocks: Mapping[int, Any]
) -> list[Dichotomy]:
    """Return the dichotomies with a number for every gamma, computed from all rows."""
    estimators = [each.estimator for each in dichotomies]
    if not has_gamma_of_data(estimators):
        return list(dichotomies)
    futures = [client.submit(Moments.of_block, block, pure=False) for block in blocks.values()]
    moments = gather(client, futures)
    if None not in moments:
        variance = find_variance(moments)
        estimators = fix_gamma_by_variance(estimators, moments[0].n_features, variance)
    return [
        each._replace(estimator=estimator)
        for each, estimator in zip(dichotomies, estimators, strict=True)
    ]


class Moments(NamedTuple):
    """Number, mean and sum of squared deviations of all values of some samples.

    Attributes
    ----------
    n_values, n_features : int
    mean, squares : float
    """

    n_values: int
    n_features: int
    mean: float
    squares: float

    @classmethod
    def of(cls, X: Any) -> Self | None:
        """Return the moments of all values of X, or None if they are not numbers."""
        try:
            numbers = as_numbers(X)
        except (UnsuitableError, TypeError, ValueError):
            return None
        n_values = int(np.prod(numbers.shape))
        mean = float(numbers.sum()) / n_values
        stored = numbers.data if is_sparse(numbers) else numbers
        squares = float(((stored - mean) ** 2).sum()) + (n_values - stored.size) * mean**2
        return cls(n_values, int(numbers.shape[1]), mean, squares)

    @classmethod
    def of_block(cls, block: RowBlock) -> Self | None:
        """Return the moments of the samples of a block."""
        return cls.of(block.X)


def find_variance(parts: Sequence[Moments]) -> float:
    """Return the variance of the values of all parts, without cancellation.

    Examples
    --------
    >>> parts = [Moments.of(np.array([[1.0, 2.0]])), Moments.of(np.array([[3.0, 6.0]]))]
    >>> find_variance(parts)  # that of 1, 2, 3 and 6
    3.5
    """
    sizes, means = np.array([(part.n_values, part.mean) for part in parts]).T
    deviations = means - np.average(means, weights=sizes)
    squares = sum(part.squares for part in parts) + sizes @ deviations**2
    return float(squares / sizes.sum())


# -- Folds that all binaries share, and class weights, when the rows are on many machines --


def weights_by_class(
    class_weight: Mapping[Any, float] | str | None, layout: Layout
) -> dict[Any, float] | None:
    """Return the weight of each label; None if all are one."""
    if class_weight is None or class_weight == BALANCED_PER_PARTITION:
        return None
    labels = layout.classes.tolist()
    if isinstance(class_weight, Mapping):
        # One sample of each class, to check the weights.
        weights = class_weights(class_weight, layout.classes, np.arange(len(labels)), None)
        assert weights is not None
        return dict(zip(labels, weights.tolist(), strict=True))
    return dict(zip(labels, balance_classes(layout).tolist(), strict=True))


def balance_classes(layout: Layout) -> NDArray[np.float64]:
    """Return weights that give all classes the same total; zero for a class without weight."""
    totals = layout.class_weights
    share = totals.sum() / len(totals)
    weights = np.zeros_like(totals)
    np.divide(share, totals, out=weights, where=totals > 0)
    return weights


def find_frequencies(
    layout: Layout, by_class: Mapping[Any, float] | None, *, balances_sides: bool
) -> ClassFrequencies:
    """Return how frequent the classes are, with and without their weights.

    If both sides of each problem were balanced, all classes count the same.
    """
    n_classes, of_data = len(layout.classes), layout.class_weights
    of_model = of_data
    if by_class is not None:
        of_model = of_data * np.array(list(by_class.values()))
    if balances_sides:
        of_model = of_data * balance_classes(layout)
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
    def find(
        cls, dichotomies: Sequence[Dichotomy], layout: Layout, options: TrainingOptions
    ) -> Self | None:
        """Return the folds that all binaries share, or None if nothing needs folds."""
        rule = find_fold_rule(dichotomies, len(layout.classes), options)
        if rule is None:
            return None
        return cls.of(
            rule, layout, options.cv, len(dichotomies), has_weights=takes_weights(options)
        )

    @classmethod
    def of(
        cls,
        rule: FoldRule,
        layout: Layout,
        cv: int | HoldOut,
        n_dichotomies: int,
        *,
        has_weights: bool = True,
    ) -> Self:
        """Return the folds that a rule requires.

        Parameters
        ----------
        rule : FoldRule
        layout : Layout
        cv : number of folds, or HoldOut
        n_dichotomies : int
        has_weights : whether calibrators use the weights of a held-out part
        """
        # Tasks that are run again must get the same folds.
        seed = rule.seed
        if seed is None:
            seed = int(np.random.default_rng().integers(2**31))
        sizes = layout.class_sizes
        weights: list[float | None] = [None] * len(sizes)
        dealt: int | HoldOut
        if isinstance(cv, HoldOut):
            dealt, n_folds = cv, 1
            candidates = [cv.count_of(size) for size in sizes]
            if has_weights and any(cv.weight_of(size) != 1.0 for size in sizes):
                weights = [cv.weight_of(size) for size in sizes]
        else:
            dealt = n_folds = min(int(cv), layout.n_rows)
            if rule.enough_rows is not None:
                n_folds = _count_enough(layout.n_rows, dealt, rule.enough_rows)
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

    @property
    def is_only_part(self) -> bool:
        """Whether the only fold is a held-out part that is never trained on."""
        return isinstance(self.dealt, HoldOut)

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


def _count_enough(n_rows: int, n_folds: int, enough_rows: int) -> int:
    """Return how many folds hold out enough rows, or all of them if none do."""
    sizes = n_rows // n_folds + (np.arange(n_folds) < n_rows % n_folds)
    return min(n_folds, 1 + int(np.searchsorted(np.cumsum(sizes), enough_rows)))


def calibration_weights(
    rows: RowBlock, layout: Layout, *, balances_sides: bool
) -> NDArray[np.float64]:
    """Return the weights with which the final calibration learns: those of training.

    If both sides of each problem were balanced, all classes get the same total weight.
    """
    weight = np.ones(len(rows.rows)) if rows.weight is None else rows.weight
    return weight * balance_classes(layout)[rows.class_indices] if balances_sides else weight
