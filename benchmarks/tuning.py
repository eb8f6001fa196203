"""How long does a search over C and gamma take, and is its choice as good on test samples?

Five values of C and five of gamma, on five folds, by the accuracy of one-vs-one votes: up to 2000
standardised training samples, and the remaining samples (at most 5000) as a test. The peers are
GridSearchCV(SVC(), n_jobs=2) and, if scikit-learn-intelex is installed, the same with its SVC.
polytomy has two threads. "all folds" is polytomy with drop_losers=False, which measures what the
peers measure. "calibrated" is SchemeSearchCV(SVC(), ["one-vs-one"]): its candidates are calibrated
like the classifier that it returns, on the folds of the search. "calibrated, folds within folds"
trains and calibrates a classifier for each fold, as with a budget; its cross-validation and test
scores show whether sharing the folds costs anything. "ratio" is a multiple of the time of
"polytomy"; "speed-up" is how many times as long GridSearchCV takes. All searches of a repeat run
one after the other in the same process, after a warm-up that compiles. `samples` is how many
held-out samples, over all 25 pairs and five folds, are classified differently from SVC in
GridSearchCV.

With "log-loss" as an argument: the same by log-loss, against GridSearchCV(SVC(probability=True)),
which takes many minutes.

    POLYTOMY_DATA=folder python -m benchmarks tuning [log-loss] [dataset ...]
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from benchmarks import data

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "tuning.csv"
DATASETS = ("segment", "pendigits", "digits", "sat", "usps", "letter")
GRID = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [0.001, 0.01, 0.1, 1.0, 10.0]}
REPEATS = 2
FOREVER = 1e6
MOST_TRAINING, MOST_TEST = 2000, 5000
TARGETS = {"GridSearchCV": 6.0, "scikit-learn-intelex": 2.0}
SPEED_UPS = {"accuracy": {"polytomy, calibrated": 5.0}, "log-loss": {"polytomy": 10.0}}


def split_of(name: str, seed: int) -> data.Split:
    """Return standardised samples: at most 2000 to train on, and at most 5000 to test on."""
    X, y = load_digits(return_X_y=True) if name == "digits" else data.load(name)
    n_training = min(MOST_TRAINING, int(0.8 * len(y)))
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_training, stratify=y, random_state=seed
    )
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test[:MOST_TEST])
    return data.Split(X_train, X_test, y_train, y_test[:MOST_TEST])


def searches(by_log_loss: bool) -> dict[str, Any]:
    """Return the searches to compare, by name."""
    folds = StratifiedKFold(5)
    peer = SVC(probability=True, random_state=0) if by_log_loss else SVC()
    scoring = "neg_log_loss" if by_log_loss else None
    options: dict[str, Any] = {
        "param_grid": GRID,
        "scoring": "log_loss" if by_log_loss else "accuracy",
        "cv": folds,
        "n_jobs": 2,
        "random_state": 0,
    }
    candidates = ["one-vs-one"] if by_log_loss else [("one-vs-one", "hamming")]
    found: dict[str, Any] = {
        "polytomy": pt.SchemeSearchCV(SVC(), candidates, **options),
        "polytomy, all folds": pt.SchemeSearchCV(SVC(), candidates, drop_losers=False, **options),
        "GridSearchCV": GridSearchCV(peer, GRID, scoring=scoring, cv=folds, n_jobs=2),
    }
    calibrated = "polytomy" if by_log_loss else "polytomy, calibrated"
    found[calibrated] = pt.SchemeSearchCV(SVC(), ["one-vs-one"], **options)
    found[f"{calibrated}, folds within folds"] = pt.SchemeSearchCV(
        SVC(), ["one-vs-one"], budget=FOREVER, **options
    )
    try:
        from sklearnex.svm import SVC as IntelSVC
    except ImportError:
        return found
    if not by_log_loss:
        found["scikit-learn-intelex"] = GridSearchCV(IntelSVC(), GRID, cv=folds, n_jobs=2)
    return found


def measure(name: str, seed: int, by_log_loss: bool) -> list[dict[str, Any]]:
    """Run all searches once, and return a row for each."""
    part = split_of(name, seed)
    rows: list[dict[str, Any]] = []
    results: dict[str, Any] = {}
    for who, search in searches(by_log_loss).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            started = time.perf_counter()
            search.fit(part.X_train, part.y_train)
            seconds = time.perf_counter() - started
            row = {
                "dataset": name,
                "scoring": "log-loss" if by_log_loss else "accuracy",
                "seed": seed,
                "who": who,
                "seconds": seconds,
                "C": search.best_params_["C"],
                "gamma": search.best_params_["gamma"],
                "cross-validation": search.best_score_,
                "test accuracy": float(np.mean(search.predict(part.X_test) == part.y_test)),
            }
            if by_log_loss:
                proba = search.predict_proba(part.X_test)
                row["test log-loss"] = pt.metrics.log_loss(part.y_test, proba, search.classes_)
        rows.append(row)
        results[who] = search.cv_results_
    if not by_log_loss:
        ours, theirs = results["polytomy, all folds"], results["GridSearchCV"]
        rows[1]["samples"] = count_differences(ours, theirs, part.y_train)
    return rows


def count_differences(ours: Any, theirs: Any, y: np.ndarray) -> int:
    """Return how many held-out samples more, or fewer, are right, over all pairs and folds."""
    total = 0.0
    for fold, (_, held_out) in enumerate(StratifiedKFold(5).split(y, y)):
        name = f"split{fold}_test_score"
        total += np.abs(ours[name] - theirs[name]).sum() * len(held_out)
    return round(total)


def summarise(name: str, rows: list[dict[str, Any]]) -> None:
    """Print medians over the repeats, and time ratios within them."""
    for who in dict.fromkeys(row["who"] for row in rows):
        own = [row for row in rows if row["who"] == who]
        ratios, speed_ups = (
            [
                row["seconds"] / other["seconds"]
                for row in own
                for other in rows
                if (other["who"], other["seed"]) == (reference, row["seed"])
            ]
            for reference in ("polytomy", "GridSearchCV")
        )
        target = SPEED_UPS[own[0]["scoring"]].get(who)
        wanted = f"{TARGETS[who]:5.0f}x" if who in TARGETS else ""
        loss = [row["test log-loss"] for row in own if "test log-loss" in row]
        print(
            f"{name:10}{who:32}{np.median([row['seconds'] for row in own]):9.2f} s"
            f"{np.median(ratios):8.1f}x{wanted:7}{1 / np.median(speed_ups):8.1f}x"
            f"{'' if target is None else f'{target:5.0f}x':7}"
            f"{np.mean([row['cross-validation'] for row in own]):10.4f}"
            f"{np.mean([row['test accuracy'] for row in own]):10.4f}"
            + (f"{np.mean(loss):10.4f}" if loss else ""),
            flush=True,
        )


def main(words: list[str]) -> None:
    by_log_loss = "log-loss" in words
    names = [word for word in words if word != "log-loss"]
    there = [*data.available(DATASETS), "digits"]
    warm_up = split_of("digits", 0)
    for each in list(searches(by_log_loss).values())[:1]:
        each.set_params(cv=2).fit(warm_up.X_train[:300], warm_up.y_train[:300])
    print(
        f"{'':42}{'time':>11}{'ratio':>9}{'wanted':>7}{'speed-up':>9}{'wanted':>7}"
        f"{'folds':>10}{'test':>10}"
    )
    rows: list[dict[str, Any]] = []
    for name in names or [each for each in DATASETS if each in there]:
        own = [row for seed in range(REPEATS) for row in measure(name, seed, by_log_loss)]
        summarise(name, own)
        rows += own
        if not names and data.available():
            save(rows, RESULTS.with_stem("tuning_log_loss") if by_log_loss else RESULTS)


def save(rows: list[dict[str, Any]], path: Path) -> None:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, keys)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
