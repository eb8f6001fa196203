"""How fast is prediction, compared with scikit-learn?

- One-vs-one RBF machines: `predict_proba`, compared with SVC(probability=True).
- One-vs-rest RBF machines: `predict_proba`, compared with
  OneVsRestClassifier(CalibratedClassifierCV(SVC(), ensemble=False)).
- One-vs-one logistic regressions, 26 and 242 classes: `predict`, compared with
  OneVsOneClassifier(LogisticRegression()), by a vote over the peer's own binaries.
- One-vs-one linear SVMs on sparse text: `predict`, compared with itself without the check of
  indices and offsets ("unchecked"); the difference of the ratio from one is the cost of the check.

Data is standardised, with 70 % of each class for training; without POLYTOMY_DATA, it is synthetic.
Each time is the best of several, with peer and polytomy taking turns, on all threads of the
machine; "bank" is the time for the decision values alone. "from own" is the largest difference
between a bank's scores and those of its binaries evaluated one by one. "from peer" is the largest
difference of a probability, or for votes the fraction of samples whose class according to the peer
does not have the most votes here (ties are broken differently). Megabytes are the peak above the
memory used before.

    POLYTOMY_DATA=folder python -m benchmarks prediction [dataset ...]
"""

from __future__ import annotations

import csv
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from benchmarks import data
from polytomy.inputs import training_data
from polytomy.inputs import training_data as samples
from polytomy.inputs.sparse import check_sparse
from polytomy.learners.bank import Bank
from polytomy.learners.trained import TrainedBinary, adopt_fitted
from polytomy.model import composition
from polytomy.model.fitting import TrainedBinaries, plan_training

MACHINES = ("letter", "usps", "shuttle")
REGRESSIONS = ("letter", "omniglot_small")
SPARSE = "newsgroups20_sparse"
MADE_SPARSE = "made-sparse"
MADE = {"made-26": (26, 16, 400), "made-100": (100, 40, 40)}  # classes, features, rows per class
N_COMPARED = 200
PEER_REPEATS, REPEATS = 3, 9
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "prediction.csv"


class Row(NamedTuple):
    work: str
    dataset: str
    classes: int
    samples: int
    peer: str
    peer_seconds: float
    seconds: float
    ratio: float
    bank_seconds: float
    bank_ratio: float
    from_own: float  # largest difference between a score and the binary's own
    from_peer: float  # largest difference of a probability, or fraction of different classes
    peer_megabytes: float
    megabytes: float


class PeakMemory:
    """Peak memory of the process in megabytes, above the memory used at the start."""

    def __enter__(self) -> PeakMemory:
        self._pages = [_resident_megabytes()]
        self._is_over = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def _watch(self) -> None:
        while not self._is_over.wait(0.001):
            self._pages.append(_resident_megabytes())

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._watcher.join()
        self.megabytes = max(self._pages) - self._pages[0]


def _resident_megabytes() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not available on this system
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def time_in_turns(*tasks: tuple[Callable[[], Any], int]) -> list[float]:
    """Return the shortest time of each task, taking turns so that all see the same load."""
    times: list[list[float]] = [[] for _ in tasks]
    for turn in range(max(repeats for _, repeats in tasks)):
        for (task, repeats), own in zip(tasks, times, strict=True):
            if turn < repeats:
                start = time.perf_counter()
                task()
                own.append(time.perf_counter() - start)
    return [min(own) for own in times]


def measure_peak_megabytes(task: Callable[[], Any]) -> float:
    with PeakMemory() as memory:
        task()
    return memory.megabytes


def load(name: str) -> data.Split:
    if name not in MADE:
        return data.split(*data.load(name), seed=0)
    n_classes, n_features, n_each = MADE[name]
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), n_each)
    X = rng.normal(scale=2, size=(n_classes, n_features))[y] + rng.normal(size=(len(y), n_features))
    return data.split(X, y, seed=0)


def largest_difference(binaries: list[TrainedBinary], X: Any) -> float:
    X = X[:N_COMPARED]
    own = np.column_stack([binary.scores(X) for binary in binaries])
    return float(np.abs(Bank(binaries).scores(X) - own).max())


def measure_machines(name: str, scheme: str, part: data.Split) -> Row:
    options = data.svm_options(name)
    peers = {
        "one-vs-one": SVC(probability=True, random_state=0, **options),
        "one-vs-rest": OneVsRestClassifier(
            CalibratedClassifierCV(SVC(**options), ensemble=False), n_jobs=2
        ),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        peer = peers[scheme].fit(part.X_train, part.y_train)
    ours = pt.PolytomyClassifier(
        SVC(**options), scheme, final_calibration=None, random_state=0, n_jobs=2
    )
    ours.fit(part.X_train, part.y_train)
    bank = Bank(ours.binaries_)
    # Warm up: compilation, and building the bank.
    difference = np.abs(ours.predict_proba(part.X_test) - peer.predict_proba(part.X_test)).max()
    bank.decisions(part.X_test)
    peer_seconds, seconds, bank_seconds = time_in_turns(
        (lambda: peer.predict_proba(part.X_test), PEER_REPEATS),
        (lambda: ours.predict_proba(part.X_test), REPEATS),
        (lambda: bank.decisions(part.X_test), REPEATS),
    )
    return Row(
        f"predict_proba, {scheme} RBF",
        name,
        len(ours.classes_),
        len(part.X_test),
        type(peer).__name__,
        peer_seconds,
        seconds,
        peer_seconds / seconds,
        bank_seconds,
        peer_seconds / bank_seconds,
        largest_difference(ours.binaries_, part.X_test),
        float(difference),
        measure_peak_megabytes(lambda: peer.predict_proba(part.X_test)),
        measure_peak_megabytes(lambda: ours.predict_proba(part.X_test)),
    )


def measure_regressions(name: str, part: data.Split) -> Row:
    peer = OneVsOneClassifier(LogisticRegression(), n_jobs=2).fit(part.X_train, part.y_train)
    scheme = pt.designs.one_vs_one(peer.classes_)
    # The peer's binaries have its classes i < j as 0 and 1, in the scheme's own order of pairs.
    binaries = [
        adopt_fitted(model, [0], [1], name=str(k)) for k, model in enumerate(peer.estimators_)
    ]
    bank = Bank(binaries)

    plan = plan_training([scheme], peer.classes_, LogisticRegression())
    composition = plan.compose(TrainedBinaries(binaries), "hamming")

    def vote() -> np.ndarray:
        return composition.scores(part.X_test)

    def predict() -> np.ndarray:
        return np.asarray(peer.classes_[vote().argmax(axis=1)])

    votes = vote()
    of_peer = np.searchsorted(peer.classes_, peer.predict(part.X_test))
    others = float(np.mean(votes[np.arange(len(votes)), of_peer] < votes.max(axis=1)))
    peer_seconds, seconds, bank_seconds = time_in_turns(
        (lambda: peer.predict(part.X_test), PEER_REPEATS),
        (predict, REPEATS),
        (lambda: bank.decisions(part.X_test), REPEATS),
    )
    return Row(
        "predict, one-vs-one logistic",
        name,
        len(peer.classes_),
        len(part.X_test),
        type(peer).__name__,
        peer_seconds,
        seconds,
        peer_seconds / seconds,
        bank_seconds,
        peer_seconds / bank_seconds,
        largest_difference(binaries, part.X_test),
        others,
        measure_peak_megabytes(lambda: peer.predict(part.X_test)),
        measure_peak_megabytes(predict),
    )


def load_sparse(name: str) -> tuple[sparse.csr_matrix, np.ndarray]:
    if name == MADE_SPARSE:
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(20), 500)
        X = sparse.random(len(y), 20_000, 0.003, "csr", random_state=rng)
        return X + sparse.csr_matrix((np.ones(len(y)), (np.arange(len(y)), y)), X.shape), y
    X, y = load_svmlight_file(str(data.need_file(f"{name}.svmlight.gz")))
    return X, y


def measure_sparse(name: str) -> Row:
    X, y = load_sparse(name)
    parts = train_test_split(X, y, test_size=0.7, stratify=y, random_state=0)
    X_train, X_test, y_train, _ = parts
    ours = pt.PolytomyClassifier(LinearSVC(), final_calibration=None, random_state=0, n_jobs=2).fit(
        X_train, y_train
    )
    bank = Bank(ours.binaries_)

    def predict_unchecked() -> np.ndarray:
        modules: list[Any] = [composition, samples, training_data]
        for module in modules:
            module.check_sparse = lambda X, name="X": X
        try:
            return np.asarray(ours.predict(X_test))
        finally:
            for module in modules:
                module.check_sparse = check_sparse

    others = float(np.mean(ours.predict(X_test) != predict_unchecked()))
    peer_seconds, seconds, bank_seconds = time_in_turns(
        (predict_unchecked, REPEATS),
        (lambda: ours.predict(X_test), REPEATS),
        (lambda: bank.decisions(X_test), REPEATS),
    )
    return Row(
        "predict, sparse one-vs-one linear",
        name,
        len(ours.classes_),
        X_test.shape[0],
        "unchecked",
        peer_seconds,
        seconds,
        peer_seconds / seconds,
        bank_seconds,
        peer_seconds / bank_seconds,
        largest_difference(ours.binaries_, X_test),
        others,
        measure_peak_megabytes(predict_unchecked),
        measure_peak_megabytes(lambda: ours.predict(X_test)),
    )


def show(row: Row) -> None:
    print(
        f"{row.work:34}{row.dataset:22}{row.classes:5}{row.samples:7}{row.peer:>22}"
        f"{row.peer_seconds:9.3f}{row.seconds:9.4f}{row.ratio:8.2f}x"
        f"{row.bank_seconds:9.4f}{row.bank_ratio:8.1f}x{row.from_own:10.1e}{row.from_peer:10.1e}"
        f"{row.peer_megabytes:8.0f}{row.megabytes:8.0f}",
        flush=True,
    )


def main(names: list[str]) -> None:
    print(
        f"{'work':34}{'dataset':22}{'cl.':>5}{'rows':>7}{'peer':>22}{'peer s':>9}{'s':>9}{'':9}"
        f"{'bank s':>9}{'':9}{'from own':>10}{'from peer':>10}{'peer MB':>8}{'MB':>8}"
    )
    known = data.available((*MACHINES, *REGRESSIONS)) or list(MADE)
    known.append(SPARSE if data.find_file(f"{SPARSE}.svmlight.gz") else MADE_SPARSE)
    rows = []
    for name in names or dict.fromkeys(known):
        print(f"{name} …", file=sys.stderr, flush=True)
        if name in (SPARSE, MADE_SPARSE):
            rows.append(measure_sparse(name))
            show(rows[-1])
            continue
        part = load(name)
        if name in MACHINES or name == "made-26":
            for scheme in ("one-vs-one", "one-vs-rest"):
                rows.append(measure_machines(name, scheme, part))
                show(rows[-1])
        if name in REGRESSIONS or name in MADE:
            rows.append(measure_regressions(name, part))
            show(rows[-1])
    if not names:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        with RESULTS.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(Row._fields)
            writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
