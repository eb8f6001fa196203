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

from polytomy.calibration.folds import Folds
from polytomy.dask.cluster import explaining_faults, name_task, pass_on, sending_data
from polytomy.dask.group_tasks import (
    TaskOptions,
    classes_of,
    divide_into_groups,
    join_sample,
    train_groups,
)
from polytomy.dask.row_blocks import RowBlock
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.learners.preparation import takes_pairwise_values
from polytomy.learners.problems import Dichotomy
from polytomy.learners.workload import Trained, TrainingListener, TrainingOptions
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
    to_train = [each for each in dichotomies if each.trained is None]
    is_pairwise = any(takes_pairwise_values(each.estimator) for each in to_train)
    if not to_train or is_pairwise or not _can_be_sent(options, folds):
        return train_dichotomies(dichotomies, rows_of_class, X, options, folds, seeds, listener)
    backend, _ = get_active_backend()
    client = backend.client
    groups = divide_into_groups(dichotomies, [len(rows) for rows in rows_of_class])
    sent = TaskOptions(
        np.arange(len(rows_of_class)),
        replace(options.without_rows(), n_jobs=1, cv=2),
        None if folds is None else folds.n_folds,
        folds is not None and folds.is_only_part,
    )
    with explaining_faults(client), backend.retrieval_context():
        with sending_data():
            blocks = {
                k: client.submit(pass_on, block, key=name_task("rows of a class"))
                for k, block in enumerate(_blocks_of(rows_of_class, X, options, folds))
            }
        has_all = [len(classes_of([dichotomies[i] for i in g])) == len(blocks) for g in groups]
        sample = None if folds is None or all(has_all) else join_sample(client, blocks)
        return train_groups(
            client, dichotomies, groups, seeds, sent, blocks, sample, listener or TrainingListener()
        )


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
