"""How fast are small things, compared with scikit-learn?

- fit: 100, 300 and 460 rows, the default SVC, one-vs-one, compared with SVC(probability=True).
- one row: `predict_proba` of one row by the same models.
- few rows: `predict_proba` of 1, 2, 4, … 64 rows by models of 4000 rows.
- hierarchy: `predict_proba` of one sparse row by 36 logistic regressions, for 300 classes whose
  labels are paths, compared with one LogisticRegression.
- linear votes: `predict` of 360 rows by one-vs-one linear models of 15 classes, compared with
  OneVsOneClassifier.
- one-vs-rest: `fit` with LinearSVC and 300 classes, or as many as the argument `classes=…` says,
  compared with OneVsRestClassifier(CalibratedClassifierCV(LinearSVC())).

Times are those of the processor, the shortest of several, with peer and polytomy taking turns;
one-vs-rest runs once. With the argument `busy`, as many other processes as there are cores keep the
machine busy, and times are medians of what a user waits. "difference" is the largest difference
between a decision value and that of SVC's own machine; for linear votes, the share of samples whose
class by the peer does not have the most votes here.
Data is standardised; the first rows of a random order are for training and the others for testing.

    POLYTOMY_DATA=folder python -m benchmarks small [busy] [few-rows] [hierarchy] [classes=300]
        [dataset ...]
"""

from __future__ import annotations

import csv
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from benchmarks import data
from polytomy.learners.bank import Bank

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "small.csv"

BUNDLED: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "digits": load_digits,
}
OTHERS = ("ecoli", "segment", "sat", "pendigits", "letter")
SIZES = (100, 300, 460)
TARGETS = {"fit": {100: 1.5, 300: 1.0, 460: 1.0}, "one row": 1.2, "wide row": 0.6}
REPEATS = {"fit": 15, "one row": 300, "linear votes": 15}
LARGE = ("usps", "letter")
N_LARGE, WIDE = 4000, 100
NUMBERS_OF_ROWS = (1, 2, 4, 8, 16, 32, 64)


class Row(NamedTuple):
    work: str
    dataset: str
    rows: int
    classes: int
    peer_milliseconds: float
    milliseconds: float
    ratio: float  # of polytomy's time to the peer's
    target: float
    difference: float
    accuracy: float
    peer_accuracy: float
    is_busy: bool


def time_in_turns(repeats: int, is_busy: bool, *tasks: Callable[[], Any]) -> list[float]:
    """Return the milliseconds of each task, taking turns so that all see the same load."""
    clock = time.perf_counter if is_busy else time.process_time
    times: list[list[float]] = [[] for _ in tasks]
    for task in tasks:
        task()
    for _ in range(repeats):
        for task, own in zip(tasks, times, strict=True):
            start = clock()
            task()
            own.append(1000 * (clock() - start))
    return [float(np.median(own) if is_busy else np.min(own)) for own in times]


def spin() -> None:
    while True:
        pass


@contextmanager
def busy_machine(is_busy: bool) -> Iterator[None]:
    """Keep every core busy with another process."""
    n_others = multiprocessing.cpu_count() if is_busy else 0
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(n_others)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def load(name: str, n_train: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Return training and test samples, or None if the dataset has too few rows."""
    X, y = BUNDLED[name](return_X_y=True) if name in BUNDLED else data.load(name)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:n_train], order[n_train : n_train + 1000]
    if len(test) < 20:
        return None
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def measure_machines(name: str, n_train: int, *, is_busy: bool) -> list[Row]:
    parts = load(name, n_train)
    if parts is None:
        return []
    X, y, X_test, y_test = parts
    ours = pt.PolytomyClassifier(SVC(), random_state=0)
    peer = SVC(probability=True, random_state=0, decision_function_shape="ovo")
    fitting = time_in_turns(REPEATS["fit"], is_busy, lambda: ours.fit(X, y), lambda: peer.fit(X, y))
    one = X_test[:1]
    answering = time_in_turns(
        REPEATS["one row"],
        is_busy,
        lambda: ours.predict_proba(one),
        lambda: peer.predict_proba(one),
    )
    values = np.column_stack([binary.scores(X_test) for binary in ours.binaries_])
    theirs = peer.decision_function(X_test).reshape(len(X_test), -1)
    # SVC's values are positive for the first class of a pair, except for its only pair.
    difference = np.abs(values - (theirs if len(ours.classes_) == 2 else -theirs)).max()
    accuracies = [float(np.mean(each.predict(X_test) == y_test)) for each in (ours, peer)]
    return [
        Row(
            work,
            name,
            n_train,
            len(ours.classes_),
            theirs_ms,
            ours_ms,
            ours_ms / theirs_ms,
            target,
            float(difference),
            *accuracies,
            is_busy,
        )
        for work, (ours_ms, theirs_ms), target in (
            ("fit", fitting, TARGETS["fit"][n_train]),
            ("one row", answering, TARGETS["one row"]),
        )
    ]


def make_clouds(
    n_classes: int, n_each: int, n_features: int, spread: float = 1.5
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(n_classes), n_each)
    centres = rng.normal(scale=spread, size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(len(y), n_features)), y


def load_large(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 4000 training samples with their classes, and test samples."""
    if name.startswith("made-"):
        n_features = int(name[5:])
        X, y = make_clouds(11 if n_features < WIDE else 10, 500, n_features, 3 / n_features**0.5)
    else:
        X, y = data.load(name)
    order = np.random.default_rng(0).permutation(len(X))[: N_LARGE + NUMBERS_OF_ROWS[-1]]
    return X[order[:N_LARGE]], y[order[:N_LARGE]], X[order[N_LARGE:]]


def measure_few_rows(name: str, *, is_busy: bool) -> list[Row]:
    X, y, X_test = load_large(name)
    ours = pt.PolytomyClassifier(SVC(), random_state=0).fit(X, y)
    peer = SVC(probability=True, random_state=0, decision_function_shape="ovo").fit(X, y)
    values = np.column_stack([binary.scores(X_test) for binary in ours.binaries_])
    difference = float(np.abs(values + peer.decision_function(X_test)).max())
    rows = []
    for n_rows in NUMBERS_OF_ROWS:
        few = X_test[:n_rows]
        times = time_in_turns(
            max(20, REPEATS["one row"] // n_rows),
            is_busy,
            lambda few=few: ours.predict_proba(few),
            lambda few=few: peer.predict_proba(few),
        )
        target = TARGETS["wide row" if X.shape[1] >= WIDE else "one row"]
        nothing = float("nan")
        rows.append(
            Row(
                "few rows",
                name,
                n_rows,
                len(ours.classes_),
                times[1],
                times[0],
                times[0] / times[1],
                target,
                difference,
                nothing,
                nothing,
                is_busy,
            )
        )
    return rows


def measure_hierarchy(*, is_busy: bool) -> Row:
    """Measure one row of 36 models: 5 groups of 6 groups of 10 classes, in sparse text."""
    paths = [f"{i}/{j}/{k}" for i in range(5) for j in range(6) for k in range(10)]
    y = np.repeat(np.arange(300), 10)
    centres = sparse.random(300, 20_000, 0.002, "csr", random_state=0)
    X = sparse.csr_matrix(centres[y] + sparse.random(3000, 20_000, 0.002, "csr", random_state=1))
    labels = np.array(paths)[y]
    model = LogisticRegression(max_iter=50)
    ours = pt.PolytomyClassifier(model, pt.designs.from_paths(paths), random_state=0).fit(X, labels)
    peer = model.fit(X, labels)
    one = X[:1]
    ours_ms, theirs_ms = time_in_turns(
        REPEATS["one row"],
        is_busy,
        lambda: ours.predict_proba(one),
        lambda: peer.predict_proba(one),
    )
    few = X[:200]
    own = np.column_stack([binary.scores(few) for binary in ours.binaries_])
    return Row(
        "hierarchy",
        "made, 20,000 features",
        1,
        300,
        theirs_ms,
        ours_ms,
        ours_ms / theirs_ms,
        float("nan"),
        float(np.abs(Bank(ours.binaries_).scores(few) - own).max()),
        float(np.mean(ours.predict(few) == labels[:200])),
        float(np.mean(peer.predict(few) == labels[:200])),
        is_busy,
    )


def measure_linear_votes(estimator: Any, *, is_busy: bool) -> Row:
    X, y = make_clouds(15, 48, 90)
    peer = OneVsOneClassifier(estimator).fit(X[:360], y[:360])
    ours = pt.PolytomyClassifier(estimator, solver="hamming", random_state=0).fit(X[:360], y[:360])
    X_test, y_test = X[360:], y[360:]
    ours_ms, theirs_ms = time_in_turns(
        REPEATS["linear votes"],
        is_busy,
        lambda: ours.predict(X_test),
        lambda: peer.predict(X_test),
    )
    votes, winners = ours.decision_function(X_test), peer.predict(X_test)
    is_less = votes[np.arange(len(votes)), winners] < votes.max(axis=1)
    return Row(
        "linear votes",
        type(estimator).__name__,
        len(X_test),
        15,
        theirs_ms,
        ours_ms,
        ours_ms / theirs_ms,
        1 / 25,
        float(np.mean(is_less)),
        float(np.mean(ours.predict(X_test) == y_test)),
        float(np.mean(winners == y_test)),
        is_busy,
    )


def measure_one_vs_rest(n_classes: int, *, is_busy: bool) -> Row:
    X, y = make_clouds(n_classes, 10, 20)
    X_test, y_test = X[-2 * n_classes :], y[-2 * n_classes :]
    X, y = X[: -2 * n_classes], y[: -2 * n_classes]
    models = [
        pt.PolytomyClassifier(LinearSVC(), "one-vs-rest", random_state=0),
        OneVsRestClassifier(CalibratedClassifierCV(LinearSVC())),
    ]
    times, accuracies = [], []
    for model in models:
        start = time.process_time()
        model.fit(X, y)
        times.append(1000 * (time.process_time() - start))
        accuracies.append(float(np.mean(model.predict(X_test) == y_test)))
    return Row(
        "one-vs-rest fit",
        "LinearSVC",
        len(X),
        n_classes,
        times[1],
        times[0],
        times[0] / times[1],
        1.0,
        float("nan"),
        *accuracies,
        is_busy,
    )


def show(row: Row) -> None:
    print(
        f"{row.work:17}{row.dataset:20}{row.rows:6}{row.classes:6}{row.milliseconds:11.3f}"
        f"{row.peer_milliseconds:12.3f}{row.ratio:9.3f}{row.target:8.2f}{row.difference:11.1e}"
        f"{row.accuracy:9.3f} /{row.peer_accuracy:6.3f}",
        flush=True,
    )


def main(words: list[str]) -> None:
    is_busy = "busy" in words
    (n_classes,) = [int(word[8:]) for word in words if word.startswith("classes=")] or [300]
    parts = {"few-rows", "hierarchy"}
    names = [word for word in words if word != "busy" and not word.startswith("classes=")]
    chosen, names = parts & set(names), [name for name in names if name not in parts]
    print(
        f"{'work':17}{'data':20}{'rows':>6}{'cl.':>6}{'ms':>11}{'peer ms':>12}{'ratio':>9}"
        f"{'target':>8}{'difference':>11}{'accuracy of both':>18}"
    )
    rows: list[Row] = []

    def add(found: list[Row]) -> None:
        for row in found:
            show(row)
        rows.extend(found)

    with warnings.catch_warnings(), busy_machine(is_busy):
        warnings.simplefilter("ignore")  # SVC's probabilities are deprecated
        is_whole = not names and not chosen
        for name in names or ([*BUNDLED, *data.available(OTHERS)] if is_whole else []):
            for n_train in SIZES:
                add(measure_machines(name, n_train, is_busy=is_busy))
        if is_whole or "few-rows" in chosen:
            for name in ("made-717", "made-40", *data.available(LARGE)):
                add(measure_few_rows(name, is_busy=is_busy))
        if is_whole or "hierarchy" in chosen:
            add([measure_hierarchy(is_busy=is_busy)])
        if is_whole:
            for estimator in (LogisticRegression(), LinearSVC()):
                add([measure_linear_votes(estimator, is_busy=is_busy)])
            add([measure_one_vs_rest(n_classes, is_busy=is_busy)])
    if is_whole and not is_busy and data.available():
        with RESULTS.open("w", newline="") as file:
            writer = csv.writer(file)
            columns = [name for name in Row._fields if name != "target"]
            writer.writerow(columns)
            writer.writerows([getattr(row, name) for name in columns] for row in rows)


if __name__ == "__main__":
    main(sys.argv[1:])
