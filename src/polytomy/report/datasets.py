"""The section on datasets: facts, trees, reliability and confusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import PolytomyError
from polytomy.report import model_figures
from polytomy.report.markup import (
    Child,
    Markup,
    Panel,
    definition_list,
    details,
    figure,
    gallery,
    section,
    tabs,
    tag,
)
from polytomy.report.tables import Names, pair_label
from polytomy.scheme import Scheme
from polytomy.scheme.reading import parse_with_warnings
from polytomy.trials import Results

Floats = NDArray[np.float64]


def datasets_section(results: Results, names: Names) -> Markup | None:
    """Return facts, tree, distances, reliability and confusion of every dataset."""
    panels = [
        Panel(f"dataset-{k}", name, _dataset_panel(results, name, names, f"confusion-{k}"))
        for k, name in enumerate(results.datasets, 1)
    ]
    return section("datasets", "Datasets", tabs(panels, "Dataset")) if panels else None


def _dataset_panel(results: Results, dataset: str, names: Names, key: str) -> list[Child]:
    facts = (results.facts or {}).get(dataset, {})
    own = [record for record in results.records if record["dataset"] == dataset]
    return [
        _describe(facts, own),
        _tree(facts, dataset),
        _reliability_figures(results, dataset, names),
        _confusion(results, dataset, names, key),
    ]


def _describe(facts: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Markup:
    items: list[tuple[Child, Child]] = [("trials", len(records))]
    if facts:
        items = [
            ("samples", f"{facts['n_samples']:,}"),
            ("features", facts["n_features"]),
            ("classes", len(facts["classes"])),
            *items,
            ("binary classifier", tag("code", facts["estimator"])),
        ]
    if records and "n_train" in records[0]:
        items.append(("training / test samples", _sizes(records)))
    sizes = None
    if facts:
        counts = zip(facts["classes"], facts["counts"], strict=True)
        sizes = details("Samples per class", definition_list(counts, "facts narrow"))
    return tag("div", definition_list(items), sizes)


def _sizes(records: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(sorted({f"{each['n_train']:,} / {each['n_test']:,}" for each in records}))


def _tree(facts: Mapping[str, Any], dataset: str) -> Markup | None:
    """Return the empirical tree and the distances it is built from, in the same order."""
    if not facts.get("distances") or not facts.get("empirical_tree"):
        return None
    text = tag("pre", facts["empirical_tree"], tabindex="0")
    content: Child = text
    ordered = _order_by_tree(facts)
    if ordered is not None and len(facts["classes"]) <= model_figures.MOST_CLASSES:
        tree, distances, classes = ordered
        about = f"the {len(classes)} classes of {dataset}"
        drawn = model_figures.draw_dendrogram(
            tree, distances, classes, f"Empirical tree of {about}"
        )
        matrix = model_figures.draw_distances(distances, classes, f"Distances between {about}")
        figures = [
            figure("Empirical tree", drawn),
            figure("Hausdorff distances; stronger colours are closer", matrix),
        ]
        content = [gallery(figures, "wide"), details("Control text of the tree", text)]
    note = (
        "Computed from all samples after standardising. The trials build their empirical trees "
        "from the training samples only."
    )
    title = tag("h4", "Distances between classes")
    return tag("div", title, content, tag("p", note, class_="note"))


def _order_by_tree(facts: Mapping[str, Any]) -> tuple[Scheme, Floats, list[str]] | None:
    """Return the tree, and distances and names in its order; None if they do not match."""
    try:
        tree, _ = parse_with_warnings(facts["empirical_tree"])
    except PolytomyError:
        return None
    names = [str(label) for label in tree.classes]
    place = {name: k for k, name in enumerate(facts["classes"])}
    is_two_way = all(len(node.branches) == 2 for node in tree.nodes)
    if not tree.nodes or not is_two_way or sorted(names) != sorted(place):
        return None
    order = [place[name] for name in names]
    return tree, np.array(facts["distances"], dtype=np.float64)[np.ix_(order, order)], names


def _reliability_figures(results: Results, dataset: str, names: Names) -> Markup | None:
    figures = []
    for pair in results.pairs:
        table = results.total("reliability", dataset, pair)
        if table is None or not table[:, 0].any():
            continue
        name = names[pair]
        label = f"Reliability of the probabilities of {name.text} on {dataset}"
        figures.append(
            figure(pair_label(name), model_figures.draw_reliability(table, label, name.colour))
        )
    if not figures:
        return None
    note = (
        "Observed frequency against predicted probability in ten bins, pooled over all classes and "
        "trials. Perfectly calibrated probabilities lie on the dashed line. Bars show the number "
        "of probabilities in each bin on a logarithmic scale."
    )
    title = tag("h4", "Reliability")
    return tag("div", title, gallery(figures, "small"), tag("p", note, class_="note"))


def _confusion(results: Results, dataset: str, names: Names, key: str) -> Markup | None:
    own = [each for each in results.records if each["dataset"] == dataset]
    panels = []
    for k, pair in enumerate(results.pairs, 1):
        counts = results.total("confusion", dataset, pair)
        if counts is None:
            continue
        given = own[0].get("classes") or range(len(counts))
        classes = [str(label) for label in given]
        name = names[pair]
        label = f"Confusion matrix of {name.text} on {dataset}, summed over all trials"
        drawn = None
        if len(classes) <= model_figures.MOST_CLASSES:
            drawn = tag(
                "div", model_figures.draw_confusion(counts, classes, label), class_="canvas"
            )
        content = tag("div", drawn, model_figures.list_errors(counts, classes), class_="beside")
        panels.append(Panel(f"{key}-{k}", name.text, content))
    if not panels:
        return None
    note = (
        "Summed over all trials. Correct predictions are blue and errors orange, shaded by their "
        "share of the true class, with a logarithmic scale for errors."
    )
    if len(classes) > model_figures.MOST_CLASSES:
        note = f"Summed over all trials. A matrix of {len(classes)} classes is too large to draw."
    title = tag("h4", "Confusion matrices")
    chosen = tabs(panels, f"Pair for the confusion matrix of {dataset}", 5)
    return tag("div", title, tag("p", note, class_="note"), chosen)
