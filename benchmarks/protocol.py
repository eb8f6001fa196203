"""The protocol of the trials, run with polytomy, scikit-learn's meta-estimators and LIBSVM.

One split of each dataset as the trials make it, with the options of Mills's experiments. The
meta-estimators have `CalibratedClassifierCV(SVC(), ensemble=False)` as their binary, which is the
same calibration from five folds, and two jobs, as polytomy has. LIBSVM's programs are `svm-train -b
1` and `svm-predict -b 1`; their times include the reading of their text files, which is all they
read. OutputCodeClassifier has random codes, of as many rows as the orthogonal one.

Training and prediction are each timed once, after a small fit that loads what has to be loaded.
The uncertainty coefficient and the log-loss say whether the answers are as good. A dash means that
the peer gives no probabilities, or takes more time than it is worth.

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
FEW = 600


class Outcome(NamedTuple):
    """What a contender took, and its answers: labels, and probabilities where it has some."""

    fit_seconds: float
    predict_seconds: float
    predicted: np.ndarray
    probabilities: np.ndarray | None


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    started = perf_counter()
    answer = act()
    return perf_counter() - started, answer


def run_polytomy(scheme: str, svc: Any, part: Any) -> Outcome:
    classifier = pt.PolytomyClassifier(svc, scheme, n_jobs=N_JOBS, random_state=0)
    fit_seconds, _ = timed(lambda: classifier.fit(part.X_train, part.codes_train))
    predict_seconds, found = timed(lambda: classifier.predict_proba(part.X_test))
    return Outcome(fit_seconds, predict_seconds, found.argmax(axis=1), found)


def run_meta_estimator(scheme: str, svc: Any, part: Any) -> Outcome:
    binary = CalibratedClassifierCV(svc, ensemble=False)
    if scheme == "one-vs-one":
        peer: Any = OneVsOneClassifier(binary, n_jobs=N_JOBS)
    elif scheme == "one-vs-rest":
        peer = OneVsRestClassifier(binary, n_jobs=N_JOBS)
    else:
        n_classes = len(np.unique(part.codes_train))
        n_rows = pt.designs.orthogonal(n_classes, random_state=0).n_partitions
        peer = OutputCodeClassifier(
            binary, code_size=n_rows / n_classes, random_state=0, n_jobs=N_JOBS
        )
    fit_seconds, _ = timed(lambda: peer.fit(part.X_train, part.codes_train))
    gives = hasattr(peer, "predict_proba")
    ask = peer.predict_proba if gives else peer.predict
    predict_seconds, found = timed(lambda: ask(part.X_test))
    if gives:
        return Outcome(fit_seconds, predict_seconds, found.argmax(axis=1), found)
    return Outcome(fit_seconds, predict_seconds, found, None)


def run_libsvm(scheme: str, svc: Any, part: Any) -> Outcome:
    gamma = 1 / part.X_train.shape[1] if svc.gamma == "auto" else svc.gamma
    with tempfile.TemporaryDirectory() as home:
        names = {word: str(Path(home, word)) for word in ("train", "test", "model", "out")}
        dump_svmlight_file(part.X_train, part.codes_train, names["train"], zero_based=False)
        dump_svmlight_file(part.X_test, part.codes_test, names["test"], zero_based=False)
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


CONTESTS = (
    ("one-vs-one", "OneVsOneClassifier", run_meta_estimator),
    ("one-vs-one", "svm-train and svm-predict", run_libsvm),
    ("one-vs-rest", "OneVsRestClassifier", run_meta_estimator),
    ("orthogonal", "OutputCodeClassifier", run_meta_estimator),
)


def few_of(part: Any) -> Any:
    """A small part of the same classes."""
    rows = np.concatenate(
        [np.flatnonzero(part.codes_train == k)[:30] for k in np.unique(part.codes_train)]
    )[:FEW]
    tests = slice(0, 50)
    return part._replace(
        X_train=part.X_train[rows],
        codes_train=part.codes_train[rows],
        X_test=part.X_test[tests],
        codes_test=part.codes_test[tests],
    )


def judge(outcome: Outcome, part: Any) -> dict[str, Any]:
    truth = part.codes_test
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


def contest(name: str, dataset: Any, protocol: Protocol) -> list[dict[str, Any]]:
    part = protocol.split(dataset, 0)
    svc = protocol.estimator_for(name)
    rows = []
    for scheme in dict.fromkeys(scheme for scheme, _, _ in CONTESTS):
        run_polytomy(scheme, svc, few_of(part))
        ours = run_polytomy(scheme, svc, part)
        for own_scheme, peer, run in CONTESTS:
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
        done += contest(name, dataset, protocol)
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(done[0]))
            writer.writeheader()
            writer.writerows(done)
