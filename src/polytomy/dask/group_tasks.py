"""Blocks of training rows with their positions in the whole data, to be sent to workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn import config_context

from polytomy.calibration.folds import Folds
from polytomy.inputs.numbers import class_weights
from polytomy.inputs.rows import group_rows, merge_rows, take_rows
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.bank import Bank
from polytomy.learners.options import FitArguments, TrainingListener, TrainingOptions
from polytomy.learners.problems import Dichotomy
from polytomy.learners.svm.machines import KernelMachine, VectorPool, pool_by_bytes
from polytomy.learners.svm.matrix import UnsuitableError, check_suitable
from polytomy.learners.trained import TrainedBinary
from polytomy.model.fitting import group_sides, train_dichotomies
from polytomy.model.out_of_fold import score_samples


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Some rows of the training data, such as those of one class.

    Attributes
    ----------
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    rows : array of shape (n_rows,), the indices of the rows in the whole data, ascending
    class_indices : array of shape (n_rows,)
    weight : array of shape (n_rows,), optional
    fold_of : array of shape (n_rows,), optional
        The fold that holds out each row; −1 for rows that are never held out.
    is_scored : bool array of shape (n_rows,), optional
        Whether every binary scores the row, for the final calibration.
    fold_weight : array of shape (n_rows,), optional
        Weights for calibration, in addition to those of training.
    """

    X: Any
    rows: NDArray[np.int64]
    class_indices: NDArray[np.intp]
    weight: NDArray[np.float64] | None = None
    fold_of: NDArray[np.int16] | None = None
    is_scored: NDArray[np.bool_] | None = None
    fold_weight: NDArray[np.float64] | None = None

    def keep(self, mask: NDArray[np.bool_]) -> RowBlock:
        """Return the rows where a mask is true."""
        if mask.all():
            return self
        chosen = np.flatnonzero(mask)
        columns: dict[str, Any] = {name: getattr(self, name) for name in _NAMES}
        kept: dict[str, Any] = {
            name: None if each is None else each[mask] for name, each in columns.items()
        }
        return replace(self, X=take_rows(self.X, chosen), rows=self.rows[mask], **kept)

    def without_samples(self) -> RowBlock:
        """Return everything but the samples."""
        return replace(self, X=None)


_NAMES = ("class_indices", "weight", "fold_of", "is_scored", "fold_weight")


def join_blocks(blocks: Sequence[RowBlock]) -> RowBlock:
    """Return the rows of several blocks in the order of the data, without duplicates.

    A binary that is trained on them is the same as one trained on the whole data.
    """
    if len(blocks) == 1:
        return blocks[0]
    numbers = [block.rows for block in blocks]
    rows, first = np.unique(np.concatenate(numbers), return_index=True)
    columns: dict[str, Any] = {}
    for name in _NAMES:
        values = [getattr(block, name) for block in blocks]
        is_there = all(each is not None for each in values)
        columns[name] = np.concatenate(values)[first] if is_there else None
    return RowBlock(merge_rows([block.X for block in blocks], numbers), rows, **columns)


def take_scored(block: RowBlock) -> RowBlock:
    """Return the rows of a block that every binary scores."""
    assert block.is_scored is not None
    return block.keep(block.is_scored)


# -- Groups of dichotomies trained in one task, on a worker that has only the rows they need --


# Small problems are grouped until they have this many samples, so that training them takes
# longer than starting a task. Small support vector machines are trained particularly fast.
_ENOUGH, _ENOUGH_FOR_MACHINES = 2**11, 2**13

# At most this many machines with most rows in common share a kernel matrix, so that there is work
# for several workers, and only if the matrix has at most this many bytes.
_MOST_TOGETHER = 4
_LARGEST_MATRIX = 2**30


@dataclass(frozen=True, slots=True, eq=False)
class GroupTask:
    """Dichotomies that are trained together.

    Attributes
    ----------
    dichotomies : tuple of Dichotomy, untrained, with sides as class indices
    seeds : tuple, one seed for each of them
    class_labels : array of all labels
    options : TrainingOptions, without arguments
    n_folds : number of folds that all binaries share; None if there are none
    is_only_part : bool, whether the only fold is a part that is held out permanently
    class_weight : dict of labels and weights, optional
    routes_metadata : bool, whether scikit-learn's metadata routing is on
    """

    dichotomies: tuple[Dichotomy, ...]
    seeds: tuple[int | None, ...]
    class_labels: NDArray[Any]
    options: TrainingOptions
    n_folds: int | None = None
    class_weight: Mapping[Any, float] | None = None
    routes_metadata: bool = False
    is_only_part: bool = False

    @property
    def classes(self) -> tuple[int, ...]:
        """The indices of the classes that the dichotomies separate, ascending."""
        return classes_of(self.dichotomies)

    @property
    def names(self) -> list[str]:
        """The names of the partitions."""
        return [each.name for each in self.dichotomies]


class GroupResult(NamedTuple):
    """The result of a task.

    Attributes
    ----------
    binaries : list of TrainedBinary
    scores : float32 array of shape (n_scored, n_binaries)
        Out-of-fold scores; None without folds, or if a fold could not be trained.
    notes : sentences about how the binaries were trained
    """

    binaries: list[TrainedBinary]
    scores: NDArray[np.float32] | None
    notes: list[str]


def classes_of(dichotomies: Sequence[Dichotomy]) -> tuple[int, ...]:
    """Return the indices of the classes that dichotomies separate, ascending."""
    return tuple(sorted({k for each in dichotomies for k in (*each.negative, *each.positive)}))


def divide_into_groups(
    dichotomies: Sequence[Dichotomy], positions: Sequence[int], class_sizes: Sequence[int]
) -> list[list[int]]:
    """Return which dichotomies to train in the same task.

    The groups depend on the data and the scheme but not on the workers, so neither do the results.

    Parameters
    ----------
    dichotomies : dichotomies with sides as class indices
    positions : which of them to train
    class_sizes : number of rows of each class

    Returns
    -------
    list of groups of positions
    """
    sizes = np.asarray(class_sizes)
    n_rows = int(sizes.sum())
    machines: dict[int, bool] = {}
    groups: list[list[int]] = []
    kind_of_last, load_of_last = "", 0
    for unit in group_sides(dichotomies, positions):
        members = [dichotomies[i] for i in unit]
        n_samples = int(sizes[list(classes_of(members))].sum())
        estimator = members[0].estimator
        if id(estimator) not in machines:
            machines[id(estimator)] = _is_machine(estimator)
        is_machine = machines[id(estimator)] and members[0].whole is None
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


class _Notes(TrainingListener):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def note(self, text: str) -> None:
        self.sentences.append(text)


def train_group(
    task: GroupTask, blocks: Sequence[RowBlock], sample: RowBlock | None = None
) -> GroupResult:
    """Train the dichotomies of a task.

    Parameters
    ----------
    task : GroupTask
    blocks : the rows of the task's classes
    sample : RowBlock, optional
        Rows of all classes that every binary scores; rows that are also in `blocks` count once.
    """
    block = join_blocks([*blocks, *([] if sample is None else [sample])])
    block = weight_rows(block, task.class_labels, task.class_weight)
    arguments = FitArguments(block.weight if len(block.rows) else None)
    folds = None if task.n_folds is None else _folds_of(block, task.n_folds, task.is_only_part)
    options = replace(task.options, arguments=arguments)
    notes = _Notes()
    # Workers are daemons, which cannot start processes.
    with config_context(enable_metadata_routing=task.routes_metadata), parallel_config("threading"):
        trained = train_dichotomies(
            task.dichotomies,
            group_rows(block.class_indices, len(task.class_labels)),
            block.X,
            options,
            folds,
            task.seeds,
            notes,
        )
    scores = None
    if folds is not None and all(each.scores is not None for each in trained):
        scores = score_samples(trained, block.X, folds)
    return GroupResult([each.binary for each in trained], scores, notes.sentences)


def weight_rows(
    block: RowBlock, class_labels: NDArray[Any], class_weight: Mapping[Any, float] | None
) -> RowBlock:
    """Return rows with their weights times their class weights, without rows of weight zero.

    Rows of weight zero are in no problem, and no binary scores them.
    """
    if block.weight is not None:
        block = block.keep(block.weight > 0)
    if class_weight is None or not len(block.rows):
        return block
    weight = class_weights(class_weight, class_labels, block.class_indices, block.weight)
    assert weight is not None
    return replace(block, weight=weight).keep(weight > 0)


def _folds_of(block: RowBlock, n_folds: int, is_only_part: bool) -> Folds:
    assert block.fold_of is not None
    assert block.is_scored is not None
    fold_of = block.fold_of.astype(np.intp)
    is_trained_on = np.arange(n_folds)[:, np.newaxis] != fold_of
    scored = np.flatnonzero(block.is_scored)
    return Folds(fold_of, is_trained_on, scored, is_only_part, block.fold_weight)


def score_given(binaries: Sequence[TrainedBinary], sample: RowBlock) -> NDArray[np.float32]:
    """Return the scores of binaries trained elsewhere, for the rows that every binary scores."""
    return Bank(binaries).scores(sample.X).astype(np.float32)


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
