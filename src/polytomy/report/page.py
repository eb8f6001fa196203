"""The page of trials: sections on datasets, schemes, problems and the protocol, and writing it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polytomy.inputs.arguments import count_things
from polytomy.markup import Child, Markup, tag
from polytomy.report.figures import (
    MOST_CLASSES,
    draw_confusion,
    draw_distances,
    draw_reliability,
    list_errors,
)
from polytomy.report.markup import (
    Panel,
    definition_list,
    details,
    figure,
    gallery,
    html_page,
    section,
    tabs,
)
from polytomy.report.results import (
    count_trials,
    measures_section,
    result_section,
    times_section,
)
from polytomy.report.tables import Names, name_pairs, pair_label
from polytomy.trials import Results, summarise
from polytomy.trials.store import write_content
from polytomy.trials.summary import describe_data, describe_estimators


def datasets_section(results: Results, names: Names) -> Markup | None:
    """Return facts, distances, reliability and confusion of every dataset."""
    panels = [
        Panel(f"dataset-{k}", name, _dataset_panel(results, name, names, f"confusion-{k}"))
        for k, name in enumerate(results.datasets, 1)
    ]
    return section("datasets", "Datasets", tabs(panels, "Dataset")) if panels else None


def _dataset_panel(results: Results, dataset: str, names: Names, key: str) -> list[Child]:
    facts = results.facts.get(dataset, {})
    own = [record for record in results.records if record["dataset"] == dataset]
    return [
        _describe(facts, own),
        _distances(facts, dataset),
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


def _distances(facts: Mapping[str, Any], dataset: str) -> Markup | None:
    """Return the distances between the classes, and the empirical tree that they give."""
    classes = facts.get("classes", ())
    if not facts.get("distances") or len(classes) > MOST_CLASSES:
        return None
    label = f"Distances between the {len(classes)} classes of {dataset}"
    note = (
        "Hausdorff distances, computed from all samples after standardising; stronger colours are "
        "closer. The trials build their empirical trees from the training samples only."
    )
    return tag(
        "div",
        tag("h4", "Distances between classes"),
        draw_distances(np.array(facts["distances"], dtype=np.float64), classes, label),
        tag("p", note, class_="note"),
        details("Empirical tree", tag("pre", facts.get("empirical_tree", ""), tabindex="0")),
    )


def _reliability_figures(results: Results, dataset: str, names: Names) -> Markup | None:
    figures = []
    for pair in results.pairs:
        table = results.total("reliability", dataset, pair)
        if table is None or not table[:, 0].any():
            continue
        name = names[pair]
        label = f"Reliability of the probabilities of {name.text} on {dataset}"
        figures.append(figure(pair_label(name), draw_reliability(table, label, name.colour)))
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
        if len(classes) <= MOST_CLASSES:
            drawn = draw_confusion(counts, classes, label)
        content = tag("div", drawn, list_errors(counts, classes), class_="beside")
        panels.append(Panel(f"{key}-{k}", name.text, content))
    if not panels:
        return None
    note = (
        "Summed over all trials. Correct predictions are blue and errors orange, shaded by their "
        "share of the true class, with a logarithmic scale for errors."
    )
    if len(classes) > MOST_CLASSES:
        note = f"Summed over all trials. A matrix of {len(classes)} classes is too large to draw."
    title = tag("h4", "Confusion matrices")
    chosen = tabs(panels, f"Pair for the confusion matrix of {dataset}", 5)
    return tag("div", title, tag("p", note, class_="note"), chosen)


# -- the page --------------------------------------------------------------------------------------


_LONGEST_TEXT = 60_000


def write_report(
    results: Results | str | os.PathLike[str], path: str | os.PathLike[str] | None = None
) -> Path:
    """Write the report of trials as one self-contained HTML page.

    Parameters
    ----------
    results : Results, or the folder of a run, finished or not
    path : path of the page, written atomically; by default ``report.html`` in the folder, or in the
        working directory if `results` is not a folder

    Returns
    -------
    path of the page

    Examples
    --------
    >>> import tempfile
    >>> cells = [{"configuration": "tree", "method": "greedy", "scores": {"accuracy": 0.75}}]
    >>> records = [{"dataset": "a", "repeat": 0, "cells": cells}]
    >>> results = Results(records, [("tree", "greedy")], ["a"])
    >>> page = write_report(results, Path(tempfile.mkdtemp(), "report.html"))
    >>> page.name
    'report.html'
    """
    if not isinstance(results, Results):
        return write_report(Results.read(results), path or Path(results, "report.html"))
    target = Path("report.html" if path is None else path)
    # JSON may hold lone surrogates, which UTF-8 cannot encode; they become question marks.
    write_content(target, report_html(results).encode("utf-8", "replace"))
    return target


def report_html(results: Results) -> str:
    """Return the report of trials as one HTML page that includes its style sheet and script.

    Parameters
    ----------
    results : Results

    Examples
    --------
    >>> print(report_html(Results([], [], []))[:15])
    <!DOCTYPE html>
    """
    names = name_pairs(results)
    sections = {
        "result": ("Result", result_section(results, names)),
        "measures": ("Measures", measures_section(results, names)),
        "times": ("Time", times_section(results, names)),
        "datasets": ("Datasets", datasets_section(results, names)),
        "schemes": ("Schemes", schemes_section(results)),
        "problems": ("Problems", problems_section(results)),
        "protocol": ("Protocol", protocol_section(results)),
    }
    if not results.records:
        nothing = section("result", "Result", tag("p", summarise(results), class_="warning"))
        sections = {"result": ("Result", nothing), "protocol": sections["protocol"]}
    return html_page(
        f"Trials on {', '.join(results.datasets) or 'nothing yet'} (polytomy)",
        f"Trials on {describe_data(results)}",
        _lead_lines(results),
        sections,
    )


def _lead_lines(results: Results) -> list[Child]:
    """Return the lines below the heading: the classifier, the data, and how often it was tried."""
    counts = set(count_trials(results).values())
    repeats = "–".join(map(str, sorted({min(counts), max(counts)}))) if counts else "0"
    trials = f"{repeats} trial{'' if counts == {1} else 's'}"
    facts = [
        count_things(len(results.pairs), "pair", "pairs") + " of a scheme and a solver",
        trials if len(results.datasets) == 1 else f"{trials} per dataset",
    ]
    seed = results.manifest.get("protocol", {}).get("seed")
    if seed is not None:
        facts.append(f"seed {seed}")
    estimator = describe_estimators(results)
    named: list[Child] = [["Binary classifier: ", tag("code", estimator)]] if estimator else []
    return [*named, " · ".join(facts)]


def schemes_section(results: Results) -> Markup | None:
    """Return the control text of every scheme on every dataset, that of the first trial."""
    texts: dict[str, dict[str, str]] = {}
    for record in sorted(results.records, key=lambda each: int(each["repeat"])):
        for configuration, text in record.get("schemes", {}).items():
            if text:
                texts.setdefault(configuration, {}).setdefault(record["dataset"], text)
    if not texts:
        return None
    note = (
        "The control text of every scheme in the first trial. A scheme that is random or built "
        "from the training samples differs from trial to trial; the files of the trials have all "
        f"texts, and here they end after {_LONGEST_TEXT:,} characters."
    )
    folded = [
        details(
            tag("b", configuration),
            [
                details(dataset, tag("pre", text[:_LONGEST_TEXT], tabindex="0"))
                for dataset, text in by_dataset.items()
            ],
        )
        for configuration, by_dataset in texts.items()
    ]
    return section("schemes", "Schemes", tag("p", note), folded)


def problems_section(results: Results) -> Markup | None:
    """Return the pairs that could not be run, and warnings; None if there are neither."""
    warned: dict[str, dict[str, None]] = {}
    for record in results.records:
        for text in record.get("warnings", ()):
            warned.setdefault(text, {})[record["dataset"]] = None
    problems = results.problems()
    if not problems and not warned:
        return None
    return section(
        "problems",
        "Problems and warnings",
        [tag("h3", "Pairs that could not be run"), _problem_list(problems)] if problems else None,
        [tag("h3", "Warnings"), _problem_list(warned)] if warned else None,
    )


def _problem_list(problems: Mapping[str, Iterable[str]]) -> Markup:
    return tag(
        "ul",
        [
            tag("li", tag("p", problem), tag("p", "; ".join(places), class_="note"))
            for problem, places in problems.items()
        ],
        class_="problems",
    )


def protocol_section(results: Results) -> Markup:
    """Return the settings, machine and versions of the trials."""
    manifest = results.manifest
    protocol = manifest.get("protocol", {})
    items: list[tuple[Child, Child]] = []
    if protocol:
        test, calibration = protocol.get("test", 0), protocol.get("calibration")
        items += [
            ("held out for testing", f"{test:.0%} of each class"),
            ("features", "standardised on the training samples"),
            ("calibration", f"{calibration}, {protocol.get('folds')} folds"),
            ("seed", protocol.get("seed")),
        ]
    items += [
        (name, manifest[key])
        for name, key in (("Python", "python"), ("system", "system"), ("processors", "processors"))
        if key in manifest
    ]
    versions = _versions_by_package(results)
    return section(
        "protocol",
        "Protocol",
        definition_list(items),
        tag("h3", "Versions") if versions else None,
        definition_list(versions.items()),
    )


def _versions_by_package(results: Results) -> dict[str, str]:
    """Return the versions of each package; they may change when a run is continued."""
    found: dict[str, dict[str, None]] = {}
    about = [results.manifest, *results.records]
    for each in about:
        for package, version in each.get("versions", {}).items():
            found.setdefault(package, {})[version] = None
    return {package: ", ".join(versions) for package, versions in found.items()}
