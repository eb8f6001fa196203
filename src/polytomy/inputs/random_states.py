"""Generators of random numbers, from what users pass as ``random_state``."""

from __future__ import annotations

import numpy as np

from polytomy.errors import ArgumentError

__all__ = ["RandomState", "as_generator"]

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator from a seed, a generator or scikit-learn's legacy generator.

    None draws fresh randomness from the system, as it does in scikit-learn.

    Examples
    --------
    >>> as_generator(7).random() == as_generator(7).random()
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ArgumentError(f"random_state={random_state} is negative. Give 0 or more.")
        return np.random.default_rng(int(random_state))
    raise ArgumentError(
        f"random_state={random_state!r} is no source of randomness. "
        "Give a whole number, a numpy.random.Generator, a RandomState or None."
    )
