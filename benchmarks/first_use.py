"""How long does the first `fit` and `predict_proba` take, before anything is compiled?

Each row is a new process: the interpreter starts, imports polytomy, trains `SVC()` with the default
options and predicts the probabilities of all samples. "first" has an empty cache of machine code,
"second" uses what the first one has left there, and "warm" has a cache that `polytomy warm-up` has
filled. "peer" is the same with SVC(probability=True) and without polytomy: most of it is importing
scikit-learn. Seconds are elapsed time, the shortest of several runs unless they compile much.
"difference" is the largest difference between a probability and that of the warm process.

    python -m benchmarks first-use

Run it in an environment with polytomy alone: scikit-learn imports more if there is more to import.

Writes docs/results/first_use.csv.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

DOCS = Path(__file__).parents[1] / "docs"

TASKS = {  # the dataset, the schemes, and how often to repeat
    "iris": ("load_iris", ["one-vs-one"], 5),
    "digits": ("load_digits", ["one-vs-one"], 5),
    "digits, five schemes": (
        "load_digits",
        ["one-vs-one", "one-vs-rest", "tree", "adjacent", "random"],
        1,
    ),
}

PEER = """
import sys
from sklearn import datasets
from sklearn.svm import SVC
X, y = getattr(datasets, sys.argv[1])(return_X_y=True)
SVC(probability=True, random_state=0).fit(X, y).predict_proba(X)
"""

PROGRAM = """
import sys
import numpy as np
import polytomy as pt
from sklearn import datasets
from sklearn.svm import SVC
X, y = getattr(datasets, sys.argv[1])(return_X_y=True)
found = []
for scheme in sys.argv[3:]:
    classifier = pt.PolytomyClassifier(SVC(), scheme, random_state=0)
    found.append(classifier.fit(X, y).predict_proba(X))
np.save(sys.argv[2], found)
"""


def run(words: list[str], cache: Path) -> float:
    """Return the seconds that a process takes."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("POLYTOMY_ROUTINES", None)
    # Without bytecode files, every process would compile all modules.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = perf_counter()
    subprocess.run([sys.executable, *words], env=environment, check=True, capture_output=True)
    return perf_counter() - started


def measure(task: str, folder: Path, warm_cache: Path) -> tuple[dict[str, float], float]:
    """Return the seconds of each kind of process, and the largest difference of their answers."""
    loader, schemes, n_repeats = TASKS[task]
    answers = folder / "answers.npy"
    words = ["-c", PROGRAM, loader, str(answers), *schemes]
    times: dict[str, list[float]] = {}
    found: dict[str, np.ndarray] = {}
    for repeat in range(n_repeats):
        cache = folder / f"{task} {repeat}"
        times.setdefault("peer", []).append(run(["-c", PEER, loader], cache))
        for kind, used in (("first", cache), ("second", cache), ("warm", warm_cache)):
            times.setdefault(kind, []).append(run(words, used))
            found[kind] = np.load(answers)
    difference = max(np.abs(found[kind] - found["warm"]).max() for kind in ("first", "second"))
    return {kind: min(each) for kind, each in times.items()}, float(difference)


def main() -> None:
    rows: list[dict[str, object]] = []
    print(f"{'':24}{'peer':>9}{'first':>9}{'second':>9}{'warm':>9}{'difference':>13}")
    with tempfile.TemporaryDirectory() as home:
        folder, warm_cache = Path(home), Path(home, "warm")
        warm_up_seconds = run(["-m", "polytomy", "warm-up"], warm_cache)
        for task in TASKS:
            seconds, difference = measure(task, folder, warm_cache)
            rows.append(
                {
                    "task": task,
                    **{f"{kind}_seconds": round(each, 2) for kind, each in seconds.items()},
                    "difference": float(f"{difference:.1e}"),
                }
            )
            times = "".join(f"{each:8.1f}s" for each in seconds.values())
            print(f"{task:24}{times}{difference:13.0e}", flush=True)
    print(f"polytomy warm-up{warm_up_seconds:16.1f}s")
    rows.append({"task": "polytomy warm-up", "first_seconds": round(warm_up_seconds, 2)})
    with (DOCS / "results" / "first_use.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
