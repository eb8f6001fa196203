"""The likeliest classes of samples, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.banks import Bank
from polytomy.banks.linear_answers import LinearAnswers
from polytomy.calibration.final import BiasMap, FinalMap
from polytomy.composition.arrangement import Arrangement
from polytomy.composition.prediction_blocks import blocks_of_rows
from polytomy.composition.tree_search import TreeSearch, sort_best
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.rows import count_rows, take_block

__all__ = ["check_beam", "check_top_k", "find_tree_search", "search_tree", "take_top_classes"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Maximum number of paths followed at a time: samples times classes.
_MOST_PATHS = 2**22
_FEWEST_SAMPLES = 64


def check_top_k(k: Any, n_classes: int) -> int:
    """Return a number of classes, or raise an ArgumentError unless it is from 1 to all."""
    is_number = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not is_number or not 1 <= k <= n_classes:
        raise ArgumentError(
            Argument("k", k),
            f" must be a whole number from 1 to {n_classes}, the number of classes.",
        )
    return int(k)


def check_beam(beam: Any) -> int | None:
    """Return the width of a beam, or raise an ArgumentError unless it is a number or None."""
    if beam is None:
        return None
    is_number = isinstance(beam, int | np.integer) and not isinstance(beam, bool)
    if not is_number or beam < 1:
        raise ArgumentError(
            Argument("beam", beam), " must be a whole number, 1 or more, or None for exact answers."
        )
    return int(beam)


def find_tree_search(
    arrangement: Arrangement, bank: Bank, final: FinalMap | None
) -> tuple[TreeSearch, LinearAnswers] | None:
    """Return a search for a tree of linear binaries; None for anything else."""
    scheme = arrangement.scheme
    is_plain = final is None or isinstance(final, BiasMap)
    is_tree = scheme.is_tree and scheme.is_binary and scheme.n_partitions > 0
    has_all = len(arrangement.positions) == len(scheme.classes)
    answers = bank.linear_answers() if is_tree and has_all and is_plain else None
    if answers is None:
        return None
    class_at = np.empty(len(arrangement.positions), dtype=np.intp)
    class_at[arrangement.positions] = np.arange(len(class_at))
    return TreeSearch(scheme, class_at, final if isinstance(final, BiasMap) else None), answers


def search_tree(
    search: TreeSearch,
    answers: LinearAnswers,
    arrangement: Arrangement,
    X: Any,
    k: int,
    beam: int | None,
) -> tuple[Indices, Floats]:
    """Return the k likeliest classes of samples in a tree, and their probabilities.

    Parameters
    ----------
    search, answers : as `find_tree_search` returns them
    arrangement : Arrangement
    X : float64 array or CSR matrix
    k : number of classes
    beam : width of the beam; None for the exact answer
    """
    n_rows, n_classes = X.shape[0], len(arrangement.positions)
    classes = np.empty((n_rows, k), dtype=np.intp)
    probabilities = np.empty((n_rows, k))
    width = n_classes if beam is None else 2 * max(k, beam)
    size = max(_FEWEST_SAMPLES, _MOST_PATHS // max(1, width))
    for first in range(0, n_rows, size):
        block = slice(first, min(n_rows, first + size))
        log_odds = partial(_log_odds, answers, X[block], arrangement)
        n_samples = block.stop - block.start
        if beam is None:
            found = search.best(log_odds, n_samples, k)
        else:
            found = search.beam(log_odds, n_samples, k, beam)
        classes[block], probabilities[block] = found
    return classes, probabilities


def _log_odds(
    answers: LinearAnswers, X: Any, arrangement: Arrangement, samples: Indices, nodes: Indices
) -> Floats:
    found = answers.log_odds(X, samples, arrangement.columns[nodes])
    return np.asarray(arrangement.signs[nodes] * found)


def take_top_classes(
    X: Any, k: int, n_binaries: int, score: Callable[[Any], Floats]
) -> tuple[Indices, Floats]:
    """Return the k classes with the largest scores, in blocks of rows, and their scores.

    Parameters
    ----------
    X : samples
    k : number of classes
    n_binaries : number of decision values per sample
    score : function that returns the scores of some samples
    """
    n_rows = count_rows(X)
    classes = np.empty((n_rows, k), dtype=np.intp)
    best = np.empty((n_rows, k))
    for block in blocks_of_rows(n_rows, n_binaries):
        scores = score(take_block(X, block))
        classes[block] = sort_best(scores, k)
        best[block] = np.take_along_axis(scores, classes[block], axis=1)
    return classes, best
