"""Binaries of any kind, each evaluated separately, in parallel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from polytomy.binary.answers import TrainedBinary
from polytomy.inputs.rows import unchangeable
from polytomy.inputs.samples import Samples

__all__ = ["EFFORT", "GenericGroup"]

# A guess: the cost of an arbitrary estimator is unknown, but most cost more than a small SVM.
EFFORT = 1000.0


class GenericGroup:
    """Binaries that cannot be evaluated together.

    Parameters
    ----------
    columns : array of int
        Positions of the members among the binaries of the bank.
    members : sequence of TrainedBinary
    """

    def __init__(self, columns: NDArray[np.intp], members: Sequence[TrainedBinary]) -> None:
        self.columns = columns
        self._binaries = members
        self.efforts = np.full(len(members), EFFORT)
        self.effort = float(self.efforts.sum())

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the binaries' own `scores`, of shape (n_samples, n_members)."""
        scores = np.empty((samples.n_rows, len(self._binaries)))
        if effective_n_jobs(n_jobs) == 1:
            for column, binary in enumerate(self._binaries):
                scores[:, column] = binary.scores(unchangeable(samples.raw))
            return scores
        tasks = (delayed(binary.scores)(samples.raw) for binary in self._binaries)
        for column, answer in enumerate(Parallel(n_jobs=n_jobs)(tasks)):
            scores[:, column] = answer
        return scores
