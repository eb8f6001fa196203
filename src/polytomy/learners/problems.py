"""Dichotomies and their problems: training samples and sides, one problem or several in a row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.folds import Folds
from polytomy.learners.trained import TrainedBinary
from polytomy.scheme import BinaryName
from polytomy.scheme.nodes import set_key

_FEW_ROWS = 200
_FEW_ROWS_EACH = 16


@dataclass(frozen=True, slots=True, eq=False)
class BinaryProblem:
    """One dichotomy of the training data, as row numbers, without a copy of the data.

    Attributes
    ----------
    name : str
        Name of the partition, for messages.
    rows : array of shape (n_samples,)
        Rows of the training data in the problem, ascending.
    is_positive : bool array of shape (n_samples,)
        Whether each row is on the +1 side.
    """

    name: str
    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]

    @property
    def targets(self) -> NDArray[np.int64]:
        """−1 or +1 for each row."""
        return self.labelled((-1, 1))

    def labelled(self, sides: tuple[int, int]) -> NDArray[np.int64]:
        """Return the label of each row's side; `sides` has the labels of the −1 and +1 side."""
        return np.where(self.is_positive, sides[1], sides[0])

    @property
    def sides(self) -> NDArray[np.bool_]:
        """The side of each row, as a problem of two sides."""
        return self.is_positive

    @property
    def n_sides(self) -> int:
        """Number of sides."""
        return 2

    @property
    def n_samples(self) -> int:
        """Number of samples in the problem."""
        return len(self.rows)

    @property
    def n_positive(self) -> int:
        """Number of samples on the +1 side."""
        return int(np.count_nonzero(self.is_positive))

    @property
    def n_negative(self) -> int:
        """Number of samples on the −1 side."""
        return self.n_samples - self.n_positive

    @property
    def has_both_sides(self) -> bool:
        """Whether both sides have samples."""
        return 0 < self.n_positive < self.n_samples

    @property
    def smaller_side(self) -> int:
        """Number of samples on the smaller side."""
        return min(self.n_negative, self.n_positive)

    def keep(self, mask: NDArray[np.bool_]) -> BinaryProblem:
        """Return the problem with only the samples where `mask` is true."""
        return BinaryProblem(self.name, self.rows[mask], self.is_positive[mask])


def binary_problem(
    rows_of_class: Sequence[NDArray[np.intp]],
    negative: Sequence[int],
    positive: Sequence[int],
    *,
    name: str,
) -> BinaryProblem:
    """Return the problem of separating the classes on the two sides of a partition.

    The cost depends on the number of samples in the problem, not in the whole training data.

    Parameters
    ----------
    rows_of_class : sequence of arrays
        As :func:`polytomy.inputs.rows.group_rows` returns them.
    negative, positive : sequences of int
        Class indices of the −1 and of the +1 side.
    name : str
        Name of the partition.

    Examples
    --------
    >>> from polytomy.inputs.rows import group_rows
    >>> rows_of_class = group_rows(np.array([2, 0, 1, 0]), 3)
    >>> problem = binary_problem(rows_of_class, negative=[0], positive=[2], name="a-00")
    >>> problem.rows, problem.targets
    (array([0, 1, 3]), array([ 1, -1, -1]))
    """
    below = [rows_of_class[k] for k in negative]
    above = [rows_of_class[k] for k in positive]
    rows = np.concatenate([*below, *above]) if below or above else np.empty(0, dtype=np.intp)
    n_below = sum(map(len, below))
    # Keep the order of the data, so that the fit is the same as on a masked copy of the data.
    if len(rows) <= _FEW_ROWS or (n_rows := int(rows.max()) + 1) > _FEW_ROWS_EACH * len(rows):
        order = rows.argsort()
        return BinaryProblem(name, rows[order], order >= n_below)
    # Marking rows is several times faster than sorting them, unless there are few.
    sides = np.full(n_rows, -1, dtype=np.int8)
    sides[rows] = np.arange(len(rows)) >= n_below
    ordered = np.flatnonzero(sides >= 0)
    return BinaryProblem(name, ordered, sides[ordered] == 1)


@dataclass(frozen=True, slots=True, eq=False)
class SidesProblem:
    """The training samples of a partition with several sides, as row numbers.

    Attributes
    ----------
    name : name of the partition, for messages
    rows : array of shape (n_samples,), rows of the training data, ascending
    sides : array of shape (n_samples,), the side of each row
    n_sides : int
    """

    name: str
    rows: NDArray[np.intp]
    sides: NDArray[np.intp]
    n_sides: int

    def keep(self, mask: NDArray[np.bool_]) -> SidesProblem:
        """Return the problem with only the samples where `mask` is true."""
        return replace(self, rows=self.rows[mask], sides=self.sides[mask])


def sides_problem(
    rows_of_class: Sequence[NDArray[np.intp]], sides: Sequence[Sequence[int]], *, name: str
) -> SidesProblem:
    """Return the problem of separating the classes on the sides of a partition.

    Parameters
    ----------
    rows_of_class : as `polytomy.inputs.rows.group_rows` returns them
    sides : class indices of each side
    name : name of the partition
    """
    parts = [(side, rows_of_class[k]) for side, classes in enumerate(sides) for k in classes]
    nothing = np.empty(0, dtype=np.intp)
    rows = np.concatenate([nothing, *[rows for _, rows in parts]])
    numbers = np.repeat([side for side, _ in parts], [len(rows) for _, rows in parts])
    # Keep the order of the data, so that the fit is the same as on a masked copy of the data.
    order = np.argsort(rows)
    return SidesProblem(name, rows[order], numbers[order].astype(np.intp), len(sides))


Problem = BinaryProblem | SidesProblem
"""The training samples of a partition."""


def balance_sides(
    problem: Problem, sample_weight: NDArray[np.float64] | None, n_rows: int
) -> NDArray[np.float64]:
    """Return weights that give all sides of the problem the same total weight.

    The sum of all weights does not change, as with scikit-learn's ``class_weight="balanced"``. Only
    sides with samples count.

    Parameters
    ----------
    problem : Problem
    sample_weight : array of shape (n_rows,), optional
        Weights before balancing, one for each row of the training data.
    n_rows : int
        Number of rows of the training data.

    Returns
    -------
    array of shape (n_rows,)
        Rows outside the problem keep their weights.

    Examples
    --------
    >>> problem = BinaryProblem("a-00", np.array([0, 1, 3]), np.array([True, False, False]))
    >>> balance_sides(problem, None, n_rows=4)
    array([1.5 , 0.75, 1.  , 0.75])
    """
    balanced = np.ones(n_rows) if sample_weight is None else sample_weight.astype(np.float64)
    members = [problem.rows[problem.sides == side] for side in range(problem.n_sides)]
    totals = [balanced[rows].sum() for rows in members]
    share = sum(totals) / max(1, np.count_nonzero(totals))
    for rows, total in zip(members, totals, strict=True):
        if total:
            balanced[rows] *= share / total
    return balanced


class ProblemList:
    """The binary problems of dichotomies, created on demand: together they may exceed memory.

    All problems that contain all rows share one array of row numbers.

    Parameters
    ----------
    rows_of_class : sequence of arrays, as `polytomy.inputs.rows.group_rows` returns them
    names : names of the partitions
    negative, positive : for each partition the class indices of its two sides

    Attributes
    ----------
    sizes : array of shape (n_problems,), number of samples of each problem

    Examples
    --------
    >>> from polytomy.inputs.rows import group_rows
    >>> rows_of_class = group_rows(np.array([2, 0, 1, 0]), 3)
    >>> problems = ProblemList(rows_of_class, ["a", "b"], [[0], [0, 1]], [[1], [2]])
    >>> problems.sizes
    array([3, 4])
    >>> problems[1].is_positive
    array([ True, False, False, False])
    """

    def __init__(
        self,
        rows_of_class: Sequence[NDArray[np.intp]],
        names: Sequence[str],
        negative: Sequence[Sequence[int]],
        positive: Sequence[Sequence[int]],
    ) -> None:
        self.rows_of_class = rows_of_class
        self._names, self._negative, self._positive = names, negative, positive
        self._counts = np.array([len(rows) for rows in rows_of_class], dtype=np.intp)
        self.n_rows = int(self._counts.sum())
        self._all_rows = np.arange(self.n_rows)
        self._all_rows.flags.writeable = False

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Number of samples of each problem."""
        return np.array(
            [
                self._counts[np.asarray(below, dtype=np.intp)].sum()
                + self._counts[np.asarray(above, dtype=np.intp)].sum()
                for below, above in zip(self._negative, self._positive, strict=True)
            ],
            dtype=np.intp,
        )

    def __len__(self) -> int:
        return len(self._names)

    def part(self, numbers: Sequence[int]) -> ProblemList:
        """Return the list of some of the problems."""
        return ProblemList(
            self.rows_of_class,
            [self._names[k] for k in numbers],
            [self._negative[k] for k in numbers],
            [self._positive[k] for k in numbers],
        )

    def __getitem__(self, number: int) -> BinaryProblem:
        name, negative, positive = (
            self._names[number],
            self._negative[number],
            self._positive[number],
        )
        if len(negative) + len(positive) < len(self._counts):
            return binary_problem(self.rows_of_class, negative, positive, name=name)
        # Either side determines which rows are on it; the smaller one is faster.
        is_positive = np.zeros(self.n_rows, dtype=np.bool_)
        is_swapped = len(negative) < len(positive)
        for k in negative if is_swapped else positive:
            is_positive[self.rows_of_class[k]] = True
        if is_swapped:
            np.logical_not(is_positive, out=is_positive)
        return BinaryProblem(name, self._all_rows, is_positive)


class Dichotomy(NamedTuple):
    """Two groups of classes, and the estimator or trained model that separates them.

    Attributes
    ----------
    name : name of the partition, for messages
    negative, positive : positions of the classes on the −1 and on the +1 side, as tuples or, for
        more than 1024 classes, as `polytomy.scheme.nodes.ManyClasses`
    binary : the name or specification in the scheme
    estimator : estimator to clone for this partition
    trained : the trained binary, if the user provided one
    model : name under which the estimator was given; None for the default or a specification
    whole : the partition that this is one side of, if it has more than two
        The +1 side is this side, and the −1 side is all others.
    side : number of that side
    """

    name: str
    negative: Sequence[int]
    positive: Sequence[int]
    binary: BinaryName
    estimator: Any
    trained: TrainedBinary | None = None
    model: str | None = None
    whole: WholePartition | None = None
    side: int = 0

    @property
    def is_counted(self) -> bool:
        """Whether it counts as a model: of the sides of a partition, only the first does."""
        return self.side == 0

    @property
    def is_binary(self) -> bool:
        """Whether its partition has two sides, so that it has a model of its own."""
        return self.whole is None

    @property
    def partition(self) -> WholePartition:
        """Its partition, with two or more sides."""
        return self.whole or WholePartition(self.name, (self.negative, self.positive))

    @property
    def sides_key(self) -> tuple[Hashable, Hashable]:
        """What it separates, regardless of the order of its partition's sides."""
        positive = set_key(self.positive)
        if self.whole is None:
            return set_key(self.negative), positive
        return frozenset(map(set_key, self.whole.sides)), positive

    def translated(
        self,
        translate: Callable[[Sequence[int]], Sequence[int]],
        wholes: dict[WholePartition, WholePartition],
    ) -> Dichotomy:
        """Return the dichotomy of other class indices; `wholes` are the partitions so far."""
        whole = self.whole
        if whole is not None:
            if whole not in wholes:
                wholes[whole] = replace(whole, sides=tuple(map(translate, whole.sides)))
            whole = wholes[whole]
        negative, positive = translate(self.negative), translate(self.positive)
        return self._replace(negative=negative, positive=positive, whole=whole)


@dataclass(frozen=True, slots=True, eq=False)
class WholePartition:
    """A partition; one with more than two sides is shared by the dichotomies of its sides.

    Attributes
    ----------
    name : name of the partition, for messages
    sides : positions of the classes on each side
    """

    name: str
    sides: tuple[Sequence[int], ...]


def divide_partition(
    name: str,
    sides: tuple[Sequence[int], ...],
    binary: BinaryName,
    estimator: Any,
    trained: Sequence[TrainedBinary] | None,
    model: str | None,
) -> list[Dichotomy]:
    """Return one dichotomy for two sides, or one for each side if there are more."""
    if len(sides) == 2:
        own = None if trained is None else trained[0]
        return [Dichotomy(name, sides[0], sides[1], binary, estimator, own, model)]
    whole = WholePartition(name, sides)
    return [
        Dichotomy(
            f"{name}/{number}",
            tuple(k for other in (*sides[:number], *sides[number + 1 :]) for k in other),
            side,
            binary,
            estimator,
            None if trained is None else trained[number],
            model,
            whole,
            number,
        )
        for number, side in enumerate(sides)
    ]


def count_models(dichotomies: Iterable[Dichotomy]) -> int:
    """Return the number of models to train; the sides of a partition share one."""
    return sum(each.is_counted and each.trained is None for each in dichotomies)


def group_sides(dichotomies: Sequence[Dichotomy], positions: Iterable[int]) -> list[list[int]]:
    """Return groups of positions; sides of the same partition, which share a model, are together.

    Parameters
    ----------
    dichotomies : all dichotomies
    positions : which of them to group
    """
    groups: dict[Any, list[int]] = {}
    for i in positions:
        groups.setdefault(dichotomies[i].whole or i, []).append(i)
    return list(groups.values())


# -- problems that are trained together ----------------------------------------------------------
#
# A few operations on the samples of all problems replace many operations on each problem. For small
# problems, the latter would take longer than the training.


_Task = TypeVar("_Task")


@dataclass(frozen=True, eq=False)
class Batch:
    """The samples of several problems, one problem after the other.

    Attributes
    ----------
    rows : array of shape (n_samples,), the rows of the data
    is_positive : bool array of shape (n_samples,), their sides
    starts : array of shape (n_problems + 1,), the first sample of each problem, and the end
    sizes : array of shape (n_problems,), number of samples of each problem

    Examples
    --------
    >>> pair = BinaryProblem("pair", np.array([4, 7]), np.array([True, False]))
    >>> Batch.of([pair, pair]).starts
    array([0, 2, 4])
    """

    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]

    @classmethod
    def of(cls, problems: Sequence[BinaryProblem]) -> Batch:
        """Return the samples of several problems. No problem may be empty."""
        sizes = np.array([problem.n_samples for problem in problems], dtype=np.intp)
        return cls(
            np.concatenate([problem.rows for problem in problems]),
            np.concatenate([problem.is_positive for problem in problems]),
            np.concatenate([[0], np.cumsum(sizes)]),
            sizes,
        )

    @cached_property
    def problem_of(self) -> NDArray[np.intp]:
        """The problem of each sample."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def count(self, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return how many samples of each problem a mask selects.

        Parameters
        ----------
        mask : bool array of shape (..., n_samples)

        Returns
        -------
        array of shape (..., n_problems)
        """
        counts: NDArray[np.intp] = np.add.reduceat(mask, self.starts[:-1], axis=-1, dtype=np.intp)
        return counts


def divide_into_batches(
    tasks: Sequence[_Task], sizes: Sequence[int], most_samples: int, most_tasks: int
) -> Iterator[list[_Task]]:
    """Yield consecutive tasks whose problems fit in one batch; a batch has at least one task.

    Parameters
    ----------
    tasks : tasks, one for each problem
    sizes : number of samples of each problem
    most_samples, most_tasks : largest size of a batch
    """
    batch: list[_Task] = []
    n_samples = 0
    for task, size in zip(tasks, sizes, strict=True):
        if batch and (n_samples + size > most_samples or len(batch) >= most_tasks):
            yield batch
            batch, n_samples = [], 0
        batch.append(task)
        n_samples += size
    if batch:
        yield batch


class BatchFolds(NamedTuple):
    """The folds of a batch of problems: which models to train, and which of them score what.

    Model 0 is trained on all samples, and model f + 1 without those that fold f holds out.

    Attributes
    ----------
    is_kept : bool array of shape (n_models, n_samples), the samples to train each model on
    is_trained : bool array of shape (n_folds, n_problems)
        False if the fold keeps all samples of a problem, so that model 0 serves as its model, or if
        the fold gives a constant score.
    constants : array of shape (n_folds, n_problems)
        The score that the fold gives to every row if a side has no samples to train on: 1 if only
        the +1 side has some, −1 if only the −1 side has, 0 if neither has, as in LIBSVM. Otherwise
        NaN.
    samples : array of shape (n_held_out,), the samples that are held out, ascending
    fold_of : array of shape (n_held_out,), the fold that holds out each of them
    """

    is_kept: NDArray[np.bool_]
    is_trained: NDArray[np.bool_]
    constants: NDArray[np.float64]
    samples: NDArray[np.intp]
    fold_of: NDArray[np.intp]

    @classmethod
    def of(cls, batch: Batch, folds: Folds | None) -> BatchFolds:
        """Return the folds of the problems of a batch; without folds, only model 0 is trained."""
        if folds is None:
            folds = Folds.from_numbers(np.full(int(batch.rows.max()) + 1, -1))
        is_kept = folds.is_trained_on[:, batch.rows]
        n_kept, n_positive = batch.count(is_kept), batch.count(is_kept & batch.is_positive)
        is_constant = (n_positive == 0) | (n_positive == n_kept)
        constants = np.where(is_constant, np.sign(2.0 * n_positive - n_kept), np.nan)
        is_trained = ~is_constant & (n_kept < batch.sizes)
        if is_constant.any():
            # These models are not used. Keeping all samples is the least work.
            is_kept = is_kept | is_constant[:, batch.problem_of]
        fold_of = folds.fold_of[batch.rows]
        (samples,) = (fold_of >= 0).nonzero()
        return cls(
            np.concatenate([np.ones((1, len(batch.rows)), dtype=np.bool_), is_kept]),
            is_trained,
            constants,
            samples,
            fold_of[samples],
        )

    def hold_out_both_sides(self, batch: Batch) -> NDArray[np.bool_]:
        """Return whether samples of both sides of each problem are held out."""
        problems, n_problems = batch.problem_of[self.samples], len(batch.sizes)
        n_all = np.bincount(problems, minlength=n_problems)
        n_positive = np.bincount(problems, batch.is_positive[self.samples], n_problems)
        return np.asarray((n_positive > 0) & (n_positive < n_all))

    def model_of(self, batch: Batch) -> NDArray[np.intp]:
        """Return the model that scores each held-out sample for a calibrator.

        If a fold has only one side to train on, its constant score says nothing about how scores
        relate to sides. The model of all samples is used instead.
        """
        is_trained = self.is_trained[self.fold_of, batch.problem_of[self.samples]]
        return np.where(is_trained, self.fold_of + 1, 0)
