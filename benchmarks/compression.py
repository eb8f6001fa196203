"""How much faster are compressed classifiers, and is the loss that they tell true?

    POLYTOMY_DATA=folder python -m benchmarks compression [dataset ...]

Each method is tried with every size on an SVC (C=10, gamma="scale") of standardised features, with
the given number of training rows. The loss that was told is compared with that on test rows. Times
are the shortest of three for all test rows, taken in turns with the exact classifier.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import polytomy as pt
from benchmarks import data
from polytomy.model import compression

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "compression.csv"
N_TRAIN = {
    "humidity_full": 20_000,
    "letter": 12_000,
    "usps": 4_000,
    "pendigits": 6_000,
    "sat": 4_000,
    "shuttle": 12_000,
    "krkopt": 8_000,
}
N_TEST = 4_000
N_REPEATS = 3


def measure(name: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each method and size."""
    X, y = data.load(name)
    n_train = min(N_TRAIN[name], len(y) * 3 // 4)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_train, test_size=min(N_TEST, len(y) - n_train), random_state=0
    )
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    is_known = np.isin(y_test, y_train)
    X_test, y_test = X_test[is_known], y_test[is_known]
    start = time.perf_counter()
    exact = pt.PolytomyClassifier("svc C=10", random_state=0).fit(X_train, y_train)
    fit_seconds = time.perf_counter() - start
    for method, (sizes, build) in compression.METHODS.items():
        for size in sizes:
            compression.METHODS[method] = ((size,), build)
            start = time.perf_counter()
            fast = exact.compress(X_train, y_train, method=method, max_accuracy_loss=1.0)
            seconds = time.perf_counter() - start
            told = fast.compression_
            speed_up = _speed_up(exact, fast, X_test)
            yield {
                "dataset": name,
                "rows": n_train,
                "method": method,
                "size": size,
                "speed-up": round(speed_up, 1),
                "points told": round(-100 * told.accuracy_loss, 2),
                "error": round(100 * told.accuracy_loss_error, 2),
                "points on test rows": round(
                    100 * (fast.score(X_test, y_test) - exact.score(X_test, y_test)), 2
                ),
                "log-loss told": round(told.log_loss_increase, 4),
                "log-loss on test rows": round(
                    _log_loss(fast, X_test, y_test) - _log_loss(exact, X_test, y_test), 4
                ),
                "cost in fits": round(seconds / fit_seconds, 2),
                "bytes": round(_size(fast) / _size(exact), 3),
            }
        compression.METHODS[method] = (sizes, build)


def _log_loss(classifier: Any, X: Any, y: Any) -> float:
    return float(log_loss(y, classifier.predict_proba(X), labels=classifier.classes_))


def _size(classifier: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.polytomy"
        pt.save(classifier, path)
        return path.stat().st_size


def _speed_up(exact: Any, fast: Any, X: Any) -> float:
    shortest = {exact: np.inf, fast: np.inf}
    for _ in range(N_REPEATS):
        for each in (exact, fast):
            start = time.perf_counter()
            each.predict_proba(X)
            shortest[each] = min(shortest[each], time.perf_counter() - start)
    return float(shortest[exact] / shortest[fast])


def main(names: list[str]) -> None:
    rows: list[dict[str, Any]] = []
    for name in names or N_TRAIN:
        for row in measure(name):
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if not names:
        with RESULTS.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
