"""A bank: many trained binaries evaluated as one.

Support vector machines, linear models and models with several sides have their own groups. The
group here is for binaries that are evaluated one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from polytomy.calibration.calibrators import LogisticMap
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import PRECISIONS, Parameter, count_things
from polytomy.inputs.rows import unchangeable
from polytomy.inputs.training_data import Samples
from polytomy.learners.linear.evaluation import (
    LinearGroup,
    LinearMember,
    LinearSides,
    linear_member,
    side_members,
)
from polytomy.learners.preparation import name_kind, split_pipeline
from polytomy.learners.scaling import export_steps
from polytomy.learners.sides import SidesGroup
from polytomy.learners.svm.evaluation import KernelGroup, KernelMember, is_exact, kernel_member
from polytomy.learners.svm.kernels import name_kernels
from polytomy.learners.trained import (
    METHODS,
    Output,
    TrainedBinary,
    decisions_from_scores,
    export_decisions,
)
from polytomy.onnx_conversion import ConversionError, export_estimator
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine


class GenericGroup:
    """Binaries that cannot be evaluated together.

    Parameters
    ----------
    columns : array of int
        Positions of the members among the binaries of the bank.
    members : sequence of TrainedBinary
    """

    def __init__(self, columns: NDArray[np.intp], members: Sequence[TrainedBinary]) -> None:
        self.columns = columns
        self._binaries = members

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the binaries' own `scores`, of shape (n_samples, n_members)."""
        scores = np.empty((samples.n_rows, len(self._binaries)))
        if effective_n_jobs(n_jobs) == 1:
            for column, binary in enumerate(self._binaries):
                scores[:, column] = binary.scores(unchangeable(samples.raw))
            return scores
        tasks = (delayed(binary.scores)(samples.raw) for binary in self._binaries)
        for column, answer in enumerate(Parallel(n_jobs=n_jobs)(tasks)):
            scores[:, column] = answer
        return scores

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return the scores as a graph; ArgumentError if an estimator cannot be converted."""
        return graph.join([_export_binary(graph, X, binary) for binary in self._binaries])


def _export_binary(graph: Graph, X: Value, binary: TrainedBinary) -> Value:
    """Return the scores of one binary as a graph, of shape (n_samples, 1)."""
    if binary.output is Output.CONSTANT:
        return graph.repeat(np.array([binary.constant]), X)
    try:
        before, last = split_pipeline(binary.estimator)
        if before:
            samples = export_steps(graph, X, before)
            (group,) = Bank([replace(binary, estimator=last)])._groups
            return group.to_onnx(graph, samples)
        if binary.output is Output.LABEL:
            raise ConversionError("it has no probabilities")
        result = export_estimator(graph, X, binary.estimator, METHODS[binary.output])
    except ConversionError as error:
        raise ArgumentError(_describe_unexported(binary, str(error))) from error
    sign = 1.0 if binary.positive_index == 1 else -1.0
    if binary.output is Output.MARGIN:
        return result.take(np.array([-1]), axis=1) * sign
    if binary.output is Output.LOG_ODDS:
        result = graph.add("Log", graph.add("Max", result, float(np.finfo(np.float64).eps)))
    return result @ (sign * np.array([[-1.0], [1.0]]))


def _describe_unexported(binary: TrainedBinary, reason: str) -> str:
    kind = name_kind(binary.estimator)
    kernel = getattr(binary.estimator, "kernel", None)
    if kernel is not None:
        kind = f"{kind} with kernel {getattr(kernel, '__name__', kernel)}"
    output = f" with the output {binary.output}" if binary.output is not Output.MARGIN else ""
    return (
        f'binary "{binary.name}" is a {kind}{output}, which cannot be exported: {reason}. Fit with '
        f"SVC or NuSVC (kernel {name_kernels()}; without probability=True), a linear classifier, "
        "or an estimator that skl2onnx or onnxmltools converts, such as a forest."
    )


_Member = TypeVar("_Member")

_DTYPE = Parameter("dtype", choices=PRECISIONS)


class Group(Protocol):
    """Some binaries of a bank, evaluated together."""

    columns: NDArray[np.intp]

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the scores of its binaries, of shape (n_samples, n_columns)."""
        ...

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return the scores of its binaries as a graph, or raise an ArgumentError."""
        ...


class Bank:
    """Many trained binaries evaluated as one: the same answers, but faster.

    Support vector machines with the same kernel share their support vectors, linear models share
    one matrix product, and other binaries are evaluated one by one. In double precision, answers
    equal the binaries' own answers to 1e-9. The groups are formed at the first call, and again
    after unpickling, because only the binaries are pickled.

    Parameters
    ----------
    binaries : sequence of TrainedBinary
    dtype : float64 or float32, default=float64
        Precision of inner products and distances. In single precision, the error of a support
        vector machine's decision values is about 1e-6 of the sum of its coefficients.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from polytomy.learners.trained import adopt_fitted
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> low = adopt_fitted(SVC().fit(X, [-1, 1, 1, 1]), [0], [1, 2, 3], name="low")
    >>> high = adopt_fitted(SVC().fit(X, [-1, -1, -1, 1]), [0, 1, 2], [3], name="high")
    >>> Bank([low, high]).scores(X[:2]).round(2)
    array([[ 0.03, -1.  ],
           [ 1.  , -1.11]])
    >>> high.scores(X[:2]).round(2)
    array([-1.  , -1.11])
    """

    def __init__(self, binaries: Sequence[TrainedBinary], dtype: Any = np.float64) -> None:
        self.binaries = tuple(binaries)
        self.dtype = np.dtype(dtype)
        _DTYPE.check(str(self.dtype))

    def scores(self, X: Any, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the scores of each binary, as :meth:`TrainedBinary.scores` does.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n_samples, n_features)
        n_jobs : int, optional
            Number of joblib jobs for binaries that are evaluated one by one, and for models with
            several sides. The others use the threads of compiled routines and of BLAS.

        Returns
        -------
        array of shape (n_samples, n_binaries)
        """
        samples = Samples(X)
        if len(self._groups) == 1 and len(self._groups[0].columns) == len(self.binaries):
            return self._groups[0].scores(samples, n_jobs)
        scores = np.empty((samples.n_rows, len(self.binaries)))
        groups = self._groups
        if effective_n_jobs(n_jobs) > 1:
            sided = [group for group in groups if isinstance(group, SidesGroup)]
            answers = Parallel(n_jobs=n_jobs)(delayed(each.scores)(samples) for each in sided)
            for each, own in zip(sided, answers, strict=True):
                scores[:, each.columns] = own
            groups = [group for group in groups if group not in sided]
        for group in groups:
            scores[:, group.columns] = group.scores(samples, n_jobs)
        return scores

    def decisions(self, X: Any, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the calibrated answers r = P(+1) − P(−1), of shape (n_samples, n_binaries)."""
        scores = self.scores(X, n_jobs)
        if self._logistic_maps is None:
            return decisions_from_scores(self.binaries, scores)
        # The usual case: one pass over the scores, in place.
        routine("answer_logistic", "banks")(scores, *self._logistic_maps)
        return scores

    def decide_pairs(
        self,
        X: Any,
        rows: NDArray[np.intp],
        columns: NDArray[np.intp],
        sides: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """Return `decisions[rows, columns]`, without most of the others.

        Parameters
        ----------
        X : samples
        rows, columns : arrays of shape (n_pairs,)
        sides : array of shape (n_binaries, 2)
            The class of the negative and of the positive side, or −1 if it has several.
        """
        samples = Samples(X)
        decisions = np.empty(len(rows))
        for group in self._groups:
            member_of = np.full(len(self.binaries), -1)
            member_of[group.columns] = np.arange(len(group.columns))
            members = member_of[columns]
            own = members >= 0
            if isinstance(group, KernelGroup):
                decisions[own] = group.score_pairs(samples, rows[own], members[own], sides)
            elif own.any():
                decisions[own] = group.scores(samples)[rows[own], members[own]]
        if self._logistic_maps is not None:
            slopes, intercepts = self._logistic_maps
            return np.tanh((slopes[columns] * decisions + intercepts[columns]) / 2)
        for column in np.unique(columns):
            own = columns == column
            scores = decisions[own, np.newaxis]
            decisions[own] = decisions_from_scores([self.binaries[column]], scores)[:, 0]
        return decisions

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return `decisions` as a graph, for samples X; ArgumentError if a binary has no graph."""
        scores = graph.join([group.to_onnx(graph, X) for group in self._groups])
        order = np.argsort(np.concatenate([group.columns for group in self._groups]))
        ordered = graph.pick(scores, order, len(self.binaries))
        return export_decisions(graph, ordered, self.binaries)

    def pair_votes(
        self, X: Any, negative: NDArray[np.intp], positive: NDArray[np.intp], n_classes: int
    ) -> NDArray[np.float64] | None:
        """Return for each class the number of pairs that it wins minus the number that it loses.

        Return None unless all binaries are linear. The result also follows from `decisions`, but
        this is faster, because the sign of an answer needs no logistic function.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n_samples, n_features)
        negative, positive : arrays of shape (n_binaries,), the two classes of each binary
        n_classes : number of classes

        Returns
        -------
        array of shape (n_samples, n_classes), or None
        """
        if len(self._groups) != 1 or not isinstance(self._groups[0], LinearGroup):
            return None
        samples = Samples(X)
        votes = np.zeros((samples.n_rows, n_classes))
        # The columns of a single group are all binaries, in order.
        return votes if self._groups[0].add_pair_votes(samples, negative, positive, votes) else None

    @cached_property
    def _logistic_maps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Slopes and intercepts of all calibrators, or None if some are not logistic maps."""
        maps: list[Any] = [binary.calibrator for binary in self.binaries]
        if not maps or not all(isinstance(each, LogisticMap) for each in maps):
            return None
        slopes = np.array([each.slope_ for each in maps])
        return slopes, np.array([each.intercept_ for each in maps])

    @cached_property
    def _groups(self) -> list[Group]:
        machines: dict[Hashable, list[tuple[int, KernelMember]]] = {}
        linear_models: dict[Hashable, list[tuple[int, LinearMember]]] = {}
        remaining: list[tuple[int, TrainedBinary]] = []
        sided: dict[int, list[tuple[int, TrainedBinary]]] = {}
        for column, binary in enumerate(self.binaries):
            if binary.is_side:
                sided.setdefault(id(binary.estimator), []).append((column, binary))
                continue
            machine = kernel_member(binary)
            # A machine with a linear kernel is a linear model, which is faster to evaluate.
            is_linear = machine is None or machine.kernel.kind == "linear"
            if is_linear and (linear := linear_member(binary)) is not None:
                linear_models.setdefault(linear.key, []).append((column, linear))
            elif machine is not None:
                machines.setdefault(machine.key, []).append((column, machine))
            else:
                remaining.append((column, binary))
        groups: list[Group] = [LinearGroup(*_separate(each)) for each in linear_models.values()]
        for each in machines.values():
            if is_exact([member for _, member in each]):
                groups.append(KernelGroup(*_separate(each), self.dtype))
            else:
                remaining += [(column, member.binary) for column, member in each]
        linear_sides: dict[Hashable, list[tuple[SidesGroup, list[LinearMember]]]] = {}
        for members in sided.values():
            group = SidesGroup(*_separate(members))
            if linear_values := side_members(group.model):
                own = linear_sides.setdefault(linear_values[0].key, [])
                own.append((group, linear_values))
            else:
                groups.append(group)
        groups += [LinearSides(*zip(*each, strict=True)) for each in linear_sides.values()]
        if remaining:
            groups.append(GenericGroup(*_separate(remaining)))
        return groups

    def __reduce__(self) -> tuple[type[Bank], tuple[Any, ...]]:
        return Bank, (self.binaries, self.dtype)

    def __repr__(self) -> str:
        return f"<Bank of {count_things(len(self.binaries), 'binary', 'binaries')}>"


def _separate(
    numbered: Sequence[tuple[int, _Member]],
) -> tuple[NDArray[np.intp], list[_Member]]:
    columns = np.array([column for column, _ in numbered], dtype=np.intp)
    return columns, [member for _, member in numbered]
