"""How fast is the default SVC(), whose gamma depends on the data, compared with its peers?

One-vs-one with probabilities: `fit`, and `predict_proba` of the test samples. The peers are
SVC(probability=True) and, if scikit-learn-intelex is installed, its SVC with the same parameters.
Data is standardised; at most 3000 samples are for training and at most 3000 for testing. "made-717"
is ten overlapping clouds in 717 features, as wide as images of digits; "made-40" is eleven in 40.

Each time is the shortest of several, with all taking turns. "from SVC" is the largest difference
between a decision value and that of SVC's own machine.

    POLYTOMY_DATA=folder python -m benchmarks defaults [dataset ...]
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import polytomy as pt
from benchmarks import data
from benchmarks.prediction import time_in_turns

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "defaults.csv"
DATASETS = ("letter", "usps", "pendigits", "sat", "krkopt")
MADE = {"made-717": (10, 717), "made-40": (11, 40)}  # classes, features
MOST_ROWS = 3000
FIT_REPEATS, PREDICTION_REPEATS = 3, 15
TARGET = 8.0


class Row(NamedTuple):
    work: str
    dataset: str
    rows: int
    features: int
    classes: int
    peer: str
    peer_seconds: float
    seconds: float
    ratio: float  # of the peer's time to polytomy's
    from_svc: float
    log_loss: float
    peer_log_loss: float


def load(name: str) -> data.Split:
    """Return standardised samples, at most 3000 to train on and at most 3000 to test on."""
    if name in MADE:
        X, y = make_clouds(*MADE[name])
    else:
        X, y = load_digits(return_X_y=True) if name == "digits" else data.load(name)
    part = data.split(X, y, seed=0)
    return data.Split(*(each[:MOST_ROWS] for each in part))


def make_clouds(n_classes: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return clouds that lie in a few directions and have noise in all, as images have."""
    rng = np.random.default_rng(0)
    y = np.resize(np.arange(n_classes), 2 * MOST_ROWS)
    hidden = rng.normal(scale=1.5, size=(n_classes, 20))[y] + rng.normal(size=(len(y), 20))
    X = hidden @ rng.normal(size=(20, n_features)) + rng.normal(size=(len(y), n_features))
    return X, y


def find_peers() -> dict[str, Any]:
    """Return the peers that are installed, by name."""
    options: dict[str, Any] = {"probability": True, "random_state": 0}
    peers: dict[str, Any] = {"SVC": SVC(decision_function_shape="ovo", **options)}
    try:
        from sklearnex.svm import SVC as IntelSVC
    except ImportError:
        return peers
    return peers | {"scikit-learn-intelex": IntelSVC(**options)}


def measure(name: str) -> list[Row]:
    part = load(name)
    ours = pt.PolytomyClassifier(SVC(), random_state=0)
    peers = find_peers()
    everyone = [ours, *peers.values()]
    for each in everyone:  # compilation and other first uses
        each.fit(part.X_train, part.y_train).predict_proba(part.X_test)
    fitting = time_in_turns(
        *(
            (lambda each=each: each.fit(part.X_train, part.y_train), FIT_REPEATS)
            for each in everyone
        )
    )
    predicting = time_in_turns(
        *(
            (lambda each=each: each.predict_proba(part.X_test), PREDICTION_REPEATS)
            for each in everyone
        )
    )
    values = np.column_stack([binary.scores(part.X_test) for binary in ours.binaries_])
    # SVC's values are positive for the first class of a pair.
    difference = float(np.abs(values + peers["SVC"].decision_function(part.X_test)).max())
    losses = [
        pt.metrics.log_loss(part.y_test, each.predict_proba(part.X_test), each.classes_)
        for each in everyone
    ]
    return [
        Row(
            work,
            name,
            len(part.X_train if work == "fit" else part.X_test),
            part.X_train.shape[1],
            len(ours.classes_),
            peer,
            seconds[k],
            seconds[0],
            seconds[k] / seconds[0],
            difference,
            losses[0],
            losses[k],
        )
        for work, seconds in (("fit", fitting), ("predict_proba", predicting))
        for k, peer in enumerate(peers, start=1)
    ]


def main(names: list[str]) -> None:
    names = names or [*data.available(DATASETS), "digits", *MADE]
    print(f"{'':46}{'peer':>10}{'polytomy':>10}{'ratio':>8}{'from SVC':>10}{'log-loss':>18}")
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        for name in names:
            for row in measure(name):
                wanted = f"{TARGET:.0f}x" if row.work == "predict_proba" else ""
                print(
                    f"{row.work:14}{row.dataset:12}{row.peer:20}{row.peer_seconds:9.3f}s"
                    f"{row.seconds:9.3f}s{row.ratio:7.1f}x{row.from_svc:10.0e}"
                    f"{row.log_loss:9.3f}{row.peer_log_loss:9.3f} {wanted}",
                    flush=True,
                )
                rows.append(row)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
