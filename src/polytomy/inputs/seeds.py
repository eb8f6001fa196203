"""The argument ``random_state``: from its values to generators, and to seeds of estimators."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from polytomy.errors import Argument, ArgumentError

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


# -- seeds for partitions and for estimators -------------------------------------------------------


_LARGEST_SEED = np.iinfo(np.int32).max


def partition_seeds(random_state: Any, n_partitions: int) -> list[int | None]:
    """Return a seed for each partition, so that no result depends on the order of training.

    Parameters
    ----------
    random_state : int, RandomState or None
        None gives no seeds: estimators keep their own random_state.
    n_partitions : int

    Examples
    --------
    >>> partition_seeds(None, 2)
    [None, None]
    >>> partition_seeds(7, 2), partition_seeds(7, 3)
    ([327741615, 976413892], [327741615, 976413892, 1202242073])
    """
    if random_state is None:
        return [None] * n_partitions
    drawn = borrow_generator(random_state).randint(_LARGEST_SEED, size=n_partitions)
    seeds: list[int | None] = drawn.tolist()
    return seeds


_of_thread = threading.local()


def borrow_generator(random_state: Any) -> np.random.RandomState:
    """Return NumPy's legacy generator for draws that follow at once.

    Making a generator takes a hundred times as long as seeding one, so each thread has one, which
    the next call seeds again.

    Parameters
    ----------
    random_state : int, RandomState or None, as for scikit-learn's check_random_state

    Examples
    --------
    >>> borrow_generator(7).randint(100, size=4)
    array([47, 68, 25, 67])
    """
    if not isinstance(random_state, int | np.integer):
        from sklearn.utils import check_random_state  # here, because designs need no scikit-learn

        generator: np.random.RandomState = check_random_state(random_state)
        return generator
    if not hasattr(_of_thread, "generator"):
        _of_thread.generator = np.random.RandomState()
    _of_thread.generator.seed(random_state)
    own: np.random.RandomState = _of_thread.generator
    return own


def seed_all(estimator: Any, seed: int | None) -> None:
    """Set every random_state in an estimator from the seed; None leaves them as they are."""
    if seed is None:
        return
    generator = np.random.default_rng(seed)
    # Sorted, so that the seeds do not depend on the order of the parameters.
    names = [
        name
        for name in sorted(estimator.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
    estimator.set_params(**{name: int(generator.integers(_LARGEST_SEED)) for name in names})


def draw_seed(seed: int) -> int:
    """Return the random_state that `seed_all` gives an estimator without nested estimators.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> svc = LinearSVC()
    >>> seed_all(svc, 3)
    >>> svc.random_state == draw_seed(3)
    True
    """
    return int(np.random.default_rng(seed).integers(_LARGEST_SEED))
