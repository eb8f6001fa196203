"""How long do many rows take, with how much memory, and how good are the probabilities?

One-vs-rest with ten classes and 50 features, with learners that can handle a million rows: polytomy
with its default calibration, compared with scikit-learn's `OneVsRestClassifier` of the same
learner, without calibration and, up to 10,000 rows, with `CalibratedClassifierCV`. Each class
consists of three Gaussian clouds, so that linear models are far from perfect and Nystroem features
help. The test data is 50,000 other rows.

Each measurement runs in its own process, with one thread. `memory` is the peak anonymous memory
during the fit, minus that before it, as a multiple of the data; "mapped" data is a memory map,
which takes none. `cpu` and `wall` are the seconds of one fit, after a small fit as a warm-up.

    python -m benchmarks many-rows [rows ...] [learner ...] [plot]

Without numbers and learners, it measures 10,000, 100,000 and a million rows in about seven minutes.
Cases that would take minutes are left out: SGD on all of a million rows, and
`CalibratedClassifierCV` on more than 10,000. It writes docs/results/many_rows.csv, the table in
docs/many_rows.md and docs/figures/many_rows.png; "plot" only redraws the figure and rewrites the
table.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import polytomy as pt
from benchmarks.pages import DOCS, replace_table

RESULTS = DOCS / "results" / "many_rows.csv"
FIGURE = DOCS / "figures" / "many_rows.png"
N_FEATURES, N_CLASSES, N_TEST = 50, 10, 50_000
ROWS = ("10000", "100000", "1000000")
BATCH = 50_000
MOST_CALIBRATED = 10_000
MOST_SGD = 100_000
LEARNERS = {
    "logistic": "logistic regression",
    "linear-svc": "`LinearSVC`",
    "sgd": "SGD, averaged",
    "nystroem-logistic": "Nystroem (150), logistic regression",
}
METHODS = {
    "polytomy": "polytomy",
    "one-vs-rest": "`OneVsRestClassifier`",
    "calibrated": "calibrated",
    "polytomy-stream": "polytomy, `partial_fit`",
}
FIELDS = ("rows", "learner", "method", "data", "cpu", "wall", "memory", "accuracy", "log-loss")


def make_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 rows from three clouds per class, using bounded memory."""
    centres = np.random.default_rng(0).normal(size=(N_CLASSES, 3, N_FEATURES)) * 0.45
    generator = np.random.default_rng(seed)
    y = generator.integers(0, N_CLASSES, n_rows)
    cloud = generator.integers(0, 3, n_rows)
    X = np.empty((n_rows, N_FEATURES), dtype=np.float32)
    for start in range(0, n_rows, BATCH):
        part = slice(start, start + BATCH)
        noise = generator.standard_normal((len(y[part]), N_FEATURES), dtype=np.float32)
        X[part] = centres[y[part], cloud[part]] + noise
    return X, y


def learner(name: str) -> Any:
    if name == "logistic":
        return LogisticRegression()
    if name == "linear-svc":
        return LinearSVC()
    if name == "sgd":
        return SGDClassifier(average=True, random_state=0)
    last = LogisticRegression(max_iter=50) if name == "nystroem-logistic" else learner("sgd")
    # Distances in 50 dimensions are about 10.
    features = Nystroem(gamma=0.01, n_components=150, random_state=0)
    return make_pipeline(StandardScaler(), features, last)


def classifier(name: str, method: str) -> Any:
    if method in ("polytomy", "polytomy-stream"):
        return pt.PolytomyClassifier(
            learner(name), "one-vs-rest", shared_preprocessing=True, random_state=0
        )
    inner = learner(name)
    steps = [step for _, step in inner.steps] if hasattr(inner, "steps") else [inner]
    last = steps[-1]
    if method == "calibrated":
        last = CalibratedClassifierCV(last, ensemble=False)
    return make_pipeline(*steps[:-1], OneVsRestClassifier(last))


class MemoryWatch(threading.Thread):
    """Records the peak anonymous memory of the process, sampled every few milliseconds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.first = self.peak = self._now()
        self._is_over = threading.Event()

    @staticmethod
    def _now() -> int:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return 1024 * int(line.split()[1])
        raise OSError("this system does not tell the memory of a process")

    def run(self) -> None:
        while not self._is_over.wait(0.005):
            self.peak = max(self.peak, self._now())

    def stop(self) -> int:
        self._is_over.set()
        self.join()
        return self.peak - self.first


def fit_in_batches(model: Any, X: np.ndarray, y: np.ndarray) -> None:
    for start in range(0, len(X), BATCH):
        part = slice(start, start + BATCH)
        model.partial_fit(X[part], y[part], classes=range(N_CLASSES))


def measure_cell(n_rows: int, name: str, method: str, kind: str, folder: str) -> dict[str, Any]:
    """Return one measurement, in this process."""
    warnings.simplefilter("ignore")
    X: Any = np.load(Path(folder) / "X.npy", mmap_mode="r" if kind == "mapped" else None)
    y = np.load(Path(folder) / "y.npy")
    if kind == "float64":
        X = X.astype(np.float64)
    fit = fit_in_batches if method == "polytomy-stream" else lambda model, X, y: model.fit(X, y)
    fit(classifier(name, method), np.array(X[:2000]), y[:2000])
    model = classifier(name, method)
    watch = MemoryWatch()
    watch.start()
    started = perf_counter(), process_time()
    fit(model, X, y)
    if method == "polytomy-stream":
        model.predict(X[:1])  # triggers calibration
    wall, cpu = perf_counter() - started[0], process_time() - started[1]
    peak = watch.stop()
    X_test, y_test = make_rows(N_TEST, seed=2)
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X_test)
        predicted = proba.argmax(axis=1)
        loss = pt.metrics.log_loss(y_test, proba, range(N_CLASSES))
    else:
        predicted, loss = model.predict(X_test), None
    return {
        "rows": n_rows,
        "learner": name,
        "method": method,
        "data": kind,
        "cpu": round(cpu, 2),
        "wall": round(wall, 2),
        "memory": round(peak / X.nbytes, 2),
        "accuracy": round(float(np.mean(predicted == y_test)), 4),
        "log-loss": None if loss is None else round(loss, 4),
    }


def cells(n_rows: int, names: list[str]) -> list[tuple[str, str, str]]:
    """Return the learner, method and kind of data of each measurement."""
    found = []
    for name in names:
        if name != "sgd" or n_rows <= MOST_SGD:
            found += [(name, "polytomy", "float32"), (name, "one-vs-rest", "float32")]
        if name in ("linear-svc", "sgd") and n_rows <= MOST_CALIBRATED:
            found.append((name, "calibrated", "float32"))
        if name == "logistic":
            found += [(name, "polytomy", "mapped"), (name, "polytomy", "float64")]
        if name == "sgd":
            found.append((name, "polytomy-stream", "mapped"))
    return found


def run(n_rows: int, names: list[str]) -> list[dict[str, Any]]:
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        X, y = make_rows(n_rows, seed=1)
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        del X, y
        for cell in cells(n_rows, names):
            command = [sys.executable, "-m", "benchmarks.many_rows", str(n_rows), *cell, folder]
            environment = {**os.environ, **one_thread}
            answer = subprocess.run(command, env=environment, capture_output=True, text=True)
            if answer.returncode:
                print(f"{n_rows} {' '.join(cell)}: failed\n{answer.stderr[-500:]}", flush=True)
                continue
            measured.append(json.loads(answer.stdout.splitlines()[-1]))
            print("".join(f"{measured[-1][field]!s:>18}" for field in FIELDS), flush=True)
    return measured


def read_results() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open() as file:
        return list(csv.DictReader(file))


def write_results(measured: list[dict[str, Any]]) -> None:
    """Write measurements, replacing earlier ones of the same cells."""

    def key(row: dict[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[field]) for field in FIELDS[:4])

    new = {key(row) for row in measured}
    rows = [*[row for row in read_results() if key(row) not in new], *measured]
    rows.sort(key=lambda row: (int(row["rows"]), *key(row)[1:]))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_page() -> None:
    """Write the table in docs/many_rows.md."""
    header = "rows", "learner", "method", "data", "CPU s", "memory", "accuracy", "log-loss"
    learners, methods = list(LEARNERS), list(METHODS)

    def position(row: dict[str, Any]) -> tuple[int, int, int, str]:
        found = learners.index(row["learner"]), methods.index(row["method"])
        return int(row["rows"]), *found, row["data"]

    rows = [
        (
            f"{int(row['rows']):,}",
            LEARNERS[row["learner"]],
            METHODS[row["method"]],
            row["data"],
            f"{float(row['cpu']):.1f}",
            f"{float(row['memory']):.1f}",
            f"{float(row['accuracy']):.1%}".replace("%", " %"),
            row["log-loss"] or "—",
        )
        for row in sorted(read_results(), key=position)
        if int(row["rows"]) >= 100_000
    ]
    replace_table("many_rows.md", "many rows", header, rows)


def plot() -> None:
    """Draw time and log-loss against the number of rows."""
    from matplotlib.figure import Figure

    rows = [row for row in read_results() if row["data"] in ("float32", "mapped")]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, 2)
    styles = {"polytomy": "o-", "one-vs-rest": "s--", "calibrated": "^:", "polytomy-stream": "x-."}
    for colour, name in enumerate(LEARNERS):
        for method, style in styles.items():
            own = [row for row in rows if (row["learner"], row["method"]) == (name, method)]
            if method == "polytomy":
                own = [row for row in own if row["data"] == "float32"]
            own.sort(key=lambda row: int(row["rows"]))
            for axis, field in zip(axes, ("cpu", "log-loss"), strict=True):
                known = [row for row in own if row[field]]
                if known:
                    axis.plot(
                        [int(row["rows"]) for row in known],
                        [float(row[field]) for row in known],
                        style,
                        color=f"C{colour}",
                        markersize=5,
                        label=f"{name}, {method}",
                    )
    for axis, title in zip(axes, ("seconds of a processor to fit", "log-loss"), strict=True):
        axis.set(xscale="log", xlabel="rows", title=title)
    axes[0].set_yscale("log")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=7)
    figure.savefig(FIGURE, dpi=150)


def main(words: list[str]) -> None:
    sizes = [word for word in words if word.isdigit()] or list(ROWS)
    names = [word for word in words if not word.isdigit() and word != "plot"] or list(LEARNERS)
    if words != ["plot"]:
        print("".join(f"{field:>18}" for field in FIELDS), flush=True)
        for size in sizes:
            write_results(run(int(size), names))
    write_page()
    plot()


if __name__ == "__main__":
    size, *cell = sys.argv[1:]
    print(json.dumps(measure_cell(int(size), *cell)))
