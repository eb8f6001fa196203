"""Trained machines, given by the rows of the data that are their support vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.option import HeldOut
from polytomy.svm.kernel_functions import KernelFunction

__all__ = ["FoldMachines", "Machine", "MachineData"]

_Floats = NDArray[np.float64]


class Machine(NamedTuple):
    """A machine, given by the rows of the data that are its support vectors."""

    kernel: KernelFunction
    rows: NDArray[np.intp]
    coefficients: _Floats
    intercept: float


class FoldMachines(NamedTuple):
    """The machines of one problem, each trained without one of the shared folds.

    Attributes
    ----------
    kernel : KernelFunction
    rows : array of shape (n_samples,), the rows of the data in the problem
    coefficients : array of shape (n_folds, n_samples), zero for a fold with a constant score
    intercepts : array of shape (n_folds,)
    """

    kernel: KernelFunction
    rows: NDArray[np.intp]
    coefficients: _Floats
    intercepts: _Floats

    def machine(self, fold: int) -> Machine:
        """Return the machine of one fold, without the samples that are not support vectors."""
        own = self.coefficients[fold]
        support = np.flatnonzero(own)
        return Machine(self.kernel, self.rows[support], own[support], float(self.intercepts[fold]))


class MachineData(NamedTuple):
    """A trained machine, its calibration data, and the machines of shared folds.

    Attributes
    ----------
    machine : Machine
    to_calibrate : HeldOut, the data that a calibrator learns from, or None for no calibrator
    reason : why there is no calibrator, as a clause; empty if none was requested
    n_stopped : number of machines that stopped before reaching the tolerance
    seconds : training time
    held_out : array of shape (n_scored,), the score of each row in ``SharedFolds.scored`` by the
        machine of its fold, NaN for rows outside the problem; None without shared folds
    fold_machines : FoldMachines, or None without shared folds
    """

    machine: Machine
    to_calibrate: HeldOut | None
    reason: str
    n_stopped: int
    seconds: float
    held_out: _Floats | None = None
    fold_machines: FoldMachines | None = None

    @property
    def lacks_scores(self) -> bool:
        """Whether rows outside the problem still have to be scored."""
        return self.held_out is not None and bool(np.isnan(self.held_out).any())
