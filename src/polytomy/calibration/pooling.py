"""Pools: the probabilities of several members become one, with a weight for each member.

The logits of a pool are Σₘ sₘ·log(pₘ + ε), where pₘ are the probabilities of a member after its own
final calibration. The weights sₘ ≥ 0 have the largest likelihood on out-of-fold probabilities, with
a prior for sₘ = 1/M that is worth one sample. A member's probabilities of a sample come from a
final calibration that was learnt without the sample's fold; otherwise the most flexible member
would get the largest weight. The members have biases for the classes; one more for the pool was
tried, and made its out-of-fold log-loss worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.calibration.final import (
    FinalFit,
    FinalMap,
    OutOfFoldAnswers,
    check_export,
    fit_final,
    has_few,
    inner_parts,
)
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.reference.calibration import softmax, softmax_losses
from polytomy.states import State, stored_as

Floats = NDArray[np.float64]

# Added to the probabilities of members, so that none of them can exclude a class.
_FLOOR = 1e-6

_N_PARTS = 5


@stored_as("final calibration/pool")
@dataclass(frozen=True, slots=True, eq=False)
class PoolMap:
    """Logits Σₘ sₘ·log(pₘ + ε).

    Attributes
    ----------
    members : list of FinalMap, the final calibrations of the members
    weights : array of shape (n_members,), s
    floor : float, ε

    Examples
    --------
    >>> from polytomy.calibration.final import BiasMap
    >>> pool = PoolMap([BiasMap(1.0, 0.0, np.zeros(2))] * 2, np.array([0.5, 1.5]), 0.0)
    >>> pool.apply([(np.array([[0.25, 0.75]]), np.empty((1, 0)))] * 2)
    array([[0.1, 0.9]])
    """

    members: list[FinalMap]
    weights: Floats
    floor: float = _FLOOR

    def apply(self, answers: Iterable[tuple[Floats, Floats]]) -> Floats:
        """Return the pooled probabilities, given the arguments of each member's `apply`."""
        logits: Any = 0.0
        for own, member, weight in zip(answers, self.members, self.weights, strict=True):
            logits = logits + weight * np.log(member.apply(*own) + self.floor)
        return softmax(logits)

    def keep(self, classes: NDArray[np.intp], binaries: Sequence[NDArray[np.intp]]) -> PoolMap:
        """Return the map of some classes, given the binaries that each member keeps."""
        members: list[Any] = self.members
        pairs = zip(members, binaries, strict=True)
        return replace(self, members=[member.keep(classes, own) for member, own in pairs])

    def to_onnx(self, graph: Graph, answers: Iterable[tuple[Value, Value]]) -> Value:
        """Return `apply` as a graph."""
        logits = []
        for own, member, weight in zip(answers, self.members, self.weights, strict=True):
            check_export(member)
            exporting: Any = member
            logarithms = graph.add("Log", exporting.to_onnx(graph, *own) + self.floor)
            logits.append(logarithms * float(weight))
        return graph.add("Softmax", graph.add("Sum", *logits), axis=1)

    @classmethod
    def from_state(cls, state: State) -> PoolMap:
        """Return the map of a state."""
        members = state.parts("members", "final calibration")
        if len(members) < 2 or any(isinstance(each, PoolMap) for each in members):
            raise state.fault("members", "two or more final calibrations that are not pools")
        floor = state.number("floor", least=np.finfo(np.float64).tiny, most=1.0)
        return cls(members, state.floats("weights", (len(members),), 0.0), floor)


def fit_pool(option: Any, members: Sequence[OutOfFoldAnswers], seed: int | None = None) -> FinalFit:
    """Return the map of a pool, fitted to the out-of-fold answers of its members.

    Parameters
    ----------
    option : the final calibration of all members; see `fit_final`
    members : the answers of each member, for the same samples
    seed : int, optional; see `fit_final`
    """
    answers, fits = members[0], [fit_final(option, each, seed) for each in members]
    probabilities = np.stack([each.probabilities for each in fits])
    weights = weigh_members(np.log(probabilities + _FLOOR), answers)
    map_: Any = PoolMap([each.map for each in fits], weights)
    return FinalFit(
        map_, pool_held_out(probabilities, answers, inner_parts(answers.fold_of, _N_PARTS))
    )


def pool_held_out(
    probabilities: Floats, answers: OutOfFoldAnswers, parts: NDArray[np.intp]
) -> Floats:
    """Return the pooled probabilities of each sample, with weights from the other parts.

    Parameters
    ----------
    probabilities : array of shape (n_members, n_samples, n_classes)
    answers : OutOfFoldAnswers, with the classes and weights of the samples
    parts : array of shape (n_samples,), the part of each sample
    """
    features = np.log(probabilities + _FLOOR)
    logits = np.empty(features.shape[1:])
    for part in np.unique(parts):
        is_own = parts == part
        weights = weigh_members(features[:, ~is_own], answers.take(~is_own))
        logits[is_own] = np.tensordot(weights, features[:, is_own], 1)
    return softmax(logits)


def weigh_members(features: Floats, answers: OutOfFoldAnswers) -> Floats:
    """Minimise Σᵢ wᵢ·(−log softmax(Σₘ sₘ·Lₘᵢ)[yᵢ]) + |s − 1/M|²/2 over s ≥ 0.

    If there are few samples, all members have the same weight.

    Parameters
    ----------
    features : array of shape (n_members, n_samples, n_classes), L
    answers : OutOfFoldAnswers, with the classes y and the weights w

    Returns
    -------
    array of shape (n_members,), s
    """
    n_members, n_samples, n_classes = features.shape
    if has_few(answers):
        return np.full(n_members, 1.0 / n_members)
    flat, rows = features.reshape(n_members, -1), np.arange(n_samples)
    classes, weight = answers.class_indices, answers.weight

    def loss_and_gradient(weights: Floats) -> tuple[float, Floats]:
        logits = (weights @ flat).reshape(n_samples, n_classes)
        residuals, losses = softmax_losses(logits, classes)
        residuals[rows, classes] -= 1.0
        residuals *= weight[:, np.newaxis]
        excess = weights - 1.0 / n_members
        return weight @ losses + excess @ excess / 2, flat @ residuals.ravel() + excess

    found = scipy.optimize.minimize(
        loss_and_gradient,
        np.full(n_members, 1.0 / n_members),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n_members,
        options={"ftol": 1e-12, "gtol": 1e-6},
    ).x
    return np.asarray(found)
