"""How fast are exact Hausdorff distances between all classes, compared with SciPy?

Both start from X and y and return the symmetric matrix. SciPy's `directed_hausdorff` computes both
directions of every pair. Each time is the best of five, after a warm-up.

    POLYTOMY_DATA=folder python -m benchmarks distances [dataset ...]
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
from scipy.spatial.distance import directed_hausdorff
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks import data
from polytomy import distances

REPEATS = 5


def scipy_hausdorff(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    classes, indices = np.unique(y, return_inverse=True)
    parts = [X[indices == i] for i in range(len(classes))]
    directed = np.zeros((len(parts), len(parts)))
    for i, j in permutations(range(len(parts)), 2):
        directed[i, j] = directed_hausdorff(parts[i], parts[j])[0]
    return np.maximum(directed, directed.T)


def time_shortest(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    answer = function(*arguments)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times), answer


def measure_peak_memory(function: Callable[..., Any], *arguments: Any) -> float:
    tracemalloc.start()
    function(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main(names: list[str]) -> None:
    names = names or ["digits", *data.available()]
    print(f"{'dataset':10} {'classes':>7} {'samples':>7} {'scipy':>9} {'polytomy':>9} "
          f"{'ratio':>6} {'MB':>6} {'relative difference':>20}")  # fmt: skip
    for name in names:
        X, y = load_digits(return_X_y=True) if name == "digits" else data.load(name)
        X = StandardScaler().fit_transform(X)
        peer_seconds, expected = time_shortest(scipy_hausdorff, X, y)
        seconds, found = time_shortest(distances.hausdorff, X, y)
        difference = np.abs(found.matrix - expected).max() / expected.max()
        print(
            f"{name:10} {len(found):7} {len(y):7} {peer_seconds:8.4f}s {seconds:8.4f}s "
            f"{peer_seconds / seconds:5.1f}x {measure_peak_memory(distances.hausdorff, X, y):6.1f} "
            f"{difference:20.1e}",
            flush=True,
        )
