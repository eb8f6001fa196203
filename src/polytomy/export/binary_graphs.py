"""Trained binaries as an ONNX graph: their decision values, and their calibration.

As in a bank, support vector machines with the same kernel share their vectors, and linear models
share one matrix product. The slope and intercept of a sigmoid are folded into the coefficients of
the decision value f: with t = slope·f + intercept, P(+1) − P(−1) = 2/(1 + e⁻ᵗ) − 1 = tanh(t/2).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from polytomy.calibration.calibrators import IsotonicCalibrator, LogisticMap
from polytomy.errors import Argument, ArgumentError
from polytomy.export.decision_values import dense, kernel_values, linear_values, scale_samples
from polytomy.export.sides_graph import answer_sides
from polytomy.learners.linear.evaluation import LinearMember, linear_member
from polytomy.learners.svm.evaluation import KernelMember, kernel_member, pool_vectors
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.onnx_graph import Graph, Value

__all__ = ["answer_binaries"]


def answer_binaries(graph: Graph, X: Value, binaries: Sequence[TrainedBinary]) -> Value:
    """Return r = P(+1) − P(−1) of all binaries, of shape (n_samples, n_binaries).

    Parameters
    ----------
    graph : Graph to add nodes to
    X : samples, in double precision
    binaries : one or more trained binaries

    Raises
    ------
    ArgumentError
        If a binary cannot be exported.
    """
    constants: dict[int, float] = {}
    maps: dict[int, _Map] = {}
    linears: list[tuple[int, LinearMember]] = []
    kernels: dict[Hashable, list[tuple[int, KernelMember]]] = {}
    sided: dict[Any, list[int]] = {}
    for column, binary in enumerate(binaries):
        if binary.output is Output.SIDE:
            sided.setdefault(binary.estimator, []).append(column)
            continue
        if binary.output is Output.CONSTANT:
            constants[column] = float(binary.decisions(np.zeros((1, 1)))[0])
            continue
        if binary.columns is None and (linear := linear_member(binary)) is not None:
            linears.append((column, linear))
        elif binary.columns is None and (machine := kernel_member(binary)) is not None:
            kernels.setdefault(machine.key, []).append((column, machine))
        else:
            raise ArgumentError(_describe_problem(binary))
        maps[column] = _map_of(binary)
    columns: list[int] = []
    scores: list[Value] = []
    if linears:
        numbers, members = zip(*linears, strict=True)
        columns += numbers
        scores.append(_linear_scores(X, members, [maps[number] for number in numbers]))
    for group in kernels.values():
        numbers, machines = zip(*group, strict=True)
        columns += numbers
        scores.append(_kernel_scores(graph, X, machines, [maps[number] for number in numbers]))
    answers = []
    if scores:
        answers.append(_calibrated(graph, graph.join(scores), [maps[each] for each in columns]))
    for model, numbers in sided.items():
        columns += numbers
        sides = np.array([binaries[number].positive_index for number in numbers])
        answers.append(graph.pick(answer_sides(graph, X, model), sides, model.n_sides))
    if constants:
        columns += constants
        answers.append(graph.repeat(np.array(list(constants.values())), X))
    return graph.pick(graph.join(answers), np.argsort(columns), len(binaries))


class _Map(NamedTuple):
    """The map from a decision value f to half the log-odds, slope·f + intercept.

    For an isotonic calibrator, slope and intercept leave f unchanged.
    """

    slope: float
    intercept: float
    isotonic: IsotonicCalibrator | None = None


def _map_of(binary: TrainedBinary) -> _Map:
    calibrator: Any = binary.calibrator
    if calibrator is None:  # its probabilities are the logistic function of f
        return _Map(0.5, 0.0)
    is_margin = binary.output is Output.MARGIN
    if is_margin and getattr(type(calibrator), "predict", None) is LogisticMap.predict:
        return _Map(0.5 * calibrator.slope_, 0.5 * calibrator.intercept_)
    if is_margin and type(calibrator) is IsotonicCalibrator:
        return _Map(1.0, 0.0, calibrator)
    raise ArgumentError(
        f'binary "{binary.name}" is calibrated by {calibrator!r}, which cannot be exported. Fit '
        "with ",
        Argument("calibration", "sigmoid"),
        ', "temperature" or "isotonic".',
    )


def _describe_problem(binary: TrainedBinary) -> str:
    kind = type(binary.estimator).__name__
    steps = getattr(binary.estimator, "steps", None)
    if steps is not None:
        kind = f"{kind} of {', '.join(type(step).__name__ for _, step in steps)}"
    kernel = getattr(binary.estimator, "kernel", None)
    if kernel is not None:
        kind = f"{kind} with kernel {getattr(kernel, '__name__', kernel)}"
    output = f" with the output {binary.output}" if binary.output is not Output.MARGIN else ""
    return (
        f'binary "{binary.name}" is a {kind}{output}, which cannot be exported. Fit with SVC or '
        "NuSVC (kernel linear, rbf, poly or sigmoid; without probability=True) or with a linear "
        "classifier; alone, or in a pipeline after StandardScaler, MaxAbsScaler, or MinMaxScaler "
        "without clip."
    )


def _linear_scores(X: Value, members: Sequence[LinearMember], maps: Sequence[_Map]) -> Value:
    """Return mapped decision values of linear models."""
    return linear_values(
        X,
        [
            dense(member.weights).ravel() * each.slope
            for member, each in zip(members, maps, strict=True)
        ],
        [
            member.intercept * each.slope + each.intercept
            for member, each in zip(members, maps, strict=True)
        ],
        [member.scaling for member in members],
    )


def _kernel_scores(
    graph: Graph, X: Value, members: Sequence[KernelMember], maps: Sequence[_Map]
) -> Value:
    """Return the decision values of machines with the same kernel and the same scaling."""
    intercepts = np.array(
        [
            member.intercept * each.slope + each.intercept
            for member, each in zip(members, maps, strict=True)
        ]
    )
    pool = pool_vectors(members)
    if not len(pool.rows):
        return graph.repeat(intercepts, X)
    coefficients = np.zeros((len(pool.rows), len(members)))
    for column, (member, places) in enumerate(zip(members, pool.places, strict=True)):
        # Add up, because a machine may have the same vector several times.
        np.add.at(coefficients[:, column], places, member.coefficients * maps[column].slope)
    vectors = dense(pool.vectors[pool.rows])
    samples = scale_samples(X, members[0].scaling)
    values = kernel_values(graph, samples, members[0].kernel, vectors)
    return values @ coefficients + intercepts


def _calibrated(graph: Graph, scores: Value, maps: Sequence[_Map]) -> Value:
    """Return P(+1) − P(−1) from the mapped decision values."""
    isotonic = [each.isotonic for each in maps if each.isotonic is not None]
    if not isotonic:
        return graph.add("Tanh", scores)
    if len(isotonic) == len(maps):
        return _interpolated(graph, scores, isotonic)
    is_isotonic = np.array([each.isotonic is not None for each in maps])
    places = np.flatnonzero(~is_isotonic), np.flatnonzero(is_isotonic)
    answers = [
        graph.add("Tanh", scores.take(places[0], axis=1)),
        _interpolated(graph, scores.take(places[1], axis=1), isotonic),
    ]
    return graph.pick(graph.join(answers), np.argsort(np.concatenate(places)), len(maps))


def _interpolated(graph: Graph, scores: Value, maps: Sequence[IsotonicCalibrator]) -> Value:
    """Return 2p − 1, where p is linear between the knots of each column and constant outside.

    Each interval adds its rise times the fraction of it that lies below the score. Columns with
    fewer intervals than others are padded with intervals that do not rise.
    """
    n_intervals = max(1, *(len(each.knots_) - 1 for each in maps))
    starts, lengths = np.zeros((len(maps), n_intervals)), np.ones((len(maps), n_intervals))
    rises = np.zeros((len(maps), n_intervals))
    for row, each in enumerate(maps):
        own = slice(0, len(each.knots_) - 1)
        starts[row, own], lengths[row, own] = each.knots_[:-1], np.diff(each.knots_)
        rises[row, own] = 2.0 * np.diff(each.probabilities_)
    first = np.array([2.0 * each.probabilities_[0] - 1.0 for each in maps])
    parts = graph.add("Clip", (scores.with_axis(2) - starts) / lengths, 0.0, 1.0)
    total = (parts * rises).sum(axis=2)
    return graph.add("Squeeze", total, np.array([2])) + first
