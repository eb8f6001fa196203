"""libAGF's binaries: samples of the border between two classes, with gradients (Mills 2011).

Such a binary is a pair of files, NAME.brd and NAME.bgd, each an int32 number of features and then
rows of float32.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from polytomy.errors import DataError, ModelFileError
from polytomy.inputs.samples import Samples

__all__ = ["BORDERS_ENDING", "BorderMachine", "read_borders"]

BORDERS_ENDING, _GRADIENTS_ENDING = ".brd", ".bgd"


@dataclass(frozen=True, slots=True, eq=False)
class BorderMachine:
    """A trained binary that compares a sample with the nearest point of the border.

    Its decision value is the product of the gradient there with the difference; the hyperbolic
    tangent of that is P(+1) − P(−1).

    Parameters
    ----------
    borders : array of shape (n_points, n_features), points between the two sides
    gradients : array of the same shape, towards the +1 side

    Examples
    --------
    >>> machine = BorderMachine(np.array([[0.0], [4.0]]), np.array([[1.0], [-2.0]]))
    >>> machine.decision_function(np.array([[1.0], [3.5]]))
    array([1., 1.])
    """

    borders: NDArray[np.float64]
    gradients: NDArray[np.float64]
    _tree: KDTree = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.borders.ndim != 2 or not self.borders.size:
            raise ModelFileError(f"border samples of shape {self.borders.shape} are no model")
        if self.borders.shape != self.gradients.shape:
            raise ModelFileError(
                f"border samples of shape {self.borders.shape} have gradients of shape "
                f"{self.gradients.shape}"
            )
        object.__setattr__(self, "_tree", KDTree(self.borders))

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The two labels, −1 and +1."""
        return np.array([-1, 1])

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.borders.shape[1])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return for each row of X its decision value, positive for the +1 side."""
        X = Samples(X).as_numbers(self, self.n_features_in_)
        if not isinstance(X, np.ndarray):
            raise DataError("X is sparse, but border samples are compared with dense rows only")
        nearest = self._tree.query(X)[1]
        values: NDArray[np.float64] = np.einsum(
            "ij,ij->i", self.gradients[nearest], X - self.borders[nearest]
        )
        return values

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return −1 or +1 for each row of X."""
        return np.where(self.decision_function(X) > 0, 1, -1)

    def __repr__(self) -> str:
        return f"<BorderMachine of {len(self.borders)} border samples>"


def read_borders(base: Path) -> BorderMachine:
    """Return the binary in the files of a name; ModelFileError if they hold none."""
    parts = [_read_rows(base.with_name(base.name + e)) for e in (BORDERS_ENDING, _GRADIENTS_ENDING)]
    try:
        return BorderMachine(*parts)
    except ModelFileError as error:
        raise ModelFileError(f"{base}: {error}") from error


def _read_rows(file: Path) -> NDArray[np.float64]:
    if not file.is_file():
        raise ModelFileError(f"{file}: the file is missing")
    content = file.read_bytes()
    n_features = int.from_bytes(content[:4], "little", signed=True)
    if n_features < 1 or len(content) <= 4 or (len(content) - 4) % (4 * n_features):
        raise ModelFileError(f"{file}: this is no number of features with rows of so many")
    rows = np.frombuffer(content, "<f4", offset=4).reshape(-1, n_features).astype(np.float64)
    if not np.isfinite(rows).all():
        raise ModelFileError(f"{file}: not all values are finite")
    return rows
