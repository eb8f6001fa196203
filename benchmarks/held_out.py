"""Do 600 held-out samples suffice for the decoder, if the estimator has `predict_proba`?

    POLYTOMY_DATA=folder python -m benchmarks held-out [dataset ...]

For such estimators, `final_calibration="auto"` makes only as many folds as hold out 600 samples.
Each scheme is trained once with five folds of 1500 rows. The bias and the decoder then learn from
as many folds as hold out 600 samples, and from all folds; the log-loss is that on at most 2000 test
rows. The rule was not chosen on these datasets.
"""

from __future__ import annotations

import csv
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

import polytomy as pt
from benchmarks import study
from polytomy.calibration.final import clip_decisions

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "held_out.csv"
DATASETS = ("calhousing8", "car", "krkopt", "pageblocks", "digits",
            "newsgroups", "shuttle")  # fmt: skip
SCHEMES = ("one-vs-rest", "orthogonal", "adjacent", "tree", "direct")
N_TRAIN, ENOUGH = 1500, 600
# Many classes make many trees, so these take long.
SLOW = ("RandomForestClassifier", "HistGradientBoostingClassifier")
MOST_CLASSES_IF_SLOW = 10


def make_estimators(seed: int) -> dict[str, Any]:
    estimators = (
        LogisticRegression(max_iter=300),
        GaussianNB(),
        KNeighborsClassifier(),
        RandomForestClassifier(50, random_state=seed),
        HistGradientBoostingClassifier(max_iter=40, random_state=seed),
    )
    return {type(each).__name__: each for each in estimators}


def measure(estimator: Any, scheme: str, part: study.Part, seed: int) -> dict[str, float]:
    classifier = pt.PolytomyClassifier(
        estimator, scheme, final_calibration="bias", random_state=seed
    ).fit(part.X_train, part.y_train)
    composition = classifier.composition_
    answers = clip_decisions(composition.bank.decisions(part.X_test))
    coupled = composition.couple(answers)
    known = composition.out_of_fold
    n_folds = 1 + np.searchsorted(np.cumsum(np.bincount(known.fold_of)), ENOUGH)
    losses = {"none": pt.metrics.log_loss(part.y_test, coupled, composition.classes)}
    for name, rows in ((f"{ENOUGH}", known.fold_of < n_folds), ("all", known.fold_of >= 0)):
        some = replace(
            known,
            scores=known.scores[rows],
            rows=known.rows[rows],
            class_indices=known.class_indices[rows],
            weight=known.weight[rows],
            fold_of=known.fold_of[rows],
        )
        for option in ("bias", "decoder"):
            final = composition.calibrated_on(replace(some, final_calibration=option)).final
            found = final.map.apply(coupled, answers)
            loss = pt.metrics.log_loss(part.y_test, found, composition.classes)
            losses[f"{option}, {name}"] = loss
    return losses


def summarise(rows: list[dict[str, Any]]) -> None:
    """Print the decoder's log-loss, divided by that of the bias: geometric mean and maximum."""
    print("| learner | " + " | ".join(SCHEMES) + " |\n" + "|---" * (len(SCHEMES) + 1) + "|")
    for learner in dict.fromkeys(row["learner"] for row in rows):
        cells = []
        for scheme in SCHEMES:
            own = [row for row in rows if (row["learner"], row["scheme"]) == (learner, scheme)]
            ratios = [float(row["decoder, 600"]) / float(row["bias, 600"]) for row in own]
            mean = np.exp(np.mean(np.log(ratios)))
            cells.append(f"{mean:.3f} ({max(ratios):.2f})")
        print(f"| `{learner}` | " + " | ".join(cells) + " |")


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for name in names or [name for name in study.find_datasets() if name in DATASETS]:
        X, y = study.load(name)
        part = study.split(X, y, 0, N_TRAIN)
        for learner, estimator in make_estimators(0).items():
            if learner in SLOW and part.y_train.max() >= MOST_CLASSES_IF_SLOW:
                continue
            for scheme in SCHEMES:
                with threadpool_limits(1):
                    losses = measure(estimator, scheme, part, 0)
                row = {"dataset": name, "learner": learner, "scheme": scheme}
                rows.append(row | {key: round(loss, 5) for key, loss in losses.items()})
                print(*rows[-1].values(), flush=True)
    summarise(rows)
    if not names:
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
