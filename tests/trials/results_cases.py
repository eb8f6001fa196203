"""Made-up results of trials."""

from polytomy.trials import Results

__all__ = ["ACCURACY", "PAIRS", "make_results"]

PAIRS = [("pairs", "lsq"), ("tree", "rec"), ("tree", "lsq")]
ACCURACY = {
    ("a", "pairs"): [0.5, 0.75, 1.0],
    ("a", "tree"): [0.25, 0.75, 0.5],
    ("b_c", "pairs"): [0.125, 0.25, 0.5],
    ("b_c", "tree"): [0.5, 0.5, 0.5],
}


def make_results(accuracy, datasets=("a", "b_c")):
    """Return results with these accuracies; the greedy tree could not be run on b_c."""
    records = []
    for dataset in datasets:
        for repeat in range(3):
            cells = []
            for configuration, method in PAIRS:
                cell = {"configuration": configuration, "method": method, "problem": ""}
                value = accuracy[dataset, configuration][repeat]
                cell["scores"] = {"accuracy": value, "n_binaries": len(configuration)}
                cell["confusion"] = [[repeat, 1], [0, 2]]
                cell["reliability"] = None if method == "rec" else [[2, 0.5, 1.0]]
                cell["scores"]["log_loss"] = None if method == "rec" else 1 - value
                if (dataset, method) == ("b_c", "rec"):
                    cell = {"configuration": configuration, "method": method}
                    cell["problem"] = "no tree | here"
                cells.append(cell)
            records.append({"dataset": dataset, "repeat": repeat, "cells": cells})
    # A folder has them in no particular order.
    return Results(records[::-1], PAIRS, list(datasets), {}, {"format": 1})
