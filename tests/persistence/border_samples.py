"""Writes border samples as libAGF does."""

import numpy as np


def write_rows(file, rows):
    """Write the number of features and the rows to a file."""
    rows = np.asarray(rows, dtype="<f4")
    file.write_bytes(np.int32(rows.shape[1]).tobytes() + rows.tobytes())


def write_borders(folder, name, borders, gradients):
    """Write border samples and their gradients to the two files of a name."""
    write_rows(folder / f"{name}.brd", borders)
    write_rows(folder / f"{name}.bgd", gradients)


def write_normalisation(file, means, deviations, n_columns=None):
    """Write the normalisation with means and standard deviations, as agf_precondition does."""
    matrix = np.diag(1 / np.asarray(deviations, dtype=float))[:, :n_columns]
    write_rows(file, np.column_stack([matrix, means]))
