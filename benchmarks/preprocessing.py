"""What does preprocessing inside the estimator cost, and what does `shared_preprocessing` save?

One-vs-one classifiers of pipelines, with two jobs: each binary and fold fits its own transformers
("own"), all share them ("shared"), or the transformers come before the classifier ("before"). At
most 1000 samples are used for training and 1000 others for testing. Each time is the best of three,
measured in turn, after a warm-up. The probabilities of "shared" and "before" must be equal if
nothing in the transformers is random; "difference" is their largest difference.

    POLYTOMY_DATA=folder python -m benchmarks preprocessing [dataset ...]
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from benchmarks import data

REPEATS = 3
MOST_SAMPLES = 1000
DATASETS = ("digits", "pendigits", "letter")
PIPELINES = {
    "scaler, SVC": make_pipeline(StandardScaler(), SVC()),
    "scaler, Nystroem, LinearSVC": make_pipeline(
        StandardScaler(), Nystroem(gamma=0.02, n_components=100, random_state=0), LinearSVC()
    ),
}


def classifiers(pipeline: Pipeline) -> dict[str, Any]:
    options = {"n_jobs": 2, "random_state": 0}
    before = [step for _, step in pipeline.steps[:-1]]
    return {
        "own": pt.PolytomyClassifier(pipeline, **options),
        "shared": pt.PolytomyClassifier(pipeline, shared_preprocessing=True, **options),
        "before": make_pipeline(*before, pt.PolytomyClassifier(pipeline[-1], **options)),
    }


def measure(pipeline: Pipeline, part: Any) -> dict[str, dict[str, Any]]:
    X_train, X_test, y_train, y_test = part
    measured: dict[str, dict[str, Any]] = {}
    for repeat in range(REPEATS + 1):
        for name, classifier in classifiers(pipeline).items():
            started = perf_counter()
            classifier.fit(X_train, y_train)
            fitted = perf_counter()
            proba = classifier.predict_proba(X_test)
            times = fitted - started, perf_counter() - fitted
            if repeat == 0:
                loss = pt.metrics.log_loss(y_test, proba, classifier.classes_)
                measured[name] = {"times": [], "proba": proba, "log-loss": loss}
            else:
                measured[name]["times"].append(times)
    for each in measured.values():
        each["fit"], each["predict"] = np.min(each["times"], axis=0)
    return measured


def main(names: list[str]) -> None:
    there = ["digits", *data.available(DATASETS[1:])]
    print(
        f"{'':40}{'fit: own':>10}{'shared':>9}{'before':>9}{'ratio':>7}"
        f"{'predict: own':>14}{'shared':>9}{'log-loss: own':>15}{'shared':>8}{'difference':>12}"
    )
    for dataset in names or there:
        X, y = load_digits(return_X_y=True) if dataset == "digits" else data.load(dataset)
        n_samples = min(MOST_SAMPLES, len(y) // 2)
        part = train_test_split(
            X, y, train_size=n_samples, test_size=n_samples, stratify=y, random_state=0
        )
        for title, pipeline in PIPELINES.items():
            found = measure(pipeline, part)
            own, shared, before = (found[each] for each in ("own", "shared", "before"))
            difference = np.abs(shared["proba"] - before["proba"]).max()
            print(
                f"{dataset:11}{title:29}{own['fit']:9.2f}s{shared['fit']:8.2f}s"
                f"{before['fit']:8.2f}s{own['fit'] / shared['fit']:6.1f}x"
                f"{own['predict']:13.3f}s{shared['predict']:8.3f}s"
                f"{own['log-loss']:15.3f}{shared['log-loss']:8.3f}{difference:12.1e}",
                flush=True,
            )
