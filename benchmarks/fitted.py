"""Which calibration of a fitted multi-class model has the best probabilities?

    POLYTOMY_DATA=folder python -m benchmarks fitted [dataset ...]

Models are trained on at most 1000 rows, calibrated on 500 others, and tested on at most 2000; two
splits of each dataset, as in `benchmarks study`. The calibrations are PolytomyClassifier with
scheme="direct", and CalibratedClassifierCV with each of its methods. Packages that are not
installed are left out.
"""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import polytomy as pt
from benchmarks import study
from benchmarks.calibration import import_if_installed

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "fitted.csv"
DATASETS = ("pendigits", "usps", "segment", "sat", "humidity", "calhousing8", "digits")
N_SPLITS, N_CALIBRATION = 2, 500
METHODS = ("own", "polytomy", "sigmoid", "isotonic", "temperature")


def make_models(seed: int) -> dict[str, Any]:
    models: dict[str, Any] = {
        "RandomForestClassifier": RandomForestClassifier(random_state=seed),
        "HistGradientBoostingClassifier": HistGradientBoostingClassifier(random_state=seed),
        "LogisticRegression": LogisticRegression(max_iter=1000),
        "SVC": SVC(),
    }
    options = {"random_state": seed, "n_jobs": 1}
    if lightgbm := import_if_installed("lightgbm"):
        models["LGBMClassifier"] = lightgbm.LGBMClassifier(verbose=-1, **options)
    if xgboost := import_if_installed("xgboost"):
        models["XGBClassifier"] = xgboost.XGBClassifier(**options)
    if catboost := import_if_installed("catboost"):
        models["CatBoostClassifier"] = catboost.CatBoostClassifier(
            iterations=300, random_seed=seed, thread_count=1, verbose=0, allow_writing_files=False
        )
    return models


def calibrate(model: Any, method: str) -> Any:
    if method == "polytomy":
        return pt.PolytomyClassifier(FrozenEstimator(model), "direct", random_state=0)
    return CalibratedClassifierCV(FrozenEstimator(model), method=method)


def measure(name: str) -> list[dict[str, Any]]:
    rows = []
    X, y = study.load(name)
    for seed in range(N_SPLITS):
        part = study.split(X, y, seed)
        # The calibration rows are taken from the test rows.
        X_new, y_new = part.X_test[:N_CALIBRATION], part.y_test[:N_CALIBRATION]
        X_test, y_test = part.X_test[N_CALIBRATION:], part.y_test[N_CALIBRATION:]
        for kind, model in make_models(seed).items():
            model.fit(part.X_train, part.y_train)
            row: dict[str, Any] = {"dataset": name, "split": seed}
            row |= {"model": kind, "n_classes": len(model.classes_)}
            for method in METHODS:
                if method == "own" and not hasattr(model, "predict_proba"):
                    row |= {"own": "", "own_accuracy": ""}
                    continue
                fitted = model if method == "own" else calibrate(model, method).fit(X_new, y_new)
                proba = fitted.predict_proba(X_test)
                row[method] = round(pt.metrics.log_loss(y_test, proba, model.classes_), 4)
                accuracy = np.mean(proba.argmax(axis=1) == y_test)
                row[f"{method}_accuracy"] = round(float(accuracy), 4)
            print(*row.values(), flush=True)
            rows.append(row)
    return rows


def summarise(rows: list[dict[str, Any]]) -> None:
    """Print geometric means of the log-loss over all datasets and splits."""
    print("| model | " + " | ".join(METHODS) + " |\n" + "|---" * (len(METHODS) + 1) + "|")
    for kind in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == kind]
        cells = (
            ""
            if own[0][method] == ""
            else f"{np.exp(np.mean([np.log(row[method]) for row in own])):.3f}"
            for method in METHODS
        )
        print(f"| {kind} | " + " | ".join(cells) + " |")


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for name in names or [name for name in study.find_datasets() if name in DATASETS]:
            rows += measure(name)
    summarise(rows)
    if not names:
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
