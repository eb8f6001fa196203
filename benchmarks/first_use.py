"""How long does the first `fit` and `predict_proba` take, before anything is compiled?

Each row is a new process: the interpreter starts, imports polytomy, trains `SVC()` with the default
options and predicts the probabilities of all samples. "first" has an empty cache of machine code,
"second" uses what the first one has left there, and "warm" has a cache that `polytomy warm-up` has
filled. "peer" is the same with SVC(probability=True) and without polytomy: most of it is importing
scikit-learn. Seconds are processor time; compiling uses one core. "difference" is the largest
difference between a probability and that of the warm process.

    python -m benchmarks first-use

Writes docs/results/first_use.csv.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[1] / "docs"

TASKS = {
    "iris": ("load_iris", ["one-vs-one"]),
    "digits": ("load_digits", ["one-vs-one"]),
    "digits, five schemes": (
        "load_digits",
        ["one-vs-one", "one-vs-rest", "tree", "adjacent", "random"],
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


def run(words: list[str], cache: str) -> float:
    """Return the seconds of processor time that a process takes."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    environment.pop("POLYTOMY_ROUTINES", None)
    before = os.times()
    subprocess.run([sys.executable, *words], env=environment, check=True, capture_output=True)
    after = os.times()
    return (
        after.children_user
        + after.children_system
        - (before.children_user + before.children_system)
    )


def measure(task: str, cache: str, answers: Path) -> tuple[float, np.ndarray]:
    loader, schemes = TASKS[task]
    seconds = run(["-c", PROGRAM, loader, str(answers), *schemes], cache)
    return seconds, np.load(answers)


def main() -> None:
    rows = []
    print(f"{'':24}{'peer':>9}{'first':>9}{'second':>9}{'warm':>9}{'difference':>13}")
    with tempfile.TemporaryDirectory() as folder:
        warm_cache, answers = str(Path(folder, "warm")), Path(folder, "answers.npy")
        warm_up_seconds = run(["-m", "polytomy", "warm-up"], warm_cache)
        for number, task in enumerate(TASKS):
            cache = str(Path(folder, str(number)))
            peer = run(["-c", PEER, TASKS[task][0]], cache)
            first, found = measure(task, cache, answers)
            second, found_again = measure(task, cache, answers)
            warm, expected = measure(task, warm_cache, answers)
            difference = max(np.abs(each - expected).max() for each in (found, found_again))
            rows.append(
                {
                    "task": task,
                    "peer_seconds": round(peer, 2),
                    "first_seconds": round(first, 2),
                    "second_seconds": round(second, 2),
                    "warm_seconds": round(warm, 2),
                    "difference": float(f"{difference:.1e}"),
                }
            )
            times = "".join(f"{seconds:8.1f}s" for seconds in (peer, first, second, warm))
            print(f"{task:24}{times}{difference:13.0e}", flush=True)
    print(f"polytomy warm-up{warm_up_seconds:16.1f}s")
    rows.append({"task": "polytomy warm-up", "first_seconds": round(warm_up_seconds, 2)})
    with (DOCS / "results" / "first_use.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
