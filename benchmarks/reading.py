"""How fast are CSV files read, compared with pandas and polars?

All return the features as one float64 array in rows, and the labels. Times are the shortest of
several, taken in turns, after a warm-up; "work" is the ratio of processor time, which depends less
on other load. The data that polytomy and pandas read must be equal. Peers that are not installed
are left out. Datasets are as large as in the folder.

    POLYTOMY_DATA=folder python -m benchmarks reading [dataset ...]
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks import data
from polytomy.datasets import read_data

REPEATS = 5
DATASETS = ("letter", "shuttle")
MADE = {  # rows, features, decimals
    "long": (60_000, 30, 15),
    "wide": (5_000, 700, 0),
    "narrow": (500_000, 4, 3),
}

Read = Callable[[Path], tuple[np.ndarray, np.ndarray]]


def write_made(name: str, path: Path) -> None:
    rng = np.random.default_rng(0)
    n_rows, n_features, decimals = MADE[name]
    X = rng.normal(size=(n_rows, n_features)).round(decimals) if decimals else None
    X = rng.integers(0, 256, (n_rows, n_features)) if X is None else X
    labels = np.array(["ash", "elm", "oak", "pine"])[rng.integers(0, 4, n_rows)]
    lines = [",".join([f"f{k}" for k in range(n_features)] + ["kind"])]
    lines += [
        ",".join([*map(str, row), label])
        for row, label in zip(X.tolist(), labels.tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def read_polytomy(path: Path) -> tuple[np.ndarray, np.ndarray]:
    found = read_data(path)
    return found.X, found.y


def read_pandas(path: Path) -> tuple[np.ndarray, np.ndarray]:
    import pandas

    table = pandas.read_csv(path)
    X = np.ascontiguousarray(table.iloc[:, :-1].to_numpy(), dtype=np.float64)
    return X, table.iloc[:, -1].to_numpy()


def read_polars(path: Path) -> tuple[np.ndarray, np.ndarray]:
    import polars

    table = polars.read_csv(path)
    X = np.ascontiguousarray(table[:, :-1].to_numpy(), dtype=np.float64)
    return X, table[:, -1].to_numpy()


READERS: dict[str, Read] = {
    "polytomy": read_polytomy,
    "pandas": read_pandas,
    "polars": read_polars,
}


def measure(path: Path) -> dict[str, tuple[float, float]]:
    """Return the seconds and the processor seconds of each reader; check that they agree."""
    answers: dict[str, Any] = {}
    times: dict[str, list[tuple[float, float]]] = {}
    for repeat in range(REPEATS + 1):
        for name, read in READERS.items():
            started = perf_counter(), process_time()
            try:
                answer = read(path)
            except ImportError:
                continue
            if repeat == 0:
                answers[name] = answer
            else:
                ended = perf_counter(), process_time()
                times.setdefault(name, []).append((ended[0] - started[0], ended[1] - started[1]))
    X, y = answers.pop("polytomy")
    for name, (other_X, other_y) in answers.items():
        # pandas rounds to the nearest number only if asked to.
        np.testing.assert_allclose(other_X, X, rtol=1e-15, atol=0, err_msg=name)
        assert (other_y.astype(str) == y.astype(str)).all(), name
    return {name: tuple(np.min(each, axis=0)) for name, each in times.items()}


def main(names: list[str]) -> None:
    wanted = names or [*MADE, *data.available(DATASETS)]
    print(
        f"{'':10}{'MB':>7}" + "".join(f"{name:>11}" for name in READERS) + "   of pandas, of polars"
    )
    with tempfile.TemporaryDirectory() as home:
        for name in wanted:
            path = Path(home, f"{name}.csv")
            if name in MADE:
                write_made(name, path)
            else:
                folder = data.folder()
                assert folder is not None
                path.write_bytes(gzip.decompress((folder / f"{name}.csv.gz").read_bytes()))
            found = measure(path)
            ours = found["polytomy"]
            ratios = [
                f"{ours[0] / found[peer][0]:.2f}x (work {ours[1] / found[peer][1]:.2f}x)"
                for peer in ("pandas", "polars")
                if peer in found
            ]
            shown = [f"{found[each][0]:10.3f}s" if each in found else " " * 11 for each in READERS]
            print(
                f"{name:10}{path.stat().st_size / 1e6:7.1f}{''.join(shown)}   {', '.join(ratios)}"
            )
