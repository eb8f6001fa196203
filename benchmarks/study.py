"""How good are the probabilities, compared with what else a user would take?

    POLYTOMY_DATA=folder python -m benchmarks study [plot | dataset ...]

Each dataset is split three times: at most 1000 training and 2000 test rows, stratified,
standardised on the training rows. Classes with fewer than ten rows, or fewer than five training
rows, are left out. Every method has one thread; its time is the processor's.
LightGBM is left out if it is not installed.
What docs/results/study.csv has is not measured again, so a run can be continued. `plot` only draws
the figure and prints the tables.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_svmlight_file, load_wine
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import polytomy as pt
from benchmarks import data
from benchmarks.calibration import Part, import_if_installed

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "study.csv"
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "study.png"
EXTRA = ("anneal", "autos", "balance", "calhousing8", "car", "ecoli", "glass", "krkopt",
         "pageblocks", "primarytumor")  # fmt: skip
OWN = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
NEWSGROUPS = "newsgroups20_sparse.svmlight.gz"
N_SPLITS, MOST_TRAINING, MOST_TEST = 3, 1000, 2000
FEWEST, FEWEST_TRAINING = 10, 5
BASELINE = "polytomy"


def grid(n_features: int) -> dict[str, list[float]]:
    """Return three values of C and three of gamma; 1 / n_features is the default gamma."""
    return {"C": [1.0, 10.0, 100.0], "gamma": [scale / n_features for scale in (0.25, 1.0, 4.0)]}


def compose(scheme: Any, seed: int) -> Any:
    return pt.PolytomyClassifier(SVC(), scheme, random_state=seed)


def search(n_features: int, seed: int, **options: Any) -> Any:
    return pt.SchemeSearchCV(
        SVC(),
        ["one-vs-one"],
        param_grid=grid(n_features),
        scoring="log_loss",
        random_state=seed,
        **options,
    )


def search_with_scikit_learn(n_features: int) -> Any:
    named = {f"estimator__{name}": values for name, values in grid(n_features).items()}
    return GridSearchCV(with_temperature(SVC()), named, scoring="neg_log_loss")


def with_temperature(estimator: Any) -> Any:
    return CalibratedClassifierCV(estimator, method="temperature", ensemble=False)


def boost(seed: int) -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


METHODS: dict[str, Callable[[int, int], Any]] = {
    "polytomy": lambda _, seed: compose("one-vs-one", seed),
    "polytomy, one-vs-rest": lambda _, seed: compose("one-vs-rest", seed),
    "polytomy, orthogonal": lambda _, seed: compose("orthogonal", seed),
    "polytomy, empirical-tree": lambda _, seed: compose("empirical-tree", seed),
    "polytomy, pool": lambda _, seed: compose("pool", seed),
    "polytomy, auto": lambda _, seed: compose("auto", seed),
    "polytomy, search": lambda width, seed: search(width, seed),
    "polytomy, search with pool": lambda width, seed: search(width, seed, pool=4),
    "SVC(probability=True)": lambda _, seed: SVC(probability=True, random_state=seed),
    "SVC, temperature": lambda _, seed: with_temperature(SVC()),
    "SVC, temperature, search": lambda width, seed: search_with_scikit_learn(width),
    "SVC, one-vs-rest": lambda _, seed: OneVsRestClassifier(CalibratedClassifierCV(SVC())),
    "LightGBM": lambda _, seed: boost(seed),
    "LightGBM, temperature": lambda _, seed: with_temperature(boost(seed)),
    "boosting": lambda _, seed: HistGradientBoostingClassifier(random_state=seed),
    "boosting, temperature": lambda _, seed: with_temperature(
        HistGradientBoostingClassifier(random_state=seed)
    ),
    "forest": lambda _, seed: RandomForestClassifier(random_state=seed),
    "forest, temperature": lambda _, seed: with_temperature(
        RandomForestClassifier(random_state=seed)
    ),
}
"""Functions of the number of features and the seed that make a classifier, by name."""

SHOWN = (
    "polytomy",
    "polytomy, pool",
    "polytomy, search",
    "polytomy, search with pool",
    "SVC(probability=True)",
    "SVC, temperature, search",
    "LightGBM, temperature",
    "boosting, temperature",
    "forest, temperature",
)
"""Methods in the table of all datasets."""


def find_datasets() -> list[str]:
    names = data.available((*data.PAPER, *EXTRA))
    texts = ["newsgroups"] if data.find_file(NEWSGROUPS) else []
    return [*names, *texts, *OWN]


@cache
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in OWN:
        return OWN[name](return_X_y=True)
    if name == "newsgroups":
        counts, y = load_svmlight_file(str(data.need_file(NEWSGROUPS)))
        words = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
        return TruncatedSVD(100, random_state=0).fit_transform(words), y
    return data.load(name)


def split(X: np.ndarray, y: np.ndarray, seed: int, most_training: int = MOST_TRAINING) -> Part:
    """Return a split whose classes all have a few training rows. Labels are 0, 1, …"""
    labels, counts = np.unique(y, return_counts=True)
    is_frequent = np.isin(y, labels[counts >= FEWEST])
    X, y = X[is_frequent], y[is_frequent]
    n_train = min(most_training, int(0.7 * len(y)))
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_train, stratify=y, random_state=seed
    )
    X_test, y_test = X_test[:MOST_TEST], y_test[:MOST_TEST]
    labels, counts = np.unique(y_train, return_counts=True)
    labels = labels[counts >= FEWEST_TRAINING]
    train, test = np.isin(y_train, labels), np.isin(y_test, labels)
    scaler = StandardScaler().fit(X_train[train])
    return Part(
        scaler.transform(X_train[train]),
        scaler.transform(X_test[test]),
        np.searchsorted(labels, y_train[train]),
        np.searchsorted(labels, y_test[test]),
    )


def measure(classifier: Any, part: Part) -> dict[str, Any]:
    started = process_time()
    classifier.fit(part.X_train, part.y_train)
    fitted = process_time()
    proba = classifier.predict_proba(part.X_test)
    ended = process_time()
    judged = part.y_test, proba, np.arange(proba.shape[1])
    return {
        "n_train": len(part.y_train),
        "n_test": len(part.y_test),
        "n_features": part.X_train.shape[1],
        "n_classes": proba.shape[1],
        "log_loss": round(pt.metrics.log_loss(*judged), 5),
        "brier_score": round(pt.metrics.brier_score(*judged), 5),
        "accuracy": round(float(np.mean(proba.argmax(axis=1) == part.y_test)), 5),
        "fit_seconds": round(fitted - started, 3),
        "predict_seconds": round(ended - fitted, 3),
    }


def read_results() -> list[dict[str, Any]]:
    if not RESULTS.is_file():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def append_result(row: dict[str, Any]) -> None:
    """Add a row to the results; several processes may do so, for different datasets."""
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, row, lineterminator="\n")
        if not file.tell():
            writer.writeheader()
        writer.writerow(row)


Values = dict[str, dict[str, dict[int, float]]]
"""By method, dataset and split."""


def collect(rows: list[dict[str, Any]], column: str) -> Values:
    values: Values = {}
    for row in rows:
        of_method = values.setdefault(row["method"], {})
        of_method.setdefault(row["dataset"], {})[int(row["split"])] = float(row[column])
    return values


def compare(values: Values, method: str) -> np.ndarray:
    """Return the means of a method and of the default on the same splits, for each dataset."""
    return np.array(
        [
            (np.mean(list(own.values())), np.mean([values[BASELINE][name][k] for k in own]))
            for name, own in values[method].items()
        ]
    ).T


def summarise(rows: list[dict[str, Any]]) -> None:
    """Print each method in comparison with the default, and all log-losses."""
    losses, briers, hits, fits = (
        collect(rows, column) for column in ("log_loss", "brier_score", "accuracy", "fit_seconds")
    )
    print("| method | log-loss, ratio | median | worst | best | better on |", end="")
    print(" Brier score, ratio | accuracy, points | fit, seconds | fit, ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for method in METHODS:
        if method not in losses:
            continue
        own, default = compare(losses, method)
        ratios = own / default
        brier = np.exp(np.log(np.divide(*compare(briers, method))).mean())
        gain = 100 * np.subtract(*compare(hits, method)).mean()
        seconds, of_default = compare(fits, method)
        print(
            f"| {method} | {np.exp(np.log(ratios).mean()):.3f} | {np.median(ratios):.2f} |"
            f" {ratios.max():.2f} | {ratios.min():.2f} | {np.sum(ratios < 1)} of {len(ratios)} |"
            f" {brier:.3f} | {gain:+.1f} | {np.median(seconds):.2f} |"
            f" {np.median(seconds / of_default):.1f} |"
        )
    shown = [method for method in SHOWN if method in losses]
    print("\n| log-loss | " + " | ".join(shown) + " |\n" + "|---" * (len(shown) + 1) + "|")
    for name in losses[BASELINE]:
        means = [np.mean(list(losses[method][name].values())) for method in shown]
        cells = (f"**{loss:.3f}**" if loss == min(means) else f"{loss:.3f}" for loss in means)
        print(f"| {name} | " + " | ".join(cells) + " |")


def plot(rows: list[dict[str, Any]]) -> None:
    """Draw the ratio of each method's log-loss to that of the default, for all datasets."""
    from matplotlib.figure import Figure

    losses = collect(rows, "log_loss")
    methods = [method for method in METHODS if method in losses and method != BASELINE]
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    axis = figure.subplots()
    for height, method in enumerate(reversed(methods)):
        ratios = np.divide(*compare(losses, method))
        colour = "C0" if method.startswith("polytomy") else "C1"
        axis.plot(ratios, [height] * len(ratios), "o", color=colour, alpha=0.35, markersize=5)
        mean = np.exp(np.mean(np.log(ratios)))
        axis.plot([mean], [height], "|", color="black", markersize=16, markeredgewidth=2)
    axis.axvline(1, color="grey", linewidth=1)
    axis.set_yticks(range(len(methods)), list(reversed(methods)))
    axis.set(xscale="log", xlabel=f"log-loss, divided by that of {BASELINE}'s default")
    ticks = [0.01, 0.03, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    figure.savefig(FIGURE, dpi=150)


def main(words: list[str]) -> None:
    rows = read_results()
    if words != ["plot"]:
        has_lightgbm = import_if_installed("lightgbm") is not None
        done = {(row["dataset"], row["split"], row["method"]) for row in rows}
        warnings.simplefilter("ignore")
        compose("one-vs-one", 0).fit(*load_iris(return_X_y=True))  # load the compiled routines
        for seed, name in product(range(N_SPLITS), words or find_datasets()):
            part = split(*load(name), seed)
            for method, make in METHODS.items():
                is_missing = method.startswith("LightGBM") and not has_lightgbm
                if is_missing or (name, str(seed), method) in done:
                    continue
                with threadpool_limits(1):
                    found = measure(make(part.X_train.shape[1], seed), part)
                rows.append({"dataset": name, "split": seed, "method": method} | found)
                print(*rows[-1].values(), flush=True)
                append_result(rows[-1])
    summarise(rows)
    if words in ([], ["plot"]):
        plot(rows)
