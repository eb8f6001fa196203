"""The tables of docs/paper.md: our trials compared with the published figures, in Markdown.

    polytomy trials --data folder --paper --repeats 10 -o results
    python -m benchmarks paper results

Prints a table for each of the five published measures, the number of results that agree, and every
result that is worse. Writes all values of all trials to docs/results/paper.csv.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

from polytomy.trials import Beside, Results, beside_published
from polytomy.trials.results import find_measure, format_cell

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "paper.csv"
MEASURES = (
    "uncertainty_coefficient",
    "root_brier_score",
    "winner_brier_score",
    "fit_seconds",
    "predict_seconds",
)
SIGNS = {"agrees": "", "better": " ▲", "worse": " ▼"}
SHORT = {"least-squares": "lsq"}


def format_table(measure: str, cells: list[Beside]) -> str:
    """Return a table of our mean ± deviation, the published mean in brackets, and the verdict."""
    own = [each for each in cells if each.measure == measure]
    pairs = list(dict.fromkeys(each.pair for each in own))
    datasets = list(dict.fromkeys(each.dataset for each in own))
    by_place = {(each.pair, each.dataset): each for each in own}
    lines = [
        f"| {find_measure(measure).title} | {' | '.join(datasets)} |",
        f"|---|{'---|' * len(datasets)}",
    ]
    for pair in pairs:
        name = f"{pair[0]} {SHORT.get(pair[1], pair[1])}"
        texts = [
            f"{format_cell(each.ours, ' ± ')} ({each.theirs.mean:g}){SIGNS[each.verdict]}"
            if (each := by_place.get((pair, dataset)))
            else ""
            for dataset in datasets
        ]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def main(words: list[str]) -> None:
    if not words:
        print("name a results folder, as `polytomy trials --data folder --paper` writes one")
        return
    folder = Path(words[0])
    cells = beside_published(Results.read(folder))
    for measure in MEASURES:
        print(f"\n{format_table(measure, cells)}")
        counts = Counter(each.verdict for each in cells if each.measure == measure)
        print(f"\n{dict(counts)}")
    for each in cells:
        if each.verdict == "worse":
            print(
                f"worse: {each.measure} {each.dataset} {each.pair} {each.ours.mean:.4f} ± "
                f"{each.ours.std:.4f}, published {each.theirs.mean:g} ± {each.theirs.std:g}"
            )
    shutil.copyfile(folder / "trials.csv", RESULTS)
