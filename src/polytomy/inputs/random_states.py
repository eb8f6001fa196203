"""The argument ``random_state``: from its values to random generators."""

from __future__ import annotations

import numpy as np

from polytomy.errors import Argument, ArgumentError

__all__ = ["RandomState", "as_generator"]

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator from a seed, a generator, NumPy's legacy generator or None.

    None gives different numbers each time, as in scikit-learn.

    Examples
    --------
    >>> as_generator(7).integers(100, size=4)
    array([94, 62, 68, 89])
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ArgumentError(
                Argument("random_state", int(random_state)), " is negative. Use 0 or more."
            )
        return np.random.default_rng(int(random_state))
    raise ArgumentError(
        Argument("random_state", random_state),
        " must be a whole number, a numpy.random.Generator, a RandomState or None.",
    )
