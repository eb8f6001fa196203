"""The likeliest classes of a tree, found without evaluating all of its binaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.final import BiasMap
from polytomy.scheme import ClassRef, Scheme

__all__ = ["TreeSearch", "sort_best"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LogOdds = Callable[[Indices, Indices], Floats]
"""Function of samples and nodes: the log-odds of each node's second branch."""

# Limit of log-odds for a final calibration, as in `polytomy.calibration.final.clip_decisions`.
_LARGEST_LOG_ODDS = 30.0


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
