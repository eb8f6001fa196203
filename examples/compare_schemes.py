"""Compare ways to build a ten-class classifier of support vector machines, on handwritten digits.

Run it with `make demo`. Each scheme divides the ten classes into other binary problems; the table
shows what that does to accuracy, to the quality of the probabilities and to time.
"""

from __future__ import annotations

from time import perf_counter

from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.progress import track
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt

SCHEMES = ["one-vs-one", "one-vs-rest", "orthogonal", "random", "adjacent", "tree"]


def compare(schemes: list[str]) -> list[dict[str, float | str]]:
    """Train and test the digits under each scheme, on one split and with one kind of machine."""
    X, y = load_digits(return_X_y=True)
    parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    X_train, X_test, y_train, y_test = parts
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    rows: list[dict[str, float | str]] = []
    console = Console(stderr=True)
    for scheme in track(schemes, "training", console=console, transient=True):
        classifier = pt.PolytomyClassifier(SVC(gamma="auto"), scheme, random_state=0, n_jobs=2)
        start = perf_counter()
        classifier.fit(X_train, y_train)
        trained = perf_counter()
        classifier.predict_proba(X_test[:2])  # the first use of a solver compiles it
        asked = perf_counter()
        probabilities = classifier.predict_proba(X_test)
        done = perf_counter()
        predicted = classifier.classes_[probabilities.argmax(axis=1)]
        rows.append(
            {
                "scheme": scheme,
                "binaries": classifier.scheme_.n_partitions,
                "accuracy": (predicted == y_test).mean(),
                "U": pt.metrics.uncertainty_coefficient(y_test, predicted),
                "Brier": pt.metrics.brier_score(y_test, probabilities),
                "log-loss": pt.metrics.log_loss(y_test, probabilities),
                "fit": trained - start,
                "predict": done - asked,
            }
        )
    return rows


def show(rows: list[dict[str, float | str]]) -> None:
    """Print the comparison, the best of each score in bold."""
    title = "Digits, 30 % held out, RBF support vector machines"
    caption = "U is the uncertainty coefficient; times in seconds; the best score in bold"
    table = Table(
        title=title,
        caption=caption,
        box=SIMPLE_HEAD,
        padding=(0, 1),
        pad_edge=False,
        collapse_padding=True,
    )
    best = {"accuracy": max, "U": max, "Brier": min, "log-loss": min}
    for name in rows[0]:
        justify: JustifyMethod = "left" if name == "scheme" else "right"
        table.add_column(name, justify=justify, no_wrap=True)
    for row in rows:
        cells = []
        for name, value in row.items():
            text = (
                f"{value:.4f}"
                if name in best
                else f"{value:.2f}"
                if name in ("fit", "predict")
                else f"{value}"
            )
            is_best = name in best and value == best[name](other[name] for other in rows)
            cells.append(f"[bold]{text}[/bold]" if is_best else text)
        table.add_row(*cells)
    Console().print(table)


if __name__ == "__main__":
    show(compare(SCHEMES))
