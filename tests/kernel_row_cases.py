"""Kernels, and matrices of entries and kernel values, for the tests of routines."""

import numpy as np

from polytomy.routines.reference import kernel_rows as reference
from polytomy.routines.reference.kernel_rows import KERNEL_VALUES, LINEAR, POLY, RBF, SIGMOID

KERNELS = [
    (LINEAR, (0.0, 0, 0.0)),
    (RBF, (0.4, 0, 0.0)),
    (POLY, (0.3, 3, 1.0)),
    (SIGMOID, (0.1, 0, -0.2)),
]


def entries_of(X, form):
    """Squared distances for the form RBF, else inner products."""
    if form == RBF:
        return np.sum((X[:, np.newaxis] - X) ** 2, axis=2)
    return X @ X.T


def kernel_matrix(entries, form, parameters):
    """Kernel values of entries, in double precision; those of KERNEL_VALUES are the entries."""
    form = LINEAR if form == KERNEL_VALUES else form
    values = reference.kernel_values(entries.ravel(), form, *parameters)
    return values.reshape(entries.shape).astype(np.float64)
