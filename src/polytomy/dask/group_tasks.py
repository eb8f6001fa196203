"""Groups of dichotomies, each trained in one task by a worker that has only the rows they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn import config_context, get_config

from polytomy.dask.cluster import gather_as_completed, name_task, sending_data
from polytomy.dask.grouping import RowBlock, join_blocks, take_scored, weight_rows
from polytomy.inputs.rows import group_rows
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.problems import Dichotomy, group_sides
from polytomy.learners.svm.machines import KernelMachine, VectorPool, pool_by_bytes
from polytomy.learners.svm.suitability import (
    UnsuitableError,
    check_suitable,
)
from polytomy.learners.trained import TrainedBinary
from polytomy.learners.workload import FitArguments, Trained, TrainingListener, TrainingOptions
from polytomy.model.fitting import train_dichotomies

# Small problems are grouped until they have this many samples, so that training them takes
# longer than starting a task. Small support vector machines are trained particularly fast.
_ENOUGH, _ENOUGH_FOR_MACHINES = 2**11, 2**13

# At most this many machines with most rows in common share a kernel matrix, so that there is work
# for several workers, and only if the matrix has at most this many bytes.
_MOST_TOGETHER = 4
_LARGEST_MATRIX = 2**30


@dataclass(frozen=True, slots=True, eq=False)
class TaskOptions:
    """What all tasks of a fit have in common.

    Attributes
    ----------
    class_labels : array of all labels
    training : TrainingOptions, without arguments
    n_folds : number of folds that all binaries share; None if there are none
    is_only_part : bool, whether the only fold is a part that is held out permanently
    class_weight : dict of labels and weights, optional
    routes_metadata : bool, whether scikit-learn's metadata routing is on
    """

    class_labels: NDArray[Any]
    training: TrainingOptions
    n_folds: int | None = None
    is_only_part: bool = False
    class_weight: Mapping[Any, float] | None = None
    routes_metadata: bool = field(default_factory=lambda: get_config()["enable_metadata_routing"])


@dataclass(frozen=True, slots=True, eq=False)
class GroupTask:
    """Dichotomies that are trained together.

    Attributes
    ----------
    dichotomies : tuple of Dichotomy, untrained, with sides as class indices
    seeds : tuple, one seed for each of them
    options : TaskOptions
    """

    dichotomies: tuple[Dichotomy, ...]
    seeds: tuple[int | None, ...]
    options: TaskOptions


class GroupResult(NamedTuple):
    """The result of a task.

    Attributes
    ----------
    trained : list of Trained
    notes : sentences about how the binaries were trained
    """

    trained: list[Trained]
    notes: list[str]


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
                    GroupTask(members, tuple(seeds[i] for i in group), options),
                    [blocks[k] for k in classes],
                    None if len(classes) == len(blocks) else sample,
                    key=name_task(f"train {members[0].name}"),
                )
            )
    found = {
        i: Trained(each.trained) for i, each in enumerate(dichotomies) if each.trained is not None
    }
    notes: dict[int, list[str]] = {}
    for number, result in gather_as_completed(client, futures):
        found |= zip(groups[number], result.trained, strict=True)
        notes[number] = result.notes
        for i in groups[number]:
            listener.trained(dichotomies[i].name)
    for note in dict.fromkeys(chain(*(notes[number] for number in sorted(notes)))):
        listener.note(note)
    shared = share_vectors([found[i].binary for i in range(len(dichotomies))])
    return [found[i]._replace(binary=binary) for i, binary in enumerate(shared)]


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
    machines: dict[int, bool] = {}
    groups: list[list[int]] = []
    kind_of_last, load_of_last = "", 0
    for unit in group_sides(dichotomies, left):
        members = [dichotomies[i] for i in unit]
        n_samples = int(sizes[list(classes_of(members))].sum())
        estimator = members[0].estimator
        if id(estimator) not in machines:
            machines[id(estimator)] = _is_machine(estimator)
        is_machine = machines[id(estimator)] and members[0].is_binary
        kind, limit = ("machine", _ENOUGH_FOR_MACHINES) if is_machine else ("other", _ENOUGH)
        if is_machine and 2 * n_samples > n_rows and 8 * n_rows**2 <= _LARGEST_MATRIX:
            # Such machines have most rows in common, and share their kernel values.
            limit = max(limit, _MOST_TOGETHER * n_samples)
        load = n_samples * len(unit)
        if groups and kind == kind_of_last and load_of_last + load <= limit:
            groups[-1] += unit
            load_of_last += load
        else:
            groups.append(unit)
            kind_of_last, load_of_last = kind, load
    return groups


def _is_machine(estimator: Any) -> bool:
    try:
        check_suitable(estimator)
    except UnsuitableError:
        return False
    return True


def train_group(
    task: GroupTask, blocks: Sequence[RowBlock], sample: RowBlock | None = None
) -> GroupResult:
    """Train the dichotomies of a task.

    Parameters
    ----------
    task : GroupTask
    blocks : the rows of the classes that its dichotomies separate
    sample : RowBlock, optional
        Rows of all classes that every binary scores; rows that are also in `blocks` count once.
    """
    options = task.options
    block = join_blocks([*blocks, *([] if sample is None else [sample])])
    block = weight_rows(block, options.class_labels, options.class_weight)
    folds = None
    if options.n_folds is not None:
        folds = block.make_folds(options.n_folds, is_only_part=options.is_only_part)
    arguments = FitArguments(block.weight if len(block.rows) else None)
    notes = _Notes()
    # Workers are daemons, which cannot start processes.
    with (
        config_context(enable_metadata_routing=options.routes_metadata),
        parallel_config("threading"),
    ):
        trained = train_dichotomies(
            task.dichotomies,
            group_rows(block.class_indices, len(options.class_labels)),
            block.X,
            replace(options.training, arguments=arguments),
            folds,
            task.seeds,
            notes,
        )
    return GroupResult(trained, notes.sentences)


class _Notes(TrainingListener):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def note(self, text: str) -> None:
        self.sentences.append(text)


def share_vectors(binaries: Sequence[TrainedBinary]) -> list[TrainedBinary]:
    """Return the binaries with one pool of vectors for all machines of all tasks.

    Each vector is stored once, so prediction computes its kernel values once.
    """
    shared = list(binaries)
    for sparse in (False, True):
        chosen = [
            (i, each.estimator)
            for i, each in enumerate(binaries)
            if isinstance(each.estimator, KernelMachine)
            and is_sparse(each.estimator.pool.vectors) == sparse
        ]
        pools = {id(machine.pool): machine.pool for _, machine in chosen}
        if len(pools) < 2:
            continue
        union = pool_by_bytes([pool.vectors for pool in pools.values()])
        together = VectorPool(union.vectors)
        places = dict(zip(pools, union.places, strict=True))
        for i, machine in chosen:
            support = places[id(machine.pool)][machine.support_]
            machine = replace(machine, pool=together, support_=support)
            shared[i] = replace(binaries[i], estimator=machine)
    return shared
