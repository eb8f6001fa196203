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
from polytomy.dask.cluster import gather, gather_as_completed, name_task, pass_on, sending_data
from polytomy.dask.folds import FoldPlan, calibration_weights, find_frequencies, weights_by_class
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
    Sample,
    choose_rows,
    group_part,
    join_samples,
    pick_rows,
    summarise_part,
)
from polytomy.dask.row_blocks import RowBlock, cut_piece, deal_folds, join_class, weight_rows
from polytomy.errors import ClusterError
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
from polytomy.model.fitting import TrainedBinaries, warn_of_shortcomings
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
