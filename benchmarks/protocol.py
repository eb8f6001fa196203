"""The protocol of the trials, run with polytomy, scikit-learn's meta-estimators and LIBSVM.

One split of each dataset, as in the trials, with the options of Mills's experiments. The binary
classifier of the meta-estimators is `CalibratedClassifierCV(SVC(), ensemble=False)`, which also
calibrates on five folds; they use two jobs, like polytomy. LIBSVM's programs are `svm-train -b 1`
and `svm-predict -b 1`; their times include reading text files, their only input format.
OutputCodeClassifier uses random codes with as many rows as the orthogonal code.

Training and prediction are each timed once, after a small fit as a warm-up. The uncertainty
coefficient and the log-loss show whether the predictions are as good. The log-loss is empty if the
peer has no probabilities.

    POLYTOMY_DATA=folder python -m benchmarks protocol [dataset ...]
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import dump_svmlight_file
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier

import polytomy as pt
from benchmarks import data
from polytomy import metrics
from polytomy.trials import PAPER_PAIRS, Protocol, load_datasets

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "protocol.csv"
N_JOBS = 2
N_WARM_UP = 600


class Outcome(NamedTuple):
    """Times and predictions: labels, and probabilities if there are any."""

    fit_seconds: float
    predict_seconds: float
    predicted: np.ndarray
    probabilities: np.ndarray | None


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    started = perf_counter()
    answer = act()
    return perf_counter() - started, answer


def run_polytomy(scheme: str, svc: Any, part: Any) -> Outcome:
    classifier = pt.PolytomyClassifier(
        svc, scheme, final_calibration=None, n_jobs=N_JOBS, random_state=0
    )
    fit_seconds, _ = timed(lambda: classifier.fit(part.X_train, part.class_indices_train))
    predict_seconds, found = timed(lambda: classifier.predict_proba(part.X_test))
    return Outcome(fit_seconds, predict_seconds, found.argmax(axis=1), found)


def run_meta_estimator(scheme: str, svc: Any, part: Any) -> Outcome:
    binary = CalibratedClassifierCV(svc, ensemble=False)
    if scheme == "one-vs-one":
        peer: Any = OneVsOneClassifier(binary, n_jobs=N_JOBS)
    elif scheme == "one-vs-rest":
        peer = OneVsRestClassifier(binary, n_jobs=N_JOBS)
    else:
        n_classes = len(np.unique(part.class_indices_train))
        n_rows = pt.designs.orthogonal(n_classes, random_state=0).n_partitions
        peer = OutputCodeClassifier(
            binary, code_size=n_rows / n_classes, random_state=0, n_jobs=N_JOBS
        )
    fit_seconds, _ = timed(lambda: peer.fit(part.X_train, part.class_indices_train))
    has_probabilities = hasattr(peer, "predict_proba")
    predict = peer.predict_proba if has_probabilities else peer.predict
    predict_seconds, found = timed(lambda: predict(part.X_test))
    if has_probabilities:
        return Outcome(fit_seconds, predict_seconds, found.argmax(axis=1), found)
    return Outcome(fit_seconds, predict_seconds, found, None)


def run_libsvm(scheme: str, svc: Any, part: Any) -> Outcome:
    gamma = 1 / part.X_train.shape[1] if svc.gamma == "auto" else svc.gamma
    with tempfile.TemporaryDirectory() as home:
        names = {word: str(Path(home, word)) for word in ("train", "test", "model", "out")}
        dump_svmlight_file(part.X_train, part.class_indices_train, names["train"], zero_based=False)
        dump_svmlight_file(part.X_test, part.class_indices_test, names["test"], zero_based=False)
        options = ["-b", "1", "-q", "-c", f"{svc.C:g}", "-g", repr(float(gamma))]
        train = ["svm-train", *options, names["train"], names["model"]]
        predict = ["svm-predict", "-b", "1", "-q", names["test"], names["model"], names["out"]]
        fit_seconds, _ = timed(lambda: subprocess.run(train, check=True))
        predict_seconds, _ = timed(lambda: subprocess.run(predict, check=True))
        lines = Path(names["out"]).read_text().splitlines()
    order = np.array(lines[0].split()[1:], dtype=np.intp)
    table = np.array([line.split() for line in lines[1:]], dtype=np.float64)
    probabilities = np.empty_like(table[:, 1:])
    probabilities[:, order] = table[:, 1:]
    return Outcome(fit_seconds, predict_seconds, table[:, 0].astype(np.intp), probabilities)


COMPARISONS = (
    ("one-vs-one", "OneVsOneClassifier", run_meta_estimator),
    ("one-vs-one", "svm-train and svm-predict", run_libsvm),
    ("one-vs-rest", "OneVsRestClassifier", run_meta_estimator),
    ("orthogonal", "OutputCodeClassifier", run_meta_estimator),
)


def take_few(part: Any) -> Any:
    """Return a small subset with the same classes."""
    rows = np.concatenate(
        [
            np.flatnonzero(part.class_indices_train == k)[:30]
            for k in np.unique(part.class_indices_train)
        ]
    )[:N_WARM_UP]
    tests = slice(0, 50)
    return part._replace(
        X_train=part.X_train[rows],
        class_indices_train=part.class_indices_train[rows],
        X_test=part.X_test[tests],
        class_indices_test=part.class_indices_test[tests],
    )


def judge(outcome: Outcome, part: Any) -> dict[str, Any]:
    truth = part.class_indices_test
    row = {
        "fit_seconds": round(outcome.fit_seconds, 3),
        "predict_seconds": round(outcome.predict_seconds, 4),
        "uncertainty_coefficient": round(
            metrics.uncertainty_coefficient(truth, outcome.predicted), 4
        ),
        "log_loss": "",
    }
    if outcome.probabilities is not None:
        classes = np.arange(outcome.probabilities.shape[1])
        row["log_loss"] = round(metrics.log_loss(truth, outcome.probabilities, classes), 4)
    return row


def compare(name: str, dataset: Any, protocol: Protocol) -> list[dict[str, Any]]:
    part = protocol.split(dataset, 0)
    svc = protocol.estimator_for(name)
    rows = []
    for scheme in dict.fromkeys(scheme for scheme, _, _ in COMPARISONS):
        run_polytomy(scheme, svc, take_few(part))
        ours = run_polytomy(scheme, svc, part)
        for own_scheme, peer, run in COMPARISONS:
            if own_scheme != scheme or (run is run_libsvm and shutil.which("svm-train") is None):
                continue
            theirs = run(scheme, svc, part)
            row = {"dataset": name, "scheme": scheme, "peer": peer}
            row |= {f"polytomy_{key}": value for key, value in judge(ours, part).items()}
            row |= {f"peer_{key}": value for key, value in judge(theirs, part).items()}
            row["training_ratio"] = round(theirs.fit_seconds / ours.fit_seconds, 1)
            row["prediction_ratio"] = round(theirs.predict_seconds / ours.predict_seconds, 1)
            print(f"{name} {scheme} against {peer}: {row}", flush=True)
            rows.append(row)
    return rows


def main(words: list[str]) -> None:
    names = words or data.available()
    if not names:
        print("no datasets: set POLYTOMY_DATA to their folder")
        return
    warnings.simplefilter("ignore")
    protocol = Protocol(PAPER_PAIRS)
    done = []
    if RESULTS.is_file():
        with RESULTS.open(newline="") as file:
            done = [row for row in csv.DictReader(file) if row["dataset"] not in names]
    for name in names:
        (dataset,) = load_datasets([name], data.folder())
        done += compare(name, dataset, protocol)
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(done[0]))
            writer.writeheader()
            writer.writerows(done)
