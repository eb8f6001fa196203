"""Models that take ten classes: `scheme="limited"` beside tabpfn-extensions' ManyClassClassifier.

Learners that would take any number of classes are made to refuse more than ten. The peer is
ManyClassClassifier itself if tabpfn-extensions is installed (it needs torch). Otherwise it is
`CoverClassifier` below, a stand-in with the same published rule: nine classes and the rest in each
model, the classes that had a side least often first, the code with the largest distance between
classes out of 50, geometric means of the classes' own sides, and a refit at each prediction.

For each dataset and learner, half of the rows are test rows. The table has the number of models and
fits, accuracy, log-loss, and the time to predict one row, the best of five. The CSV file also has
the accuracy and log-loss of a peer with as many models, and of one with as many as are fitted.

    python -m benchmarks limited [dataset ...] [learner ...] [seed]

It writes docs/results/limited.csv and the table in docs/limited.md, unless something is selected.
"""

from __future__ import annotations

import csv
import math
import warnings
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polytomy as pt
from benchmarks.data import load
from benchmarks.pages import DOCS, replace_table

RESULTS = DOCS / "results" / "limited.csv"
COLUMNS = (
    *("data", "classes", "learner", "rows", "peer_models", "peer_accuracy", "peer_log_loss"),
    *("peer_row_ms", "scheme", "models", "fits", "accuracy", "log_loss", "row_ms"),
    *("same_models_accuracy", "same_models_log_loss", "same_fits_accuracy", "same_fits_log_loss"),
)
LIMIT, N_ROWS = 10, 3000


class TenClasses(ClassifierMixin, BaseEstimator):
    """A learner that refuses more than ten classes."""

    def __init__(self, learner: Any = None) -> None:
        self.learner = learner

    def fit(self, X: Any, y: Any) -> TenClasses:
        self.classes_ = np.unique(y)
        if len(self.classes_) > LIMIT:
            raise ValueError(f"Number of classes {len(self.classes_)} exceeds the limit, {LIMIT}.")
        self.model_ = clone(self.learner).fit(X, y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class CoverClassifier(ClassifierMixin, BaseEstimator):
    """A stand-in with the rule of ManyClassClassifier; it is not its code."""

    def __init__(
        self,
        estimator: Any = None,
        alphabet_size: int = LIMIT,
        n_estimators: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.alphabet_size = alphabet_size
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> CoverClassifier:
        self.classes_, self._y = np.unique(y, return_inverse=True)
        self._X, n_own = X, self.alphabet_size - 1
        n_classes, rng = len(self.classes_), np.random.default_rng(self.random_state)
        n_digits = math.ceil(math.log(n_classes, self.alphabet_size))
        n_rows = self.n_estimators or max(math.ceil(n_classes / n_own), 4 * n_digits)
        best = (-1.0, -1.0)
        for _ in range(50):
            code, counts = np.full((n_rows, n_classes), n_own), np.zeros(n_classes)
            for row in code:
                own = np.argsort(counts + rng.uniform(0, 0.1, n_classes))[:n_own]
                row[own] = rng.permutation(n_own)
                counts[own] += 1
            apart = pdist(code.T, "hamming")
            if (apart.min(), apart.mean()) > best:
                best, self.code_book_ = (apart.min(), apart.mean()), code
        return self

    def predict_proba(self, X: Any) -> Any:
        n_own = self.alphabet_size - 1
        sums, counts = np.zeros((len(X), len(self.classes_))), np.zeros(len(self.classes_))
        for row in self.code_book_:
            model = clone(self.estimator).fit(self._X, row[self._y])
            # ManyClassClassifier evaluates the training rows too.
            answers = model.predict_proba(np.concatenate([self._X, X]))[len(self._X) :]
            is_own = row < n_own
            sums[:, is_own] += np.log(np.clip(answers[:, row[is_own]], 1e-12, 1.0))
            counts += is_own
        scores = np.exp(sums / counts - (sums / counts).max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)


def find_peer() -> tuple[str, Any]:
    """Return the peer and its name."""
    try:
        from tabpfn_extensions.many_class import ManyClassClassifier
    except ImportError:
        return "CoverClassifier (stand-in)", CoverClassifier
    return "ManyClassClassifier", ManyClassClassifier


def make_learners() -> dict[str, Any]:
    scaled = StandardScaler()
    return {
        "logistic regression": make_pipeline(scaled, LogisticRegression(max_iter=300)),
        "random forest": RandomForestClassifier(60, random_state=0),
        "naive Bayes": make_pipeline(scaled, GaussianNB(var_smoothing=1e-3)),
        "nearest neighbours": make_pipeline(scaled, KNeighborsClassifier(15)),
    }


def read(name: str, seed: int) -> tuple[Any, Any]:
    """Return at most 3000 samples of a dataset, without classes of fewer than four."""
    rng = np.random.default_rng(seed)
    if name == "digit sums":
        images, digits = load_digits(return_X_y=True)
        one, other = rng.integers(len(digits), size=(2, N_ROWS))
        return np.hstack([images[one], images[other]]), digits[one] + digits[other]
    if name == "synthetic":
        return make_classification(
            N_ROWS, 30, n_informative=15, n_redundant=5, n_classes=60, n_clusters_per_class=1,
            class_sep=1.5, random_state=seed + 60,
        )  # fmt: skip
    X, y = load(name)
    if len(y) > N_ROWS and "omniglot" not in name:
        rows = rng.permutation(len(y))[:N_ROWS]
        X, y = X[rows], y[rows]
    _, number, counts = np.unique(y, return_inverse=True, return_counts=True)
    return X[counts[number] >= 4], y[counts[number] >= 4]


DATASETS = (
    *("primarytumor", "krkopt", "digit sums", "letter", "synthetic"),
    "omniglot_small",
)


def time_row(model: Any, row: Any) -> float:
    """Return milliseconds to predict one row, the best of five."""
    times = []
    for _ in range(5):
        started = perf_counter()
        model.predict_proba(row)
        times.append(perf_counter() - started)
    return 1000 * min(times)


def judge(model: Any, X: Any, y: Any) -> list[float]:
    """Return accuracy and log-loss."""
    proba = model.predict_proba(X)
    predicted = model.classes_[proba.argmax(axis=1)]
    loss = log_loss(y, np.clip(proba, 1e-15, 1.0), labels=model.classes_)
    return [accuracy_score(y, predicted), loss]


def measure(data: str, learner: str, seed: int) -> dict[str, Any]:
    """Return the results of both on one dataset with one learner."""
    X, y = read(data, seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    labels, estimator = np.unique(y), TenClasses(make_learners()[learner])
    make_peer = partial(find_peer()[1], estimator, alphabet_size=LIMIT, random_state=seed)
    peer = make_peer().fit(X, y)
    ours = pt.PolytomyClassifier(estimator, "limited", max_sides=LIMIT, random_state=seed)
    planned = pt.plan(ours, X, y)
    ours.fit(X, y)
    scores = []
    for model in (peer, ours):
        scores += [*judge(model, X_test, y_test), time_row(model, X_test[:1])]
    for number in (len(ours.estimators_), planned.n_fits):
        scores += judge(make_peer(n_estimators=number).fit(X, y), X_test, y_test)
    name = ours.binaries_[0].name.split("-0")[0].split(".")[0].split("/")[0]
    if hasattr(ours.scheme_, "schemes"):
        name = f"{len(ours.scheme_)} {name} trees"
    values = [data, len(labels), learner, len(y), len(peer.code_book_)]
    values += [*scores[:3], name, len(ours.estimators_), planned.n_fits, *scores[3:]]
    return dict(zip(COLUMNS, values, strict=True))


def main(words: list[str]) -> None:
    warnings.filterwarnings("ignore")
    seed = next((int(word) for word in words if word.isdecimal()), 0)
    datasets = [name for name in DATASETS if not words or any(word in name for word in words)]
    learners = [name for name in make_learners() if any(word in name for word in words)]
    print(f"peer: {find_peer()[0]}")
    rows = []
    for data in datasets or DATASETS:
        for learner in learners or make_learners():
            row = measure(data, learner, seed)
            rows.append(row)
            ratio = row["log_loss"] / row["peer_log_loss"]
            print(*_cells(row), f"{ratio:.3f}", sep=" | ", flush=True)
    ratios = np.array([row["log_loss"] / row["peer_log_loss"] for row in rows])
    gains = [row["accuracy"] - row["peer_accuracy"] for row in rows]
    faster = np.array([row["peer_row_ms"] / row["row_ms"] for row in rows])
    fits = max(row["fits"] / row["peer_models"] for row in rows)
    print(
        f"log-loss over the peer's: mean {ratios.mean():.3f}, worst {ratios.max():.3f}; "
        f"accuracy {100 * np.mean(gains):+.1f} points; one row {np.exp(np.log(faster).mean()):.0f} "
        f"times faster (geometric mean), at least {faster.min():.1f}; at most {fits:.1f} times its "
        "fits"
    )
    for kind in ("models", "fits"):
        ratios = np.array([row["log_loss"] / row[f"same_{kind}_log_loss"] for row in rows])
        gains = [row["accuracy"] - row[f"same_{kind}_accuracy"] for row in rows]
        print(
            f"with as many {kind}: mean {ratios.mean():.3f}, worst {ratios.max():.3f}; accuracy "
            f"{100 * np.mean(gains):+.1f} points"
        )
    if words:
        return
    with RESULTS.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(
            {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows
        )
    header = ["data", "classes", "learner", "peer: models", "accuracy", "log-loss", "one row"]
    header += ["limited: scheme", "models", "fits", "accuracy", "log-loss", "one row"]
    replace_table("limited.md", "limited", header, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row of the table."""
    texts = []
    for name in COLUMNS:
        value = row[name]
        if name == "rows" or name.startswith("same"):
            continue
        if name.endswith("row_ms"):
            texts.append(f"{float(f'{value:.3g}'):g} ms")  # 1020, not 1.02e+03
        elif name.endswith("accuracy"):
            texts.append(f"{value:.3f}")
        elif name.endswith("log_loss"):
            texts.append(f"{value:.2f}")
        else:
            texts.append(str(value))
    return texts
