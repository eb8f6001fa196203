"""How much faster are compressed classifiers, and is the loss that they tell true?

    POLYTOMY_DATA=folder python -m benchmarks compression [dataset[=rows] ...] [plot]

Each method is tried with several sizes on one-vs-one of SVC (C=10, gamma="scale") with standardised
features. The loss that is told is compared with that on test rows. Speed-ups are ratios of
processor time, the shortest of five, of all test rows, taken in turns with the exact classifier.
The row "auto" is what `compress` returns by default, or that it refuses; its cost is a multiple of
the processor time of `fit`. With a number of training rows, such as humidity_full=60000, only this
row is measured, on more test rows. The results are in docs/results/compression.csv and
docs/figures/compression.png; "plot" only redraws the figure.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import polytomy as pt
from benchmarks import data
from benchmarks.many_classes import peak_megabytes
from polytomy.errors import ArgumentError
from polytomy.model import compression

DOCS = Path(__file__).parents[1] / "docs"
RESULTS, FIGURE = DOCS / "results" / "compression.csv", DOCS / "figures" / "compression.png"
N_TRAIN = {
    "humidity_full": 8_000,
    "letter": 8_000,
    "usps": 2_500,
    "pendigits": 4_000,
    "sat": 3_000,
    "shuttle": 3_000,
    "krkopt": 3_000,
}
SIZES = {"fourier": (200, 500, 1000), "cascade": (100, 200), "borders": (100,)}
N_TEST, MANY_TESTS = 3_000, 10_000

_hold_out, _speed_up = compression._hold_out, compression._speed_up


def measure(name: str, n_rows: int | None) -> Iterator[dict[str, Any]]:
    """Yield a row for "auto" and, unless a number of rows is given, for each method and size."""
    X, y = data.load(name)
    n_train = min(n_rows or N_TRAIN[name], len(y) * 3 // 4)
    n_test = min(MANY_TESTS if n_rows else N_TEST, len(y) - n_train)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_train, test_size=n_test, random_state=0
    )
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    is_known = np.isin(y_test, y_train)
    test = X_test[is_known], y_test[is_known]
    start = time.process_time()
    exact = pt.PolytomyClassifier("svc C=10", random_state=0).fit(X_train, y_train)
    fit_seconds = time.process_time() - start
    about = {"dataset": name, "rows": n_train, "vectors": _count_vectors(exact)}
    print(f"fit: {fit_seconds:.1f} s, {peak_megabytes():.0f} MB", flush=True)
    composition = exact.composition_
    class_indices = np.searchsorted(exact.classes_, y_train)
    held_out: list[Any] = []

    def hold_out_once(*arguments: Any) -> list[Any]:
        # The machines that are trained without some samples are shared by all sizes.
        if not held_out:
            held_out.extend(_hold_out(*arguments))
        return held_out

    compression._hold_out = hold_out_once
    start = time.process_time()
    try:
        chosen = exact.compress(X_train, y_train)
    except ArgumentError as error:
        yield about | {"method": "auto", "chosen": f"refused: {error}"}
    else:
        told = chosen.compression_
        cost = {"cost in fits": round((time.process_time() - start) / fit_seconds, 2)}
        print(f"{told}; peak memory {peak_megabytes():.0f} MB", flush=True)
        label = {"method": "auto", "chosen": f"{told.method} {told.size}"}
        yield about | label | _compare(exact, chosen, test) | cost
    if n_rows:
        return
    refit = compression._make_refit(exact, composition, X_train, class_indices)
    hold_out_once(composition, X_train, class_indices, refit, str)
    teacher = compression._Teacher(composition, X_train, class_indices)
    for method, sizes in SIZES.items():
        for size in sizes:
            start = time.process_time()
            fast = compression.METHODS[method][1](teacher, size)
            seconds = time.process_time() - start
            candidate = compression._Candidate(method, size, fast, 1.0)
            told, probabilities = compression._measure(candidate, held_out)
            classes = np.concatenate([each.unseen_classes for each in held_out])
            whole = compression._attach(composition, fast, told, probabilities, classes)
            row = {"method": method, "size": size, "seconds": round(seconds, 1)}
            yield about | row | _compare(exact, exact._copy_with(whole), test)


def _compare(exact: Any, fast: Any, test: tuple[Any, Any]) -> dict[str, Any]:
    """Return what a classifier tells of itself, and what test rows say."""
    told = fast.compression_
    return {
        "speed-up": round(_speed_up(exact.composition_, fast.composition_, test[0]), 2),
        "points told": round(-100 * told.accuracy_loss, 2),
        "error": round(100 * told.accuracy_loss_error, 2),
        "points on test rows": round(100 * (fast.score(*test) - exact.score(*test)), 2),
        "log-loss": round(_log_loss(exact, *test), 4),
        "log-loss told": round(told.log_loss_increase, 4),
        "log-loss on test rows": round(_log_loss(fast, *test) - _log_loss(exact, *test), 4),
        "bytes": round(_size(fast) / _size(exact), 3),
    }


def _count_vectors(classifier: Any) -> int:
    members = compression._find_members(classifier.composition_)
    return len(np.unique(np.concatenate([np.asarray(each.support) for each in members])))


def _log_loss(classifier: Any, X: Any, y: Any) -> float:
    return float(log_loss(y, classifier.predict_proba(X), labels=classifier.classes_))


def _size(classifier: Any) -> int:
    composition = classifier.composition_
    # Without the rows for prediction sets, which are the same in both.
    final = replace(composition.final, conformity=None)
    plain = replace(composition, out_of_fold=None, final=final)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.polytomy"
        pt.save(classifier._copy_with(plain), path)
        return path.stat().st_size


def plot() -> None:
    """Draw the speed-up against the loss of accuracy on test rows, a panel for each dataset."""
    from matplotlib.figure import Figure

    rows = _read()
    figure = Figure(figsize=(10, 5), layout="constrained")
    panels = figure.subplots(2, 4).ravel()
    styles = {"fourier": "o-", "cascade": "s-", "borders": "^:"}
    for axis, name in zip(panels, N_TRAIN, strict=False):
        for method, style in styles.items():
            own = [row for row in rows if (row["dataset"], row["method"]) == (name, method)]
            # More than ten points are of no use; they would hide the rest.
            losses = [min(10.0, max(0.0, -float(row["points on test rows"]))) for row in own]
            axis.plot(losses, [float(row["speed-up"]) for row in own], style, label=method)
        axis.axhline(1.0, color="grey", linewidth=0.7)
        axis.axvline(0.5, color="grey", linewidth=0.7, linestyle=":")
        axis.set(title=name.removesuffix("_full"), yscale="log")
        axis.set_xscale("symlog", linthresh=0.5)
        axis.set_xticks([0, 0.5, 2, 10], ["0", "0.5", "2", "10"])
        axis.set_yticks([0.03, 0.1, 0.3, 1, 3, 10], ["0.03", "0.1", "0.3", "1", "3", "10"])
        axis.minorticks_off()
        axis.set(xlim=(-0.05, 11), ylim=(0.02, 15))
    panels[-1].axis("off")
    panels[-1].legend(*panels[0].get_legend_handles_labels(), loc="center", frameon=False)
    figure.supxlabel("points of accuracy lost on test rows")
    figure.supylabel("speed-up")
    figure.savefig(FIGURE, dpi=150)


def main(words: list[str]) -> None:
    names = [word for word in words if word != "plot"] or list(N_TRAIN)
    for word in names if words != ["plot"] else ():
        name, _, n_rows = word.partition("=")
        rows = []
        for row in measure(name, int(n_rows) if n_rows else None):
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            rows.append(row)
        _write(rows)
    plot()


def _write(rows: list[dict[str, Any]]) -> None:
    """Write the rows of a dataset with some number of training rows, and keep all others."""
    if RESULTS.exists():
        own = rows[0]["dataset"], str(rows[0]["rows"])
        rows = [row for row in _read() if (row["dataset"], row["rows"]) != own] + rows
    rows.sort(key=lambda row: list(N_TRAIN).index(row["dataset"]))
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        fields = dict.fromkeys(key for row in rows for key in row)
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _read() -> list[dict[str, Any]]:
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main(sys.argv[1:])
