"""Prediction sets that contain the true class with a given probability.

A set contains every class that the sample could plausibly belong to: classes whose score is not
unusually high compared with the training samples, scored by models that have not seen them
(cross-conformal prediction, Vovk 2015). There are four scores, each zero for a certain and correct
answer:

- "lac": 1 − p (Sadinle, Lei and Wasserman 2019); the smallest sets on average.
- "aps": the probability of all likelier classes (Romano, Sesia and Candès 2020, without their
  random fraction of the class's own); the sets adapt to how hard a sample is, and are never empty.
- "raps": the same with a penalty for each likelier class (Angelopoulos et al. 2021), which avoids
  large sets.
- "interval", for ordered classes: "lac" of probabilities without dips. A class between two likelier
  ones counts as if it had the smaller of their probabilities, so that all sets are intervals.

The p-value of a class is the weighted share of training samples whose score is at least as large,
the sample itself included. A set contains the classes whose p-value is above 1 − level. If the
class frequencies differ from those of training, samples are weighted by the ratio of the two
(Podkopaev and Ramdas 2021).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polytomy.states import LARGEST, State, stored_as

Floats = NDArray[np.float64]

# At most a megabyte of rows is kept, but always at least a thousand rows.
_MOST_ENTRIES, _FEWEST_ROWS, _MOST_ROWS = 2**19, 1000, 2**15

# The penalty of "raps" for each likelier class.
_PENALTY = 0.02

# P-values are ratios of sums, so they have rounding errors.
_TOLERANCE = 1e-10


@stored_as("conformity")
@dataclass(frozen=True, slots=True, eq=False)
class ConformityRows:
    """Out-of-fold probabilities of training samples, in compact form.

    Attributes
    ----------
    log_proba : float16 array of shape (n_rows, n_classes)
        Logarithms, which are as precise near one as near zero. They assume the prior of training.
    class_indices : array of shape (n_rows,), the true classes
    weight : array of shape (n_rows,)
        Only the ratios of weights within a class matter.
    """

    log_proba: NDArray[np.float16]
    class_indices: NDArray[np.intp]
    weight: Floats

    @classmethod
    def from_state(cls, state: State) -> ConformityRows:
        """Return the rows of a state."""
        smallest = float(np.finfo(np.float16).min)
        log_proba = state.floats("log_proba", (None, None), smallest, 1e-3, np.float16)
        n_rows, n_classes = log_proba.shape
        if not n_rows:
            raise state.fault("log_proba", "an array of one row or more")
        class_indices = state.indices("class_indices", n_classes, n_rows)
        return cls(log_proba, class_indices, state.floats("weight", (n_rows,), 1 / LARGEST))

    def take_classes(self, classes: NDArray[np.intp]) -> ConformityRows:
        """Return the rows of some classes, with their probabilities alone."""
        is_kept = np.isin(self.class_indices, classes)
        return ConformityRows(
            self.log_proba[is_kept][:, classes],
            np.searchsorted(classes, self.class_indices[is_kept]),
            self.weight[is_kept],
        )

    def probabilities(self) -> Floats:
        """Return the probabilities of the rows; each row sums to one."""
        return _unpack(self.log_proba, None, None)

    def p_values(
        self,
        probabilities: Floats,
        score: str,
        frequencies: Floats,
        ratio: Floats | None = None,
        *,
        per_class: bool = False,
        order: NDArray[np.intp] | None = None,
    ) -> Floats:
        """Return the p-value of each class for each sample.

        Parameters
        ----------
        probabilities : array of shape (n_samples, n_classes), under the prior of training
        score : one of SCORES
        frequencies : array of shape (n_classes,)
            Class frequencies in the data to predict.
        ratio : array of shape (n_classes,), optional
            Factor of each class's probability, if the prior is not that of training.
        per_class : whether to compare samples only with those of the same class
        order : array of class indices from first to last, for the score "interval"

        Returns
        -------
        array of shape (n_samples, n_classes), in (0, 1]
        """
        n_rows, n_classes = self.log_proba.shape
        of_rows = SCORES[score](_unpack(self.log_proba, ratio, order))
        of_truth = of_rows[np.arange(n_rows), self.class_indices]
        # Equal probabilities must stay equal, so those of the samples are rounded too.
        of_samples = SCORES[score](_unpack(_pack(probabilities), ratio, order))
        totals = np.bincount(self.class_indices, self.weight, n_classes)
        squares = np.bincount(self.class_indices, self.weight**2, n_classes)
        p_values = np.ones(probabilities.shape)
        if per_class:
            for k in np.flatnonzero(totals):
                own = self.class_indices == k
                p_values[:, k] = _compare(
                    of_truth[own], self.weight[own], of_samples[:, k], squares[k] / totals[k]
                )
            return p_values
        # The weight of a sample of class k: that of one training sample of the class.
        has_rows = totals > 0
        share = np.divide(frequencies, totals, out=np.zeros(n_classes), where=has_rows)
        alone = share * np.divide(squares, totals, out=np.zeros(n_classes), where=has_rows)
        alone[~has_rows] = frequencies[~has_rows]
        return _compare(of_truth, self.weight * share[self.class_indices], of_samples, alone)


def collect_conformity(
    probabilities: Floats, class_indices: NDArray[np.intp], weight: Floats
) -> ConformityRows:
    """Return the compact form of out-of-fold probabilities.

    If there are many rows, a random subset is kept. Rare classes keep all their rows; frequent
    classes all keep the same number.

    Parameters
    ----------
    probabilities : array of shape (n_rows, n_classes)
    class_indices : array of shape (n_rows,), the true classes
    weight : array of shape (n_rows,)
    """
    n_classes = probabilities.shape[1]
    most = min(max(_MOST_ENTRIES // n_classes, _FEWEST_ROWS), _MOST_ROWS)
    rows = _choose_evenly(class_indices, n_classes, most)
    return ConformityRows(_pack(probabilities[rows]), class_indices[rows], weight[rows])


def choose_sets(
    p_values: Floats,
    winners: NDArray[np.intp],
    levels: Floats,
    *,
    allow_empty: bool,
    order: NDArray[np.intp] | None = None,
) -> NDArray[np.bool_]:
    """Return which classes are in the set of each sample, for each level.

    Unless sets may be empty, the predicted class is in all sets of a sample. Its p-value may be
    smaller than that of another class, if the classes have different weights or are compared
    separately. For the same reasons, sets of ordered classes may have gaps, which are filled.

    Parameters
    ----------
    p_values : array of shape (n_samples, n_classes)
    winners : array of shape (n_samples,), the predicted classes
    levels : array of shape (n_levels,)
    allow_empty : whether sets have only classes with a large p-value
    order : array of class indices from first to last, optional
        Classes between two classes of a set join it, if they are in this array.

    Returns
    -------
    array of shape (n_samples, n_classes, n_levels)
    """
    p_values = p_values.copy()
    if not allow_empty:
        p_values[np.arange(len(p_values)), winners] = np.inf
    if order is not None:
        p_values = fill_dips(p_values, order)
    return np.asarray(p_values[:, :, None] > 1.0 - levels + _TOLERANCE)


def fill_dips(values: Floats, order: NDArray[np.intp]) -> Floats:
    """Return the smallest values that are no smaller, and do not rise again once they fall.

    Parameters
    ----------
    values : array of shape (n_samples, n_classes)
    order : array of class indices from first to last; the values of other classes stay

    Examples
    --------
    >>> fill_dips(np.array([[0.1, 0.4, 0.2, 0.3]]), np.arange(4))
    array([[0.1, 0.4, 0.3, 0.3]])
    """
    ordered = values[:, order]
    before = np.maximum.accumulate(ordered, axis=1)
    after = np.maximum.accumulate(ordered[:, ::-1], axis=1)[:, ::-1]
    filled = values.copy()
    filled[:, order] = np.minimum(before, after)
    return filled


# -- scores ----------------------------------------------------------------------------------------


def _score_lac(probabilities: Floats) -> NDArray[np.float32]:
    # In the order of 1 − p, and precise for the smallest p.
    return np.asarray(-np.log(np.maximum(probabilities, np.finfo(np.float64).tiny)), np.float32)


def _score_aps(probabilities: Floats) -> NDArray[np.float32]:
    return _sum_likelier(probabilities)[0].astype(np.float32)


def _score_raps(probabilities: Floats) -> NDArray[np.float32]:
    sums, ranks = _sum_likelier(probabilities)
    return (sums + _PENALTY * ranks).astype(np.float32)


def _sum_likelier(probabilities: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the probability of all likelier classes, and their number."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    descending = np.take_along_axis(probabilities, order, axis=1)
    sums, ranks = np.empty_like(probabilities), np.empty_like(order)
    np.put_along_axis(sums, order, np.cumsum(descending, axis=1) - descending, axis=1)
    np.put_along_axis(ranks, order, np.arange(probabilities.shape[1])[None], axis=1)
    return sums, ranks


INTERVAL = "interval"
"""The score for ordered classes."""

SCORES: dict[str, Callable[[Floats], NDArray[np.float32]]] = {
    "lac": _score_lac,
    "aps": _score_aps,
    "raps": _score_raps,
    INTERVAL: _score_lac,  # of probabilities without dips
}
"""The scores by name: how unusual each class of each row is, given all probabilities."""


# -- parts of the above ----------------------------------------------------------------------------


def _pack(probabilities: Floats) -> NDArray[np.float16]:
    return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny)).astype(np.float16)


def _unpack(
    log_proba: NDArray[np.float16], ratio: Floats | None, order: NDArray[np.intp] | None
) -> Floats:
    probabilities = np.exp(log_proba.astype(np.float64))
    if ratio is not None:
        probabilities *= ratio
    totals = probabilities.sum(axis=1, keepdims=True)
    probabilities /= np.maximum(totals, np.finfo(np.float64).tiny)
    return probabilities if order is None else fill_dips(probabilities, order)


def _compare(
    known: NDArray[np.float32], weight: Floats, scores: NDArray[np.float32], alone: Floats | float
) -> Floats:
    """Return the weighted share of known scores at least as large, including the score itself."""
    order = np.argsort(known, kind="stable")
    above = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    tail = above[np.searchsorted(known[order], scores, side="left")]
    total = above[0] + alone
    shares = np.divide(tail + alone, total, out=np.ones(scores.shape), where=total > 0)
    return np.asarray(shares)


def _choose_evenly(class_indices: NDArray[np.intp], n_classes: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` rows, ascending; classes that lose rows all keep the same number."""
    if len(class_indices) <= most:
        return np.arange(len(class_indices))
    counts = np.sort(np.bincount(class_indices, minlength=n_classes))
    # With the limit l, min(count, l) rows of each class are kept.
    smaller = np.cumsum(counts) - counts
    limits = (most - smaller) // np.arange(n_classes, 0, -1)
    limit = max(1, int(limits[np.argmax(limits <= counts)]))
    shuffled = np.random.default_rng(0).permutation(len(class_indices))
    by_class = shuffled[np.argsort(class_indices[shuffled], kind="stable")]
    starts = np.searchsorted(class_indices[by_class], class_indices[by_class], side="left")
    return np.sort(by_class[np.arange(len(by_class)) - starts < limit])
