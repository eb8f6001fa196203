"""Training the binaries of a scheme on a cluster: the steps of a fit.

1. Each part of the data is sorted by class, on the worker that has it.
2. Transformers that all binaries share are fitted.
3. All rows of a class are joined on one worker.
4. Every gamma that depends on the data becomes a number, the same for all binaries.
5. Dichotomies are divided into groups, and each is trained in one task (`group_tasks.py`).
6. The scores of held-out rows are collected, for the final calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from dask import delayed
from polytomy.dask.cluster import gather, gather_as_completed, name_task, pass_on, sending_data
from polytomy.dask.group_tasks import (
    FoldPlan,
    TaskOptions,
    calibration_weights,
    divide_into_groups,
    find_frequencies,
    join_sample,
    train_groups,
    weights_by_class,
)
from polytomy.dask.grouping import (
    Layout,
    Part,
    RowBlock,
    choose_rows,
    cut_piece,
    deal_folds,
    group_part,
    join_blocks,
    join_class,
    pick_rows,
    summarise_part,
    weight_rows,
)
from polytomy.inputs.rows import unchangeable
from polytomy.inputs.seeds import partition_seeds, seed_all
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy
from polytomy.learners.svm.suitability import (
    UnsuitableError,
    as_numbers,
    fix_gamma_by_variance,
    has_gamma_of_data,
)
from polytomy.learners.trained import TrainedBinary
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.model.fitting import TrainedBinaries, warn_of_shortcomings
from polytomy.model.out_of_fold import find_fold_rule
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
