"""How fast are calibrated support vector machines trained, and are they the same machines?

RBF machines on stratified 70/30 splits, standardised. Each fit has a process of its own, after a
small one that loads what has to be loaded. polytomy has two threads, peers two jobs where they take
them. `machines` is the largest difference of decision values on the test part between some of
polytomy's binaries and those of scikit-learn's SVC; the tolerance of both is 0.001.

    POLYTOMY_DATA=folder python -m benchmarks training [dataset ...]
"""

from __future__ import annotations

import csv
import json
import resource
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
from polytomy.assembly import bind_classes, dichotomies, fit_binaries
from polytomy.binary import binary_problem, group_rows, train_binary

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "training.csv"

ONE_VS_ONE = ("letter", "usps", "pendigits", "digits")
OTHERS = ("letter", "usps", "humidity")
TARGETS = {"one-vs-one": 1.5, "one-vs-rest": 4.0, "adjacent": 4.0, "orthogonal": 4.0}

# Of the many partitions of a large code only the first are trained, by both, or the peer takes
# a quarter of an hour.
MOST_PARTITIONS = {"adjacent": 7, "orthogonal": 6}
COMPARED = 4


def split_of(name: str) -> data.Split:
    X, y = load_digits(return_X_y=True) if name == "digits" else data.load(name)
    return data.split(X, y, seed=0)


# -- one fit, in a process of its own -----------------------------------------------------------


def fit_polytomy(scheme: str, X: np.ndarray, y: np.ndarray, svc: SVC) -> Any:
    if scheme in MOST_PARTITIONS:
        return fit_partitions(scheme, X, y, svc)
    return pt.PolytomyClassifier(svc, scheme=scheme, n_jobs=2, random_state=0).fit(X, y)


def partitions(scheme: str, y: np.ndarray, svc: SVC) -> tuple[Any, np.ndarray, int]:
    """The first dichotomies of a design, the samples' positions in it, and its classes."""
    classes, codes = np.unique(y, return_inverse=True)
    designed = pt.designs.design(scheme, classes.tolist())
    wanted = dichotomies(designed, svc, None)[: MOST_PARTITIONS[scheme]]
    return wanted, bind_classes(designed, classes)[codes], len(classes)


def fit_partitions(scheme: str, X: np.ndarray, y: np.ndarray, svc: SVC) -> Any:
    wanted, positions, n_classes = partitions(scheme, y, svc)
    return fit_binaries(wanted, X, positions, n_classes, random_state=0, n_jobs=2)


def fit_peer(scheme: str, X: np.ndarray, y: np.ndarray, svc: SVC) -> Any:
    if scheme == "one-vs-one":
        return SVC(probability=True, random_state=0, **options_of(svc)).fit(X, y)
    calibrated = CalibratedClassifierCV(svc, ensemble=False)
    if scheme == "one-vs-rest":
        return OneVsRestClassifier(calibrated, n_jobs=2).fit(X, y)
    wanted, positions, _ = partitions(scheme, y, svc)
    sides = (np.where(np.isin(positions, each.positive), 1, -1) for each in wanted)
    fit = delayed(lambda side: CalibratedClassifierCV(svc, ensemble=False).fit(X, side))
    return Parallel(n_jobs=2)(fit(side) for side in sides)


def options_of(svc: SVC) -> dict[str, Any]:
    return {"C": svc.C, "gamma": svc.gamma}


def run_one(who: str, scheme: str, name: str) -> dict[str, Any]:
    """Fit once, and return times, memory and how good the answers are."""
    part = split_of(name)
    svc = SVC(**data.svm_options(name))
    fit = fit_polytomy if who == "polytomy" else fit_peer
    few = np.random.default_rng(0).permutation(len(part.y_train))[:1200]
    fit(scheme, part.X_train[few], part.y_train[few], svc)
    before = peak_memory()
    start, start_cpu = time.perf_counter(), cpu_seconds()
    fitted = fit(scheme, part.X_train, part.y_train, svc)
    row: dict[str, Any] = {
        "seconds": time.perf_counter() - start,
        "cpu seconds": cpu_seconds() - start_cpu,
        "MB": peak_memory() - before,
    }
    if hasattr(fitted, "predict_proba"):
        proba = fitted.predict_proba(part.X_test)
        row["accuracy"] = float(np.mean(fitted.classes_[proba.argmax(axis=1)] == part.y_test))
        row["log-loss"] = pt.metrics.log_loss(part.y_test, proba, fitted.classes_)
    if who == "polytomy":
        binaries = fitted if isinstance(fitted, list) else fitted.binaries_
        row["machines"] = compare_machines(scheme, binaries, part, svc)
    return row


def compare_machines(scheme: str, binaries: Any, part: data.Split, svc: SVC) -> float:
    """The largest difference of some binaries' decision values from those of scikit-learn."""
    classes, codes = np.unique(part.y_train, return_inverse=True)
    designed = pt.designs.design(scheme, classes.tolist())
    rows_of_class = group_rows(bind_classes(designed, classes)[codes], len(classes))
    wanted = dichotomies(designed, svc, None)
    largest = 0.0
    for k in np.linspace(0, len(binaries) - 1, COMPARED).astype(int):
        each = wanted[k]
        problem = binary_problem(rows_of_class, each.negative, each.positive, name=each.name)
        other = train_binary(svc, part.X_train, problem, calibration=None)
        difference = binaries[k].scores(part.X_test) - other.scores(part.X_test)
        largest = max(largest, float(np.abs(difference).max()))
    return largest


def peak_memory() -> float:
    """Peak of this process and, if it had any, of two workers, in MB."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return (own + 2 * worker) / 1024


def cpu_seconds() -> float:
    usages = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


# -- all of them --------------------------------------------------------------------------------


def measure(who: str, scheme: str, name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.training", "--one", who, scheme, name]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return {"dataset": name, "scheme": scheme, "who": who, **row}


def compare(scheme: str, name: str) -> list[dict[str, Any]]:
    rows = [measure(who, scheme, name) for who in ("polytomy", "peer")]
    ours, theirs = rows
    ours["times faster"] = theirs["seconds"] / ours["seconds"]
    ours["times less work"] = theirs["cpu seconds"] / ours["cpu seconds"]
    quality = ""
    if "log-loss" in ours:
        quality = "   ".join(
            f"{key} {ours[key]:.4f} / {theirs[key]:.4f}" for key in ("accuracy", "log-loss")
        )
    print(
        f"{name:10}{scheme:13}{ours['seconds']:8.2f} s {theirs['seconds']:8.2f} s"
        f"{ours['times faster']:7.1f}x (≥ {TARGETS[scheme]}x) {ours['times less work']:6.1f}x"
        f"{ours['MB']:8.0f} MB{theirs['MB']:6.0f} MB   machines {ours['machines']:.4f}   {quality}",
        flush=True,
    )
    return rows


def main(names: list[str]) -> None:
    there = [*data.available((*ONE_VS_ONE, *OTHERS)), "digits"]
    works = [("one-vs-one", name) for name in ONE_VS_ONE]
    works += [(scheme, name) for scheme in list(TARGETS)[1:] for name in OTHERS]
    works = [(scheme, name) for scheme, name in works if name in (names or there)]
    print(f"{'':23}{'polytomy':>10} {'peer':>10}   faster, less work   peak memory of both")
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
