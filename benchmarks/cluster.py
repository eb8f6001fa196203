"""How much faster is training on two workers of a Dask cluster than on one?

Gaussian clouds with 20 features and 26 classes, in 16 parts; each worker is a process with one
thread. Each fit is repeated on one worker, on two, and on two while one of them is killed, in turn;
the table shows the medians. The processor time of the busiest worker shows how evenly the work is
divided, even on a busy machine. The predictions of all fits are compared.

    python -m benchmarks cluster [repeats] [plot]

This takes about four minutes, and writes docs/results/cluster.csv, the table in docs/dask.md and
docs/figures/cluster.png; "plot" only redraws the figure and rewrites the table.
"""

from __future__ import annotations

import csv
import os
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from benchmarks.growth import make_clouds
from benchmarks.pages import DOCS, replace_table

RESULTS = DOCS / "results" / "cluster.csv"
FIGURE = DOCS / "figures" / "cluster.png"
N_CLASSES, N_PARTS = 26, 16
SECONDS_TO_NOTICE = 5  # until the scheduler notices that a worker is gone
SECONDS_TO_RESTART = 60  # a nanny that takes longer never restarts its worker
CASES = (
    ("one-vs-one", SVC(gamma=0.05), 10_000),
    ("one-vs-rest", SVC(gamma=0.05), 4_000),
    ("one-vs-one", LogisticRegression(), 50_000),
)


def time_fit(classifier: Any, X: Any, y: Any, client: Any) -> tuple[float, float]:
    """Return the time of a fit, and the processor time of its busiest worker."""
    before = client.run(time.process_time)
    started = time.perf_counter()
    classifier.set_params(client=client).fit(X, y)
    taken = time.perf_counter() - started
    after = client.run(time.process_time)
    return taken, max(after[worker] - before.get(worker, 0.0) for worker in after)


def kill_a_worker_after(client: Any, seconds: float) -> threading.Timer:
    """Kill one of the workers as kill -9 does, after some seconds."""
    (process, *_) = client.run(os.getpid).values()
    timer = threading.Timer(seconds, os.kill, [process, signal.SIGKILL])
    timer.start()
    return timer


def measure(
    scheme: str, estimator: Any, n_samples: int, one: Any, two: Any, repeats: int
) -> dict[str, Any]:
    import dask.array as da

    from polytomy.dask import DaskPolytomyClassifier

    X, y = make_clouds(n_samples, N_CLASSES, seed=0)
    X_new, _ = make_clouds(1_000, N_CLASSES, seed=1)
    size = -(-n_samples // N_PARTS)
    data = da.from_array(X, (size, X.shape[1])), da.from_array(y, size)
    classifier = DaskPolytomyClassifier(estimator, scheme, random_state=0)
    seconds: dict[str, list[float]] = {"one_worker": [], "two_workers": [], "one_killed": []}
    busiest: dict[str, list[float]] = {name: [] for name in seconds}
    answers = []
    for _ in range(1 + repeats):
        for name, client in (("one_worker", one), ("two_workers", two), ("one_killed", two)):
            timer = None
            if name == "one_killed":
                timer = kill_a_worker_after(client, seconds["two_workers"][-1] / 2)
            taken, processor_time = time_fit(classifier, *data, client)
            answers.append(classifier.predict_proba(X_new))
            seconds[name].append(taken)
            busiest[name].append(processor_time)
            if timer is not None:
                timer.join()
                time.sleep(SECONDS_TO_NOTICE)
                client.wait_for_workers(2, timeout=SECONDS_TO_RESTART)
                client.run(_import_polytomy)
    # Ignore the first fits, which import packages.
    medians = {name: float(np.median(values[1:])) for name, values in seconds.items()}
    work = {name: float(np.median(values[1:])) for name, values in busiest.items()}
    row = {
        "scheme": scheme,
        "estimator": type(estimator).__name__,
        "samples": n_samples,
        "binaries": len(classifier.binaries_),
        **{f"{name}_seconds": round(value, 2) for name, value in medians.items()},
        "speed_up": round(medians["one_worker"] / medians["two_workers"], 2),
        "busiest_of_one": round(work["one_worker"], 2),
        "busiest_of_two": round(work["two_workers"], 2),
        "largest_difference": float(max(np.abs(each - answers[0]).max() for each in answers)),
    }
    print(row, flush=True)
    return row


def _import_polytomy() -> None:
    import polytomy.classifier  # noqa: F401


def read_results() -> list[dict[str, str]]:
    with RESULTS.open() as file:
        return list(csv.DictReader(file))


def write_page() -> None:
    """Write the table in docs/dask.md."""
    header = (
        "scheme", "samples", "binaries", "one worker", "two workers", "speed-up",
        "two, one of them killed",
    )  # fmt: skip
    rows = [
        (
            f"{row['scheme']}, {row['estimator']}",
            f"{int(row['samples']):,}",
            row["binaries"],
            f"{float(row['one_worker_seconds']):.1f} s",
            f"{float(row['two_workers_seconds']):.1f} s",
            f"**{float(row['speed_up']):.1f}**",
            f"{float(row['one_killed_seconds']):.1f} s",
        )
        for row in read_results()
    ]
    replace_table("dask.md", "cluster", header, rows)


def plot() -> None:
    """Draw the training times as bars."""
    from matplotlib.figure import Figure

    rows = read_results()
    figure = Figure(figsize=(8, 3), layout="constrained")
    axis = figure.subplots()
    labels = {
        "one_worker_seconds": "one worker",
        "two_workers_seconds": "two workers",
        "one_killed_seconds": "two workers, one of them killed",
    }
    for k, (field, label) in enumerate(labels.items()):
        heights = [float(row[field]) for row in rows]
        bars = axis.bar(np.arange(len(rows)) + 0.27 * (k - 1), heights, 0.25, label=label)
        axis.bar_label(bars, fmt="%.1f", fontsize=8)
    names = [f"{row['scheme']}, {row['estimator']}\n{row['samples']} samples" for row in rows]
    axis.set_xticks(range(len(rows)), names)
    axis.set_ylabel("seconds to train")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(FIGURE, dpi=120)


def main(arguments: Sequence[str] = ()) -> None:
    if list(arguments) != ["plot"]:
        measure_all(int(arguments[0]) if arguments else 3)
    write_page()
    plot()


def measure_all(repeats: int) -> None:
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        LocalCluster(n_workers=1, **options) as alone,
        LocalCluster(n_workers=2, **options) as pair,
        Client(alone, set_as_default=False) as one,
        Client(pair, set_as_default=False) as two,
    ):
        rows = [measure(*case, one, two, repeats) for case in CASES]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
