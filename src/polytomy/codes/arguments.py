"""The arguments that all designs of codes share: checked here, in the same words."""

from __future__ import annotations

import operator

import numpy as np

from polytomy.codes.checks import MAX_ENTRIES
from polytomy.errors import ArgumentError

__all__ = ["RandomState", "as_count", "as_generator", "check_entries"]

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_count(name: str, value: object, at_least: int = 1) -> int:
    """Return a whole number of at least so many as an int, or raise ArgumentError.

    Examples
    --------
    >>> as_count("n_classes", np.int64(4))
    4
    >>> as_count("n_classes", 2.5)
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: n_classes=2.5 is not a whole number. Give 1 or more.
    """
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(
            f"{name}={value!r} is not a whole number. Give {at_least} or more."
        ) from None
    if count < at_least:
        raise ArgumentError(f"{name}={count} is too few. Give {at_least} or more.")
    return count


def check_entries(design: str, n_partitions: int, n_classes: int) -> None:
    """Raise ArgumentError if a code would be too large, before anything is allocated for it."""
    if n_partitions * n_classes > MAX_ENTRIES:
        raise ArgumentError(
            f"{design} of {n_classes:,} classes has {n_partitions:,} partitions, "
            f"{n_partitions * n_classes:,} entries; a coding matrix has at most "
            f"{MAX_ENTRIES:,}. Divide the classes with a tree first."
        )


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
