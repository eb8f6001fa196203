"""How fast are calibrated support vector machines trained, and do the results agree?

RBF SVMs on standardised, stratified 70/30 splits. Each fit runs in its own process, after a small
fit as a warm-up. polytomy uses two threads, peers two jobs if they support jobs; the tolerance is
0.001 for all.

`work` compares processor time summed over all cores, which depends less on other load. `values` and
`answers` are the largest differences in decision values and in probabilities on the test samples,
between some of polytomy's binaries and the same ones trained one by one by scikit-learn's SVC, with
the same folds. If only some partitions of a code are trained, accuracy is their mean accuracy.
Memory is the peak during the fit above the memory used before, summed over all processes; it needs
Linux.

    POLYTOMY_DATA=folder python -m benchmarks training [dataset ...]
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

import polytomy as pt
from benchmarks import data
from polytomy.calibration.folds import make_folds
from polytomy.inputs.rows import group_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.any_estimator import train_estimator
from polytomy.learners.problems import binary_problem
from polytomy.learners.workload import TrainingOptions
from polytomy.model.arrangement import bind_classes, make_dichotomies
from polytomy.model.fitting import fit_binaries

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "training.csv"

ONE_VS_ONE = ("letter", "usps", "pendigits", "digits")
OTHER_SCHEMES = ("letter", "usps", "humidity")
TARGETS = {"one-vs-one": 1.5, "one-vs-rest": 4.0, "adjacent": 4.0, "orthogonal": 4.0}

# Train only the first partitions of large codes: with all, the peer takes a quarter of an hour.
MOST_PARTITIONS = {"adjacent": 7, "orthogonal": 6}
COMPARED = 4


def split_of(name: str) -> data.Split:
    X, y = load_digits(return_X_y=True) if name == "digits" else data.load(name)
    return data.split(X, y, seed=0)


# -- one fit, in its own process ----------------------------------------------------------------


def fit_polytomy(scheme: str, X: np.ndarray, y: np.ndarray, svc: SVC) -> Any:
    if scheme in MOST_PARTITIONS:
        return fit_partitions(scheme, X, y, svc)
    plain = pt.PolytomyClassifier(svc, scheme, final_calibration=None, n_jobs=2, random_state=0)
    return plain.fit(X, y)


def first_partitions(scheme: str, y: np.ndarray, svc: SVC) -> tuple[Any, np.ndarray]:
    """Return the first dichotomies of a design, and the class index of each sample."""
    classes, indices = np.unique(y, return_inverse=True)
    designed = pt.designs.design(scheme, classes.tolist())
    wanted = make_dichotomies(designed, svc, None)[: MOST_PARTITIONS[scheme]]
    return wanted, bind_classes(designed, classes)[indices]


def fit_partitions(scheme: str, X: np.ndarray, y: np.ndarray, svc: SVC) -> Any:
    wanted, positions = first_partitions(scheme, y, svc)
    options = TrainingOptions(random_state=0, n_jobs=2)
    return fit_binaries(wanted, X, options.of_labels(positions)).binaries


def fit_peer(scheme: str, X: np.ndarray, y: np.ndarray, svc: SVC) -> Any:
    if scheme == "one-vs-one":
        return SVC(probability=True, random_state=0, **options_of(svc)).fit(X, y)
    calibrated = CalibratedClassifierCV(svc, ensemble=False)
    if scheme == "one-vs-rest":
        return OneVsRestClassifier(calibrated, n_jobs=2).fit(X, y)
    wanted, positions = first_partitions(scheme, y, svc)
    sides = (np.where(np.isin(positions, each.positive), 1, -1) for each in wanted)
    fit = delayed(lambda side: CalibratedClassifierCV(svc, ensemble=False).fit(X, side))
    return Parallel(n_jobs=2)(fit(side) for side in sides)


def options_of(svc: SVC) -> dict[str, Any]:
    return {"C": svc.C, "gamma": svc.gamma}


def run_one(who: str, scheme: str, name: str) -> dict[str, Any]:
    """Fit once, and return times, memory and the quality of the predictions."""
    part = split_of(name)
    svc = SVC(**data.svm_options(name))
    fit = fit_polytomy if who == "polytomy" else fit_peer
    few = np.random.default_rng(0).permutation(len(part.y_train))[:1200]
    fit(scheme, part.X_train[few], part.y_train[few], svc)
    with Meter() as meter:
        fitted = fit(scheme, part.X_train, part.y_train, svc)
    row = {**meter.readings, "accuracy": accuracy_of(fitted, scheme, part, svc)}
    if who == "polytomy":
        binaries = fitted if isinstance(fitted, list) else fitted.binaries_
        row["values"], row["answers"] = compare_machines(scheme, binaries, part, svc)
    return row


def accuracy_of(fitted: Any, scheme: str, part: data.Split, svc: SVC) -> float:
    """Return the accuracy on the test samples; for single binaries, their mean accuracy."""
    if hasattr(fitted, "predict_proba"):
        proba = fitted.predict_proba(part.X_test)
        return float(np.mean(fitted.classes_[proba.argmax(axis=1)] == part.y_test))
    wanted, positions = first_partitions(scheme, part.y_test, svc)
    right = []
    for each, binary in zip(wanted, fitted, strict=True):
        if isinstance(binary, CalibratedClassifierCV):
            is_positive = binary.predict(part.X_test) > 0
        else:
            is_positive = binary.decisions(part.X_test) > 0
        right.append(np.mean(is_positive == np.isin(positions, each.positive)))
    return float(np.mean(right))


def compare_machines(scheme: str, binaries: Any, part: data.Split, svc: SVC) -> tuple[float, float]:
    """Return the largest differences between some binaries and those trained one by one."""
    classes, indices = np.unique(part.y_train, return_inverse=True)
    designed = pt.designs.design(scheme, classes.tolist())
    rows_of_class = group_rows(bind_classes(designed, classes)[indices], len(classes))
    wanted = make_dichotomies(designed, svc, None)[: MOST_PARTITIONS.get(scheme)]
    (seed,) = partition_seeds(0, 1)
    folds = make_folds(part.X_train, indices, 5, seed).without_scores()
    values, answers = 0.0, 0.0
    for k in np.linspace(0, len(binaries) - 1, COMPARED).astype(int):
        each, binary = wanted[k], binaries[k]
        problem = binary_problem(rows_of_class, each.negative, each.positive, name=each.name)
        other = train_estimator(svc, part.X_train, problem, TrainingOptions(), folds=folds).binary
        X = part.X_test
        values = max(values, float(np.abs(binary.scores(X) - other.scores(X)).max()))
        # A decision value is the difference of two probabilities.
        answers = max(answers, float(np.abs(binary.decisions(X) - other.decisions(X)).max()) / 2)
    return values, answers


class Meter:
    """Measure time, processor time and peak memory of this process and its workers."""

    def __enter__(self) -> Meter:
        for process in processes():
            (process / "clear_refs").write_text("5")  # resets the peak
        self._before = peak_bytes()
        self._start = time.perf_counter(), processor_seconds()
        return self

    def __exit__(self, *_: object) -> None:
        self.readings = {
            "seconds": time.perf_counter() - self._start[0],
            "processor seconds": processor_seconds() - self._start[1],
            "MB": (peak_bytes() - self._before) / 1e6,
        }


def processes() -> list[Path]:
    """Return the /proc entries of this process and its descendants."""
    found, pending = [], [Path(f"/proc/{os.getpid()}")]
    while pending:
        process = pending.pop()
        found.append(process)
        for thread in process.glob("task/*/children"):
            pending += [Path(f"/proc/{number}") for number in thread.read_text().split()]
    return found


def peak_bytes() -> int:
    status = ((process / "status").read_text() for process in processes())
    return sum(1024 * int(each.split("VmHWM:")[1].split()[0]) for each in status)


def processor_seconds() -> float:
    # The program name, in brackets, may contain spaces.
    fields = ((each / "stat").read_text().rsplit(")", 1)[1].split() for each in processes())
    ticks = sum(int(field[11]) + int(field[12]) for field in fields)
    return ticks / os.sysconf("SC_CLK_TCK")


# -- all fits -----------------------------------------------------------------------------------


def measure(who: str, scheme: str, name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.training", "--one", who, scheme, name]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return {"dataset": name, "scheme": scheme, "who": who, **row}


def compare(scheme: str, name: str) -> list[dict[str, Any]]:
    rows = [measure(who, scheme, name) for who in ("polytomy", "peer")]
    ours, theirs = rows
    ours["times faster"] = theirs["seconds"] / ours["seconds"]
    ours["times less work"] = theirs["processor seconds"] / ours["processor seconds"]
    print(
        f"{name:10}{scheme:12}{ours['seconds']:9.2f} s{theirs['seconds']:8.2f} s"
        f"{ours['times faster']:7.1f}x{TARGETS[scheme]:6.1f}x{ours['times less work']:7.1f}x"
        f"{ours['values']:9.4f}{ours['answers']:9.4f}"
        f"{ours['accuracy']:9.4f} /{theirs['accuracy']:7.4f}"
        f"{ours['MB']:8.0f} /{theirs['MB']:5.0f} MB",
        flush=True,
    )
    return rows


def main(names: list[str]) -> None:
    there = [*data.available((*ONE_VS_ONE, *OTHER_SCHEMES)), "digits"]
    works = [("one-vs-one", name) for name in ONE_VS_ONE]
    works += [(scheme, name) for scheme in list(TARGETS)[1:] for name in OTHER_SCHEMES]
    works = [(scheme, name) for scheme, name in works if name in (names or there)]
    print(
        f"{'':22}{'polytomy':>11}{'peer':>10}{'faster':>8}{'wanted':>7}{'work':>8}"
        f"{'values':>9}{'answers':>9}{'accuracy of both':>18}{'memory of both':>18}"
    )
    rows = [row for scheme, name in works for row in compare(scheme, name)]
    if not names and data.available():
        keys = list(dict.fromkeys(key for row in rows for key in row))
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, keys)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            print(json.dumps(run_one(*sys.argv[2:5])))
    else:
        main(sys.argv[1:])
