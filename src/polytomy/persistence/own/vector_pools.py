"""Support vectors of many machines, each stored once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.svm import SVC, NuSVC

from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine, pool_by_bytes, pool_by_index

__all__ = ["SupportPools", "is_machine"]


def is_machine(estimator: Any) -> bool:
    """Return whether an estimator is a support vector machine that can be saved as arrays."""
    if type(estimator) is KernelMachine:
        return True
    if type(estimator) not in (SVC, NuSVC) or getattr(estimator, "probability", False) is True:
        return False
    return KernelFunction.of(estimator) is not None


class SupportPools:
    """The support vectors of machines. Machines that share a pool keep it; others are compared.

    Attributes
    ----------
    matrices : list of arrays or CSR matrices, the vectors of each pool

    Parameters
    ----------
    machines : list of KernelMachine, SVC and NuSVC
    """

    def __init__(self, machines: Iterable[Any]) -> None:
        self.matrices: list[Any] = []
        self._places: dict[int, tuple[int, NDArray[np.intp]]] = {}
        groups: dict[Any, list[Any]] = {}
        for machine in {id(each): each for each in machines}.values():
            if isinstance(machine, KernelMachine):
                groups.setdefault(id(machine.pool), []).append(machine)
            else:
                vectors = machine.support_vectors_
                groups.setdefault((issparse(vectors), vectors.shape[1]), []).append(machine)
        for group in groups.values():
            if isinstance(group[0], KernelMachine):
                pool = pool_by_index(group[0].pool.vectors, [each.support_ for each in group])
            else:
                pool = pool_by_bytes([each.support_vectors_ for each in group])
            for machine, places in zip(group, pool.places, strict=True):
                self._places[id(machine)] = len(self.matrices), places
            self.matrices.append(pool.vectors[pool.rows])

    def place(self, machine: Any) -> tuple[int, NDArray[np.intp]]:
        """Return the index of a machine's pool and its rows in that pool."""
        return self._places[id(machine)]
