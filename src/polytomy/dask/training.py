"""Training the binaries of a scheme on a cluster: the steps of a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any

from sklearn import get_config

from dask import delayed
from polytomy.dask.class_weights import find_frequencies, weights_by_class
from polytomy.dask.cluster import (
    gather,
    gather_as_completed,
    join_sample,
    name_task,
    pass_on,
    run_groups,
    sending_data,
)
from polytomy.dask.folds import FoldPlan, calibration_weights
from polytomy.dask.group_tasks import (
    GroupTask,
    RowBlock,
    divide_into_groups,
    score_given,
    share_vectors,
    weight_rows,
)
from polytomy.dask.grouping import (
    cut_piece,
    deal_folds,
    group_part,
    join_class,
    summarise_part,
)
from polytomy.dask.layout import Layout
from polytomy.dask.memory import check_memory
from polytomy.dask.moments import Moments
from polytomy.dask.parts import Part
from polytomy.dask.preprocessing import fit_transformers
from polytomy.dask.sampling import Sample, choose_rows, join_samples, pick_rows
from polytomy.inputs.arguments import BALANCED_PER_PARTITION
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.options import TrainingListener, TrainingOptions
from polytomy.learners.svm.matrix import fix_gamma_by_variance, has_gamma_of_data
from polytomy.learners.trained import TrainedBinary
from polytomy.model.dichotomies import Dichotomy
from polytomy.model.fitting import TrainedBinaries, warn_of_shortcomings
from polytomy.model.preprocessing import check_shareable, cut_pipelines, find_lead

__all__ = ["GroupedData", "group_rows_by_class", "train_binaries"]


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
    options = replace(options, balances_sides=class_weight == BALANCED_PER_PARTITION)
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
    left = [i for i, each in enumerate(trainable) if each.trained is None]
    groups = divide_into_groups(trainable, left, layout.class_sizes)
    check_memory(client, [[trainable[i] for i in group] for group in groups], layout)
    blocks = _join_classes(data, folds, preprocessing)
    trainable = _fix_gamma(client, trainable, blocks)
    sent = replace(options, n_jobs=1 if options.n_jobs is None else options.n_jobs)
    tasks = [
        GroupTask(
            tuple(trainable[i] for i in group),
            tuple(seeds[i] for i in group),
            layout.classes,
            sent,
            None if folds is None else folds.n_folds,
            by_class,
            get_config()["enable_metadata_routing"],
            folds is not None and folds.is_only_part,
        )
        for group in groups
    ]
    sample = None if folds is None else join_sample(client, blocks)
    results = run_groups(client, tasks, blocks, sample, listener)
    binaries: list[TrainedBinary | None] = [each.trained for each in dichotomies]
    scores: list[Any] = [None] * len(dichotomies)
    for group, result in zip(groups, results, strict=True):
        for column, i in enumerate(group):
            binaries[i] = result.binaries[column]
            scores[i] = None if result.scores is None else result.scores[:, column]
    trained = share_vectors([each for each in binaries if each is not None])
    warn_of_shortcomings(trained)
    out_of_fold = None
    if folds is not None:
        weighted = client.submit(weight_rows, sample, layout.classes, by_class, pure=False)
        given = [i for i, each in enumerate(dichotomies) if each.trained is not None]
        if given:
            task = client.submit(score_given, [trained[i] for i in given], weighted, pure=False)
            (columns,) = gather(client, [task])
            for i, column in zip(given, columns.T, strict=True):
                scores[i] = column
        (rows,) = gather(client, [client.submit(RowBlock.without_samples, weighted, pure=False)])
        weights = calibration_weights(rows, layout, balances_sides=options.balances_sides)
        out_of_fold = folds.collect(rows, weights, scores, options.keep_out_of_fold)
    frequencies = find_frequencies(layout, by_class, balances_sides=options.balances_sides)
    return TrainedBinaries(trained, out_of_fold, preprocessing, frequencies=frequencies)


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


def _fix_gamma(
    client: Any, dichotomies: Sequence[Dichotomy], blocks: Mapping[int, Any]
) -> list[Dichotomy]:
    """Return the dichotomies with a number for every gamma, computed from all rows."""
    estimators = [each.estimator for each in dichotomies]
    if not has_gamma_of_data(estimators):
        return list(dichotomies)
    futures = [client.submit(Moments.of_block, block, pure=False) for block in blocks.values()]
    moments = Moments.merge(gather(client, futures))
    if moments is not None:
        estimators = fix_gamma_by_variance(estimators, moments.n_features, moments.variance)
    return [
        each._replace(estimator=estimator)
        for each, estimator in zip(dichotomies, estimators, strict=True)
    ]
