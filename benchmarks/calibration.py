"""How good are the probabilities of each scheme, with and without a final calibration?

    POLYTOMY_DATA=folder python -m benchmarks calibration [ordered | learners] [dataset ...]

`calibration` compares schemes of RBF SVMs, SVC(C=10), with scikit-learn's probabilities, and checks
the goals for the final calibration. `calibration ordered` compares ordered schemes with boosted
trees and with packages for ordered classes, if they are installed. `calibration learners` compares
learners that have their own probabilities with OneVsRestClassifier: two splits with 1000 training
and at most 2000 test rows, but one split of three datasets for random forests, which take long.

Splits are random: at most 2000 rows for training and 5000 for testing, standardised on the training
rows. Test rows of classes without training rows are left out. All classifiers are fitted in turn,
twice each, by one thread, and the shorter processor time counts: its ratio to the fit without a
final calibration is the cost.
"""

from __future__ import annotations

import csv
import importlib
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from benchmarks import data
from polytomy import metrics

RESULTS = Path(__file__).parents[1] / "docs" / "results"
SCHEMES = ("one-vs-one", "one-vs-rest", "tree", "adjacent", "orthogonal")
ORDERED = ("humidity", "calhousing8", "krkopt")
EXTRA = ("calhousing8", "ecoli", "krkopt")
LEARNT_ON = ("pendigits", "segment", "sat", "urban", "humidity", "ecoli")
LIBSVM, REST = "SVC(probability=True)", "OneVsRestClassifier(CalibratedClassifierCV(SVC()))"
FORESTS_ON = ("segment", "sat", "humidity")
N_JOBS = 1
# Small datasets have more splits, because their scores vary more from split to split.
FEW_ROWS, N_SPLITS_OF_FEW = 1000, 10


class Goal(NamedTuple):
    """A log-loss that a scheme must reach: a number, or the log-loss of another classifier."""

    scheme: str
    final_calibration: str
    dataset: str
    most: float | str


GOALS = (
    *(
        Goal("one-vs-one", "auto", *pair)
        for pair in (
            ("letter", 0.37),
            ("pendigits", 0.036),
            ("usps", 0.155),
            ("urban", 0.50),
            ("ecoli", 0.50),
            ("shuttle", 0.019),
        )
    ),
    *(Goal("one-vs-one", "auto", name, LIBSVM) for name in data.PAPER),
    *(Goal("one-vs-rest", "auto", name, REST) for name in (*data.PAPER, *EXTRA)),
    Goal("adjacent", "auto", "humidity", 1.09),
    Goal("adjacent", "auto", "calhousing8", 1.38),
    Goal("adjacent", "auto", "krkopt", 1.41),
    *(Goal("adjacent", "auto", name, "one-vs-one") for name in ORDERED),
    Goal("orthogonal", "auto", "letter", 0.39),
    Goal("orthogonal", "auto", "urban", 0.52),
)


class Part(NamedTuple):
    """A split. Labels are the ranks 0, 1, … of the ordered classes."""

    X_train: np.ndarray
    X_test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray


class Candidate(NamedTuple):
    """A classifier to fit, its name, and its final calibration if it has one."""

    name: str
    final_calibration: str
    make: Callable[[], Any]


def split(name: str, seed: int, n_train: int, n_test: int) -> Part:
    X, labels = data.load(name)
    y = data.class_indices(name, labels)
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = min(n_train, int(0.7 * len(y)))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    classes, y_train = np.unique(y[train], return_inverse=True)
    test = test[np.isin(y[test], classes)]
    scaler = StandardScaler().fit(X[train])
    y_test = np.searchsorted(classes, y[test])
    return Part(scaler.transform(X[train]), scaler.transform(X[test]), y_train, y_test)


def judge(classifier: Any, part: Part, is_ordered: bool) -> dict[str, Any]:
    found = classifier.predict_proba(part.X_test)
    totals = found.sum(axis=1, keepdims=True)
    # OneVsRestClassifier returns all zeros if every binary is certain of the rest.
    found = np.where(totals > 0, found / np.where(totals > 0, totals, 1), 1 / found.shape[1])
    judged = part.y_test, found, classifier.classes_
    of_truth = found[np.arange(len(found)), part.y_test]
    out_of_fold = getattr(classifier, "out_of_fold_score_", None)
    return {
        "log_loss": round(metrics.log_loss(*judged), 5),
        "root_brier_score": round(metrics.root_brier_score(*judged), 5),
        "accuracy": round(float(np.mean(found.argmax(axis=1) == part.y_test)), 5),
        "ranked_probability_score": (
            round(metrics.ranked_probability_score(*judged), 5) if is_ordered else ""
        ),
        "fraction_of_zeros": round(float(np.mean(of_truth == 0)), 5),
        "out_of_fold_log_loss": "" if out_of_fold is None else round(out_of_fold["log_loss"], 5),
    }


def compare(
    name: str, seed: int, part: Part, candidates: list[Candidate], repeats: int
) -> list[dict[str, Any]]:
    """Fit all candidates in turn, `repeats` times, and evaluate the last fits."""
    seconds: dict[Candidate, float] = {}
    fitted: dict[Candidate, Any] = {}
    failures: dict[Candidate, str] = {}
    for _ in range(repeats):
        for each in candidates:
            if each in failures:
                continue
            classifier = each.make()
            started = process_time()
            try:
                classifier.fit(part.X_train, part.y_train)
            except ValueError as error:
                failures[each] = str(error).splitlines()[0]
                continue
            taken = process_time() - started
            seconds[each] = min(taken, seconds.get(each, taken))
            fitted[each] = classifier
    rows = []
    plain = {each.name: seconds[each] for each in seconds if each.final_calibration == "None"}
    for each in candidates:
        row: dict[str, Any] = {
            "dataset": name,
            "split": seed,
            "classifier": each.name,
            "final_calibration": each.final_calibration,
            "n_train": len(part.y_train),
            "n_test": len(part.y_test),
        }
        if each in fitted:
            row |= judge(fitted[each], part, name in ORDERED)
            row["fit_seconds"] = round(seconds[each], 3)
            if each.name in plain:
                row["fit_ratio"] = round(seconds[each] / plain[each.name], 3)
        else:
            row["failure"] = failures[each]
        rows.append(row)
    return rows


def compose(estimator: Any, scheme: str, final_calibration: Any, part: Part, seed: int) -> Any:
    order = np.unique(part.y_train).tolist() if scheme == "ordered" else None
    return pt.PolytomyClassifier(
        estimator,
        scheme,
        final_calibration=final_calibration,
        class_order=order,
        random_state=seed,
        n_jobs=N_JOBS,
    )


def schemes_of_machines(name: str, seed: int, part: Part) -> Iterable[Candidate]:
    for scheme in SCHEMES:
        for option in (None, "bias", "auto"):
            yield Candidate(
                scheme,
                str(option),
                lambda scheme=scheme, option=option: compose(SVC(C=10), scheme, option, part, seed),
            )
    if name in ORDERED:
        yield Candidate(
            "ordered", "auto", lambda: compose(SVC(C=10), "ordered", "auto", part, seed)
        )
    yield Candidate(LIBSVM, "", lambda: SVC(C=10, probability=True, random_state=seed))
    yield Candidate(
        REST, "", lambda: OneVsRestClassifier(CalibratedClassifierCV(SVC(C=10)), n_jobs=N_JOBS)
    )


def ordered_classifiers(name: str, seed: int, part: Part) -> Iterable[Candidate]:
    logistic = LogisticRegression(max_iter=1000)
    boosting = HistGradientBoostingClassifier(random_state=seed)
    for estimator in (SVC(C=10), logistic, boosting):
        label = f"polytomy, ordered, {type(estimator).__name__}"
        yield Candidate(
            label,
            "auto",
            lambda estimator=estimator: compose(estimator, "ordered", "auto", part, seed),
        )
    yield Candidate("HistGradientBoostingClassifier", "", lambda: boosting)
    lightgbm = import_if_installed("lightgbm")
    if lightgbm is not None:
        yield Candidate(
            "LightGBM",
            "",
            lambda: lightgbm.LGBMClassifier(random_state=seed, n_jobs=N_JOBS, verbose=-1),
        )
    mord = import_if_installed("mord")
    if mord is not None:
        yield Candidate("mord, LogisticAT", "", lambda: mord.LogisticAT())
    skordinal = import_if_installed("skordinal.classifiers")
    if skordinal is not None:
        yield Candidate("skordinal, POM", "", lambda: skordinal.POM())
        for estimator in (logistic, boosting):
            yield Candidate(
                f"skordinal, OrdinalDecomposition, {type(estimator).__name__}",
                "",
                lambda estimator=estimator: skordinal.OrdinalDecomposition(estimator),
            )


def import_if_installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed, so it is left out", file=sys.stderr)
        return None


def learners(name: str, seed: int, part: Part) -> Iterable[Candidate]:
    estimators: list[Any] = [
        LogisticRegression(max_iter=1000),
        GaussianNB(),
        KNeighborsClassifier(),
    ]
    if seed == 0 and name in FORESTS_ON:  # forests take long
        estimators.append(RandomForestClassifier(100, random_state=seed))
    for estimator in estimators:
        label = type(estimator).__name__
        for scheme in SCHEMES:
            for option in (None, "bias", "auto"):
                yield Candidate(
                    f"{label}, {scheme}",
                    str(option),
                    lambda estimator=estimator, scheme=scheme, option=option: compose(
                        estimator, scheme, option, part, seed
                    ),
                )
        yield Candidate(
            f"{label}, OneVsRestClassifier",
            "",
            lambda estimator=estimator: OneVsRestClassifier(estimator, n_jobs=N_JOBS),
        )


class Comparison(NamedTuple):
    """The settings of one part of this benchmark."""

    candidates: Callable[[str, int, Part], Iterable[Candidate]]
    datasets: tuple[str, ...]
    n_train: int
    n_test: int
    n_splits: int
    repeats: int


COMPARISONS = {
    "calibration": Comparison(schemes_of_machines, (*data.PAPER, *EXTRA), 2000, 5000, 3, 2),
    "ordered": Comparison(ordered_classifiers, ORDERED, 2000, 5000, 3, 1),
    "learners": Comparison(learners, LEARNT_ON, 1000, 2000, 2, 1),
}
COLUMNS = (
    "dataset",
    "split",
    "classifier",
    "final_calibration",
    "n_train",
    "n_test",
    "log_loss",
    "root_brier_score",
    "accuracy",
    "ranked_probability_score",
    "fraction_of_zeros",
    "out_of_fold_log_loss",
    "fit_seconds",
    "fit_ratio",
    "failure",
)


def mean_of(rows: list[dict[str, Any]], column: str) -> float | None:
    values = [float(row[column]) for row in rows if row.get(column, "") != ""]
    return float(np.mean(values)) if values else None


def summarise(rows: list[dict[str, Any]]) -> None:
    """Print means over the splits."""
    columns = COLUMNS[6:14]
    print(f"{'':72}" + "".join(f"{column[:12]:>13}" for column in columns))
    keys = dict.fromkeys((r["dataset"], r["classifier"], r["final_calibration"]) for r in rows)
    for key in keys:
        own = [r for r in rows if (r["dataset"], r["classifier"], r["final_calibration"]) == key]
        means = [mean_of(own, column) for column in columns]
        cells = "".join(f"{'' if mean is None else format(mean, '.4f'):>13}" for mean in means)
        print(f"{key[0]:12}{key[1]:52}{key[2]:8}{cells}")


def check_goals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return and print each goal with the mean log-loss that was reached.

    Classifiers are compared on the splits on which both could be fitted.
    """

    def losses(dataset: str, classifier: str, option: str) -> dict[int, float]:
        key = dataset, classifier, option
        own = [r for r in rows if (r["dataset"], r["classifier"], r["final_calibration"]) == key]
        return {int(r["split"]): float(r["log_loss"]) for r in own if r.get("log_loss", "") != ""}

    table = []
    for goal in GOALS:
        own = losses(goal.dataset, goal.scheme, goal.final_calibration)
        if isinstance(goal.most, str):
            option = "auto" if goal.most in SCHEMES else ""
            other = losses(goal.dataset, goal.most, option)
            own = {split: loss for split, loss in own.items() if split in other}
            most = float(np.mean([other[split] for split in own])) if own else 0.0
        else:
            most = goal.most
        if not own:
            continue
        found = float(np.mean(list(own.values())))
        table.append(
            {
                "scheme": goal.scheme,
                "final_calibration": goal.final_calibration,
                "dataset": goal.dataset,
                "compared_with": goal.most if isinstance(goal.most, str) else "",
                "splits": len(own),
                "most": round(most, 4),
                "reached": round(found, 4),
                "is_reached": found <= most,
            }
        )
        print(*table[-1].values())
    return table


def write_rows(path: Path, rows: list[dict[str, Any]], columns: Iterable[str]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(words: list[str]) -> None:
    kind = words[0] if words and words[0] in COMPARISONS else "calibration"
    comparison = COMPARISONS[kind]
    names = [word for word in words if word != kind] or data.available(comparison.datasets)
    if not names:
        print("no datasets: set POLYTOMY_DATA to their folder")
        return
    warnings.simplefilter("ignore")
    stem = "calibration" if kind == "calibration" else f"calibration_{kind}"
    path = RESULTS / f"{stem}.csv"
    rows: list[dict[str, Any]] = []
    if path.is_file():
        with path.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["dataset"] not in names]
    for name in names:
        has_few = kind == "calibration" and len(data.load(name)[1]) < FEW_ROWS
        for seed in range(N_SPLITS_OF_FEW if has_few else comparison.n_splits):
            print(f"{name}, split {seed} …", file=sys.stderr, flush=True)
            part = split(name, seed, comparison.n_train, comparison.n_test)
            candidates = list(comparison.candidates(name, seed, part))
            rows += compare(name, seed, part, candidates, comparison.repeats)
            write_rows(path, rows, COLUMNS)
    summarise(rows)
    if kind == "calibration":
        goals = check_goals(rows)
        write_rows(RESULTS / "calibration_goals.csv", goals, goals[0])
