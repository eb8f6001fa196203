"""Made-up results of trials, with labels that try to be markup."""

import json
from urllib.parse import quote

from polytomy.report.figures import Name
from polytomy.trials import CATALOGUE, Results

__all__ = [
    "CLASSES",
    "COEFFICIENTS",
    "CONFUSION",
    "EVIL",
    "NAMES",
    "PAIRS",
    "TREE",
    "make_record",
    "make_results",
    "write_folder",
]

EVIL = '<script>alert("1")</script>'
NAMES = [Name(f"scheme {k}", "m", str(k + 1), f"c{k}") for k in range(8)]
PAIRS = [("one-vs-one", "least-squares"), ("tree", "greedy"), ("tree", "least-squares")]
# The published figures for sat are 0.80 ± 0.01, 0.788 ± 0.010 and 0.789 ± 0.010.
COEFFICIENTS = {
    ("sat", 0): [0.79, 0.80, 0.82],
    ("sat", 1): [0.90, 0.91, 0.92],
    ("sat", 2): [0.50, 0.51, 0.53],
    ("own & <b>", 0): [0.5, 0.7, 0.9],
    ("own & <b>", 2): [0.3, 0.75, 0.4],
}
CONFUSION = [[5, 1, 0], [0, 4, 2], [0, 0, 6]]
RELIABILITY = [[4, 0.5, 0.0], *([0, 0.0, 0.0] for _ in range(8)), [5, 4.0, 3.0]]
CLASSES = [EVIL, "b&b", 'c"']
DISTANCES = [[0.0, 3.0, 5.0], [3.0, 0.0, 2.0], [5.0, 2.0, 0.0]]
TREE = 'empirical {\n  empirical.00 {"c\\"" "b&b"}\n  "<script>alert(\\"1\\")</script>"\n}'

SAT_TREE = f"all {{\n{TREE}\nrest {{d more {{e f}}}}\n}}"


def classes_of(dataset):
    """Return the classes; sat has six, as in the paper, of which three never occur in a test."""
    return [*CLASSES, "d", "e", "f"] if dataset == "sat" else CLASSES


def widened(matrix, dataset):
    """Return a matrix with zeros for further classes."""
    n_classes = len(classes_of(dataset))
    n_more = n_classes - len(matrix)
    return [row + [0] * n_more for row in matrix] + [[0] * n_classes for _ in range(n_more)]


def make_record(dataset, repeat):
    cells = []
    for k, (configuration, method) in enumerate(PAIRS):
        cell = {"configuration": configuration, "method": method}
        if (dataset, k) not in COEFFICIENTS:
            cells.append(cell | {"problem": f"no tree for {EVIL}"})
            continue
        value = COEFFICIENTS[dataset, k][repeat]
        scores = {
            "uncertainty_coefficient": value,
            "accuracy": value,
            "log_loss": None if method == "greedy" else 1 - value,
            "fit_seconds": 2.0 + repeat if configuration == "tree" else 30.0 + repeat,
            "predict_seconds": 0.01 * (k + 1),
            "n_binaries": 3,
        }
        reliability = None if method == "greedy" else RELIABILITY
        cells.append(
            cell
            | {
                "problem": "",
                "scores": scores,
                "confusion": widened(CONFUSION, dataset),
                "reliability": reliability,
            }
        )
    return {
        "dataset": dataset,
        "repeat": repeat,
        "seed": 1000 + repeat,
        "estimator": f"svc {EVIL}",
        "seconds": 2.5,
        "classes": classes_of(dataset),
        "n_train": 40,
        "n_test": 18,
        "n_jobs": 2,
        "warnings": [f"odd {EVIL}"] if repeat == 1 else [],
        "schemes": {"one-vs-one": f"text {EVIL}", "tree": f"tree of trial {repeat}"},
        "versions": {"numpy": "2.0" if repeat else "1.26"},
        "threads": {"OMP_NUM_THREADS": "1"},
        "cells": cells,
    }


def make_results(repeats=3, datasets=("sat", "own & <b>")):
    records = [make_record(name, repeat) for name in datasets for repeat in range(repeats)]
    facts = {
        name: {
            "name": name,
            "n_samples": CATALOGUE["sat"].n_samples,
            "n_features": 36,
            "classes": classes_of(name),
            "counts": list(CATALOGUE["sat"].counts) if name == "sat" else [20, 20, 20],
            "fingerprint": "f00d",
            "estimator": CATALOGUE["sat"].estimator if name == "sat" else f"svc {EVIL}",
            "distances": widened(DISTANCES, name),
            "empirical_tree": SAT_TREE if name == "sat" else TREE,
        }
        for name in datasets
    }
    pairs = [
        {"configuration": one, "method": other, "scheme": one, "solver": other}
        for one, other in PAIRS
    ]
    protocol = {"pairs": pairs, "test": 0.3, "seed": 77, "calibration": "auto", "folds": 5}
    manifest = {
        "protocol": protocol,
        "versions": {"numpy": "1.26"},
        "python": "3.12.1",
        "system": EVIL,
        "processors": 2,
    }
    return Results(records, PAIRS, list(datasets), facts, manifest)


def write_folder(folder, results):
    """Write results into a folder, as a run does."""
    (folder / "manifest.json").write_text(json.dumps(results.manifest | {"format": 1}))
    for part in ("trials", "datasets"):
        (folder / part).mkdir()
    for record in results.records:
        name = f"{quote(record['dataset'], safe=' ')}-{record['repeat']:03}.json"
        (folder / "trials" / name).write_text(json.dumps(record))
    for name, facts in results.facts.items():
        path = folder / "datasets" / f"{quote(name, safe=' ')}.json"
        path.write_text(json.dumps(facts))
