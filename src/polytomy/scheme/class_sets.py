"""Memory-efficient sides of partitions with many classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["ManyClasses", "compact_classes", "set_key"]

_FEW = 1024


class ManyClasses(Sequence[int]):
    """Class indices, stored as runs of consecutive numbers, that behave like a tuple.

    One-vs-rest of n classes has n sides with n − 1 classes each, which are one or two runs.

    Parameters
    ----------
    classes : array of int

    Examples
    --------
    >>> rest = ManyClasses(np.array([0, 1, 2, 4, 5]))
    >>> len(rest), rest[3], rest == (0, 1, 2, 4, 5)
    (5, 4, True)
    """

    __slots__ = ("_firsts", "_starts")

    def __init__(self, classes: NDArray[np.integer[Any]]) -> None:
        breaks = np.flatnonzero(np.diff(classes) != 1) + 1
        places = np.concatenate([[0], breaks]) if len(classes) else np.empty(0, dtype=np.intp)
        self._firsts = np.asarray(classes)[places].astype(np.int32)
        self._starts = np.append(places, len(classes)).astype(np.int32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        counts = np.diff(self._starts)
        shifts = self._firsts - self._starts[:-1]
        values: NDArray[Any] = np.arange(len(self)) + np.repeat(shifts, counts)
        return values if dtype is None else values.astype(dtype, copy=False)

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, key: int) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[int, ...]: ...
    def __getitem__(self, key: int | slice) -> int | tuple[int, ...]:
        found = np.asarray(self)[key]
        return tuple(found.tolist()) if isinstance(key, slice) else int(found)

    def __iter__(self) -> Iterator[int]:
        return iter(np.asarray(self).tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ManyClasses | tuple):
            return len(self) == len(other) and bool((np.asarray(self) == np.asarray(other)).all())
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return ManyClasses, (np.asarray(self),)

    def __repr__(self) -> str:
        return f"<ManyClasses: {len(self)} classes>"


def compact_classes(classes: NDArray[np.integer[Any]]) -> Sequence[int]:
    """Return class indices as a tuple, or as ManyClasses if there are many."""
    return tuple(classes.tolist()) if len(classes) <= _FEW else ManyClasses(classes)


def set_key(classes: Sequence[int]) -> frozenset[int] | bytes:
    """Return a key that is equal for equal sets of classes: the set, or a digest if it is large.

    Examples
    --------
    >>> set_key((2, 1)) == set_key((1, 2))
    True
    >>> len(set_key(ManyClasses(np.arange(5000))))
    32
    """
    if len(classes) <= _FEW:
        return frozenset(classes)
    members = np.sort(np.asarray(classes, dtype=np.int64))
    return blake2b(members.tobytes(), digest_size=32).digest()
