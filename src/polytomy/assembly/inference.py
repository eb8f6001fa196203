"""Asking the binaries of a scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary import TrainedBinary
from polytomy.binary.banks import Bank, build_bank
from polytomy.binary.rows import count_rows, take_rows
from polytomy.errors import SchemeError
from polytomy.scheme import ClassRef, Scheme

__all__ = ["ask_binaries", "blocks_of_rows", "follow_winners", "match_partitions"]

# The decision values of a block of samples take at most this many bytes.
_BLOCK_BYTES = 2**27
_SMALLEST_BLOCK = 256


def blocks_of_rows(n_rows: int, n_partitions: int) -> Iterator[slice]:
    """Yield slices of so many rows that their decision values fit in bounded memory."""
    size = max(_SMALLEST_BLOCK, _BLOCK_BYTES // (8 * max(1, n_partitions)))
    for start in range(0, n_rows, size):
        yield slice(start, min(n_rows, start + size))


def ask_binaries(
    binaries: Bank | Sequence[TrainedBinary], X: Any, *, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Return the answers of all binaries, r = P(+1) − P(−1), for each row of X.

    A bank is put together once; a sequence of binaries becomes a bank at each call.

    Returns
    -------
    array of shape (n_samples, n_binaries), in [−1, 1]
    """
    bank = binaries if isinstance(binaries, Bank) else build_bank(binaries)
    return bank.decisions(X, n_jobs=n_jobs)


def follow_winners(
    scheme: Scheme, binaries: Sequence[TrainedBinary], signs: NDArray[np.float64], X: Any
) -> NDArray[np.float64]:
    """Return the winner of each sample of a tree scheme, with its probability down the path.

    A node is asked only for the samples that reach it.

    Returns
    -------
    array of shape (n_samples, n_classes), zero but for the winner
    """
    n_rows = count_rows(X)
    probabilities = np.zeros((n_rows, len(scheme.classes)))
    # In preorder a node comes after its parent, when it is known which samples reach it.
    reached: dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]] = {
        0: (np.arange(n_rows), np.ones(n_rows))
    }
    for position, node in enumerate(scheme.nodes):
        rows, path = reached.pop(position)
        if len(rows):
            here = ask_binaries([binaries[position]], take_rows(X, rows))
            answers = signs[position] * here[:, 0]
        else:
            answers = np.empty(0)
        # A tie goes to the first branch, as in every other method.
        goes_right = answers > 0
        for branch, mask in zip(node.branches, (~goes_right, goes_right), strict=True):
            below, mass = rows[mask], path[mask] * (1 + np.abs(answers[mask])) / 2
            if isinstance(branch, ClassRef):
                probabilities[below, branch.index] = mass
            else:
                reached[branch.index] = (below, mass)
    return probabilities


def match_partitions(known: Scheme, wanted: Scheme) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return for each partition of a scheme the one of a known scheme with the same two sides.

    Returns
    -------
    columns : position of the known partition
    signs : −1 where its sides are swapped, else 1
    """
    by_sides: dict[tuple[frozenset[Any], frozenset[Any]], dict[Any, int]] = {}
    for i, partition in enumerate(known.partitions):
        sides = frozenset(partition.negative_classes), frozenset(partition.positive_classes)
        by_sides.setdefault(sides, {}).setdefault(partition.binary, i)
    columns, signs = [], []
    for partition in wanted.partitions:
        sides = frozenset(partition.negative_classes), frozenset(partition.positive_classes)
        same, swapped = by_sides.get(sides), by_sides.get(sides[::-1])
        found = same or swapped
        if not found:
            raise SchemeError(
                f"no binary was trained for {partition!r}; fit the new scheme instead"
            )
        # Of several binaries with these sides, the one of this name or specification.
        columns.append(found.get(partition.binary, next(iter(found.values()))))
        signs.append(1.0 if same else -1.0)
    return np.array(columns, dtype=np.intp), np.array(signs)
