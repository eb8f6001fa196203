"""Answers that use the tree of a scheme: nodes instead of classes, and the k likeliest classes.

The k likeliest classes are found in blocks of samples, so that memory stays bounded. In a tree of
linear binaries without a final calibration, most of the binaries need not be evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.final import BiasMap, FinalMap
from polytomy.errors import Argument, ArgumentError, SchemeError
from polytomy.inputs.arguments import Parameter, is_boolean, is_count
from polytomy.inputs.rows import count_rows, take_block
from polytomy.inputs.training_data import blocks_of, blocks_of_rows
from polytomy.learners.bank import Bank
from polytomy.learners.linear.evaluation import LinearAnswers
from polytomy.model.arrangement import Arrangement
from polytomy.scheme import ClassRef, NodeRef, Scheme

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LogOdds = Callable[[Indices, Indices], Floats]
"""Function of samples and nodes: the log-odds of each node's second branch."""

# Limit of log-odds for a final calibration, as in `polytomy.calibration.final.clip_decisions`.
_LARGEST_LOG_ODDS = 30.0

# Maximum number of paths followed at a time: samples times classes.
_MOST_PATHS = 2**22
_FEWEST_SAMPLES = 64


_MAX_DEPTH = Parameter(
    "max_depth",
    "a non-negative integer",
    lambda value: is_count(value) and not is_boolean(value),
    allows_none=True,
)
_MIN_PROBABILITY = Parameter(
    "min_probability",
    "a number from 0 to 1",
    lambda value: isinstance(value, int | float | np.number) and bool(0 <= value <= 1),
)


def find_hierarchy(arrangements: Sequence[Arrangement]) -> tuple[Scheme, NDArray[np.intp]]:
    """Return the scheme, and the position of each class in it; SchemeError for an ensemble."""
    if len(arrangements) > 1:
        raise SchemeError("an ensemble has several schemes, not a single hierarchy of nodes")
    return arrangements[0].scheme, arrangements[0].positions


def sum_below_nodes(scheme: Scheme, positions: NDArray[np.intp], proba: Floats) -> Floats:
    """Return the probability of each node: the sum over the classes below it.

    Parameters
    ----------
    scheme : Scheme
    positions : array of shape (n_classes,), the position in the scheme of each column of `proba`
    proba : array of shape (n_samples, n_classes)

    Returns
    -------
    array of shape (n_samples, n_nodes), in the order of ``scheme.nodes``
    """
    sums = np.empty((len(proba), len(scheme.nodes)))
    for node, starts in enumerate(scheme.branch_starts):
        is_below = (positions >= starts[0]) & (positions < starts[-1])
        sums[:, node] = proba[:, is_below].sum(axis=1)
    return sums


def descend_nodes(
    scheme: Scheme,
    positions: NDArray[np.intp],
    proba: Floats,
    max_depth: int | None,
    min_probability: float,
) -> NDArray[Any]:
    """Return the class or the name of the node where the walk down the scheme ends.

    Each step goes to the branch with the largest probability. The walk ends at a class, at the
    depth `max_depth`, and before a branch whose probability is below `min_probability`.
    """
    _MAX_DEPTH.check(max_depth)
    _MIN_PROBABILITY.check(min_probability)
    of_nodes = sum_below_nodes(scheme, positions, proba)
    of_classes = np.zeros((len(proba), len(scheme.classes)))
    of_classes[:, positions] = proba
    found = np.empty(len(proba), dtype=object)
    waiting: list[tuple[ClassRef | NodeRef, int, NDArray[np.intp]]] = [
        (NodeRef(0) if scheme.nodes else ClassRef(0), 0, np.arange(len(proba)))
    ]
    while waiting:
        branch, depth, samples = waiting.pop()
        if isinstance(branch, ClassRef):
            found[samples] = scheme.classes[branch.index]
            continue
        below = scheme.nodes[branch.index].branches
        chances = np.column_stack(
            [
                (of_classes if isinstance(each, ClassRef) else of_nodes)[samples, each.index]
                for each in below
            ]
        )
        best = chances.argmax(axis=1)
        goes_on = chances.max(axis=1) >= min_probability
        if max_depth is not None and depth >= max_depth:
            goes_on[:] = False
        found[samples[~goes_on]] = scheme.node_names[branch.index]
        for position, each in enumerate(below):
            chosen = samples[goes_on & (best == position)]
            if len(chosen):
                waiting.append((each, depth + 1, chosen))
    return found


# -- the k likeliest classes -----------------------------------------------------------------------


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


def sort_best(scores: Floats, k: int) -> Indices:
    """Return the positions of the k largest scores of each row, the largest first.

    Ties go to the score that comes first.

    Examples
    --------
    >>> sort_best(np.array([[0.2, 0.3, 0.3, 0.2]]), 3)
    array([[1, 2, 0]])
    """
    n_rows, n_scores = scores.shape
    if 8 * k >= n_scores:
        return np.argsort(-scores, axis=1, kind="stable")[:, :k]
    lowest = np.partition(scores, n_scores - k, axis=1)[:, [n_scores - k]]
    is_chosen = scores >= lowest
    (tied,) = (np.count_nonzero(is_chosen, axis=1) > k).nonzero()
    if len(tied):
        # Among scores equal to the lowest, the first are chosen.
        is_lowest = scores[tied] == lowest[tied]
        n_above = np.count_nonzero(scores[tied] > lowest[tied], axis=1)
        is_late = np.cumsum(is_lowest, axis=1) > (k - n_above)[:, np.newaxis]
        is_chosen[tied] &= ~(is_lowest & is_late)
    chosen = np.nonzero(is_chosen)[1].reshape(n_rows, k)
    own = np.take_along_axis(scores, chosen, axis=1)
    order = np.argsort(-own, axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


# -- the k likeliest classes of a tree, without evaluating all of its binaries ---------------------


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
    for block in blocks_of(n_rows, width, max(_MOST_PATHS, _FEWEST_SAMPLES * width)):
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


class _Found(NamedTuple):
    """Classes that paths have led to, and the logarithms of their probabilities."""

    samples: Indices
    classes: Indices
    logs: Floats


class TreeSearch:
    """Finds the likeliest classes of samples in a tree with two branches at each node.

    Parameters
    ----------
    scheme : Scheme, a binary tree
    class_at : array of shape (n_classes,), the index of the class at each position of the scheme
    final : BiasMap, optional
    """

    def __init__(self, scheme: Scheme, class_at: Indices, final: BiasMap | None) -> None:
        self._class_at, self._final = class_at, final
        self._children = np.array(
            [
                [~b.index if isinstance(b, ClassRef) else b.index for b in node.branches]
                for node in scheme.nodes
            ],
            dtype=np.intp,
        )
        bounds = np.array([(starts[0], starts[-1]) for starts in scheme.branch_starts])
        self._sizes = (bounds[:, 1] - bounds[:, 0]).astype(np.float64)
        self._mean_factors = np.ones(len(bounds))
        if final is not None:
            sums = np.concatenate([[0.0], np.cumsum(np.exp(final.bias[class_at]))])
            self._mean_factors = (sums[bounds[:, 1]] - sums[bounds[:, 0]]) / self._sizes

    def best(self, log_odds: LogOdds, n_samples: int, k: int) -> tuple[Indices, Floats]:
        """Return the k likeliest classes of each sample, exactly, and their probabilities.

        A class is at most as likely as any node above it. So a beam first finds likely classes, and
        then every node that is at least as likely as the k-th of them is followed. There must be no
        final calibration.

        Returns
        -------
        classes, probabilities : arrays of shape (n_samples, k), the likeliest first
        """
        assert self._final is None
        first, _ = self._follow(log_odds, n_samples, beam=k, least=None)
        _, logs = _take_best(first, n_samples, k)
        found, _ = self._follow(log_odds, n_samples, beam=None, least=logs[:, -1])
        classes, logs = _take_best(found, n_samples, k)
        return classes, np.exp(logs)

    def beam(self, log_odds: LogOdds, n_samples: int, k: int, width: int) -> tuple[Indices, Floats]:
        """Return k likely classes of each sample, found by a beam, and their probabilities.

        At each depth, the `width` likeliest nodes of a sample are followed. The final calibration
        needs the probabilities of all classes; those below a node that is not followed are assumed
        to be equal.
        """
        found, others = self._follow(log_odds, n_samples, beam=max(k, width), least=None)
        final = self._final
        if final is None:
            classes, logs = _take_best(found, n_samples, k)
            return classes, np.exp(logs)
        logits = final.scale * np.log(np.exp(found.logs) + final.floor) + final.bias[found.classes]
        totals = others + np.bincount(found.samples, np.exp(logits), minlength=n_samples)
        classes, logits = _take_best(found._replace(logs=logits), n_samples, k)
        return classes, np.exp(logits) / totals[:, np.newaxis]

    def _follow(
        self, log_odds: LogOdds, n_samples: int, beam: int | None, least: Floats | None
    ) -> tuple[_Found, Floats]:
        """Follow nodes down, level by level; also return what omitted nodes add to the total."""
        samples, nodes = np.arange(n_samples), np.zeros(n_samples, dtype=np.intp)
        logs = np.zeros(n_samples)
        others = np.zeros(n_samples)
        parts: list[_Found] = []
        while len(samples):
            odds = log_odds(samples, nodes)
            if self._final is not None:
                odds = np.clip(odds, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
            logs = np.concatenate([logs - np.logaddexp(0.0, odds), logs - np.logaddexp(0.0, -odds)])
            below = self._children[nodes].T.ravel()
            samples = np.concatenate([samples, samples])
            is_kept = (
                np.ones(len(below), dtype=np.bool_) if least is None else logs >= least[samples]
            )
            is_class = below < 0
            ends = is_class & is_kept
            parts.append(_Found(samples[ends], self._class_at[~below[ends]], logs[ends]))
            inner = np.flatnonzero(~is_class & is_kept)
            samples, nodes, logs = samples[inner], below[inner], logs[inner]
            if beam is not None:
                kept = _keep_best(samples, logs, beam)
                self._add_others(others, samples[~kept], nodes[~kept], logs[~kept])
                samples, nodes, logs = samples[kept], nodes[kept], logs[kept]
        return _Found(*map(np.concatenate, zip(*parts, strict=True))), others

    def _add_others(self, others: Floats, samples: Indices, nodes: Indices, logs: Floats) -> None:
        if self._final is None or not len(samples):
            return
        sizes = self._sizes[nodes]
        each = (np.exp(logs) / sizes + self._final.floor) ** self._final.scale
        others += np.bincount(
            samples, sizes * each * self._mean_factors[nodes], minlength=len(others)
        )


def _keep_best(samples: Indices, logs: Floats, beam: int) -> NDArray[np.bool_]:
    """Return which entries are among the `beam` best of their sample."""
    order = np.lexsort((-logs, samples))
    is_first = np.diff(samples[order], prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    ranks = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = np.empty(len(order), dtype=np.bool_)
    kept[order] = ranks < beam
    return kept


def _take_best(found: _Found, n_samples: int, k: int) -> tuple[Indices, Floats]:
    """Return the k best classes of each sample; ties go to the class that comes first."""
    order = np.lexsort((found.classes, -found.logs, found.samples))
    counts = np.bincount(found.samples, minlength=n_samples)
    starts = np.cumsum(counts) - counts
    places = order[starts[:, np.newaxis] + np.arange(k)]
    return found.classes[places], found.logs[places]
