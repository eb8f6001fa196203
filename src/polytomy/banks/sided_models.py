"""Binaries for the sides of one partition, whose common model is evaluated once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polytomy.banks.any_models import EFFORT
from polytomy.binary.answers import TrainedBinary
from polytomy.inputs.rows import unchangeable
from polytomy.inputs.samples import Samples

__all__ = ["SidesGroup"]


class SidesGroup:
    """Binaries that share a model with several sides.

    Parameters
    ----------
    columns : array of int
        Positions of the members among the binaries of the bank.
    members : sequence of TrainedBinary with the same estimator, a SidesModel
    """

    def __init__(self, columns: NDArray[np.intp], members: Sequence[TrainedBinary]) -> None:
        self.columns = columns
        self._first = members[0]
        self._sides = [member.positive_index for member in members]
        self.efforts = np.full(len(members), EFFORT)
        self.effort = EFFORT

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return 2 q − 1 for each of the sides, of shape (n_samples, n_members)."""
        chances = self._first.side_chances(unchangeable(samples.raw))
        scores: NDArray[np.float64] = 2.0 * chances[:, self._sides] - 1.0
        return scores
