"""joblib's "dask" backend: binaries are trained on the cluster from data in memory.

joblib itself would scatter the data to workers and lose it if they die, and support vector
machines would be trained by threads of this process. Here the rows of each class are sent once, as
tasks that can be run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn import get_config

from polytomy.calibration.folds import Folds
from polytomy.dask.group_tasks import GroupTask, RowBlock, divide_into_groups, share_vectors
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.learners.options import TrainingListener, TrainingOptions
from polytomy.learners.preparation import takes_pairwise_values
from polytomy.learners.problems import Dichotomy
from polytomy.learners.workload import Trained
from polytomy.model.fitting import train_dichotomies


def train_on_cluster(
    dichotomies: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
    folds: Folds | None,
    seeds: Sequence[int | None],
    listener: TrainingListener | None = None,
) -> list[Trained]:
    """Do the work of `train_dichotomies` on the cluster of joblib's backend.

    `fit` arguments other than weights, and folds that are not a number, are left to joblib. As in
    joblib, this backend uses all workers regardless of ``n_jobs``.

    The parameters are those of `train_dichotomies`.
    """
    left = [i for i, each in enumerate(dichotomies) if each.trained is None]
    if (
        not left
        or any(takes_pairwise_values(dichotomies[i].estimator) for i in left)
        or not _can_be_sent(options, folds)
    ):
        return train_dichotomies(dichotomies, rows_of_class, X, options, folds, seeds, listener)
    from polytomy.dask.cluster import (
        explaining_faults,
        join_sample,
        name_task,
        pass_on,
        run_groups,
        sending_data,
    )

    backend, _ = get_active_backend()
    client = backend.client
    n_folds = None if folds is None else folds.n_folds
    sent = replace(options.without_rows(), n_jobs=1, cv=2)
    sizes = [len(rows) for rows in rows_of_class]
    groups = divide_into_groups(dichotomies, left, sizes)
    tasks = [
        GroupTask(
            tuple(dichotomies[i] for i in group),
            tuple(seeds[i] for i in group),
            np.arange(len(rows_of_class)),
            sent,
            n_folds,
            routes_metadata=get_config()["enable_metadata_routing"],
            is_only_part=folds is not None and folds.is_only_part,
        )
        for group in groups
    ]
    with explaining_faults(client), backend.retrieval_context():
        with sending_data():
            blocks = {
                k: client.submit(pass_on, block, key=name_task("rows of a class"))
                for k, block in enumerate(_blocks_of(rows_of_class, X, options, folds))
            }
            needs_sample = n_folds is not None and any(
                len(task.classes) < len(blocks) for task in tasks
            )
            sample = None
            if needs_sample:
                sample = join_sample(client, blocks)
        results = run_groups(client, tasks, blocks, sample, listener or TrainingListener())
    binaries = [each.trained for each in dichotomies]
    scores: list[NDArray[np.float32] | None] = [None] * len(dichotomies)
    for group, result in zip(groups, results, strict=True):
        for column, i in enumerate(group):
            binaries[i] = result.binaries[column]
            if result.scores is not None:
                scores[i] = result.scores[:, column]
    shared = share_vectors([each for each in binaries if each is not None])
    return [Trained(*both) for both in zip(shared, scores, strict=True)]


def _can_be_sent(options: TrainingOptions, folds: Folds | None) -> bool:
    """Return whether a task can carry the options: plain folds, and no argument but weights."""
    if options.arguments.fit_params or options.arguments_by_model:
        return False
    if folds is None:
        return True
    numbers = np.arange(folds.n_folds)[:, np.newaxis]
    return np.array_equal(folds.is_trained_on, numbers != folds.fold_of)


def _blocks_of(
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
    folds: Folds | None,
) -> list[RowBlock]:
    """Return the rows of each class."""
    weight = options.arguments.sample_weight
    if weight is not None:
        weight = check_weights(weight, count_rows(X))
    is_scored = np.zeros(count_rows(X), dtype=np.bool_)
    if folds is not None:
        is_scored[folds.scored] = True
    return [
        RowBlock(
            take_rows(X, rows),
            rows.astype(np.int64),
            np.full(len(rows), k, dtype=np.intp),
            None if weight is None else weight[rows],
            None if folds is None else folds.fold_of[rows].astype(np.int16),
            None if folds is None else is_scored[rows],
            None if folds is None or folds.weight is None else folds.weight[rows],
        )
        for k, rows in enumerate(rows_of_class)
    ]
