"""Fewer samples for a calibrator if one side has far more than it can use."""

from __future__ import annotations

import numpy as np

from polytomy.calibration.option import HeldOut

__all__ = ["thin_larger_side"]


def thin_larger_side(held_out: HeldOut, most: int, seed: int | None) -> HeldOut:
    """Return at most `most` samples of the larger side, with weights that represent all of them.

    The half that is hardest to separate from the other side is kept; the rest is a random subset
    whose weights sum to those of all samples it represents. A sigmoid fitted to the result differs
    only by chance from one fitted to all samples.

    Parameters
    ----------
    held_out : HeldOut
    most : int, maximum number of samples of the larger side, at least 2
    seed : int, optional
        Fixes the random subset.

    Examples
    --------
    >>> values = np.concatenate([np.arange(8.0), [9.0]])
    >>> thinned = thin_larger_side(HeldOut(values, values == 9.0), most=4, seed=0)
    >>> thinned.values, thinned.weight
    (array([6., 7., 5., 3., 9.]), array([1., 1., 3., 3., 1.]))
    """
    values, target, weight = held_out
    is_larger = target if 2 * np.count_nonzero(target) > len(target) else ~target
    larger, smaller = np.flatnonzero(is_larger), np.flatnonzero(~is_larger)
    if len(larger) <= most:
        return held_out
    weight = np.ones(len(values)) if weight is None else weight
    n_hard = most // 2
    toward = values[larger] if not target[larger[0]] else -values[larger]
    order = np.argpartition(toward, len(larger) - n_hard)
    easy, hard = larger[order[:-n_hard]], larger[np.sort(order[-n_hard:])]
    generator = np.random.default_rng(0 if seed is None else seed)
    drawn = easy[generator.integers(len(easy), size=most - n_hard)]
    of_drawn = weight[drawn]
    total = of_drawn.sum()
    factor = weight[easy].sum() / total if total > 0 else 0.0
    chosen = np.concatenate([hard, drawn, smaller])
    weights = np.concatenate([weight[hard], of_drawn * factor, weight[smaller]])
    return HeldOut(values[chosen], target[chosen], weights)
