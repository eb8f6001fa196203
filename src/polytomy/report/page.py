"""The page of trials: sections on datasets, schemes, problems and the protocol, and writing it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import PolytomyError
from polytomy.inputs.arguments import count_things
from polytomy.report.figures import (
    MOST_CLASSES,
    draw_confusion,
    draw_dendrogram,
    draw_distances,
    draw_reliability,
    list_errors,
)
from polytomy.report.markup import (
    Child,
    Markup,
    Panel,
    definition_list,
    details,
    figure,
    gallery,
    html_page,
    section,
    tabs,
    tag,
)
from polytomy.report.results import (
    count_trials,
    measures_section,
    published_section,
    result_section,
    times_section,
)
from polytomy.report.tables import Names, name_pairs, pair_label
from polytomy.scheme import Scheme
from polytomy.scheme.reading import parse_with_warnings
from polytomy.trials import Results, beside_published, summarise
from polytomy.trials.store import lock_tables, write_content
from polytomy.trials.summary import describe_data, describe_estimators

Floats = NDArray[np.float64]


def datasets_section(results: Results, names: Names) -> Markup | None:
    """Return facts, tree, distances, reliability and confusion of every dataset."""
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
    if ordered is not None and len(facts["classes"]) <= MOST_CLASSES:
        tree, distances, classes = ordered
        about = f"the {len(classes)} classes of {dataset}"
        drawn = draw_dendrogram(tree, distances, classes, f"Empirical tree of {about}")
        matrix = draw_distances(distances, classes, f"Distances between {about}")
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
            drawn = tag("div", draw_confusion(counts, classes, label), class_="canvas")
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


# Longer control texts are truncated.
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
        with lock_tables(results):
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
    names, beside = name_pairs(results), beside_published(results)
    sections = {
        "result": ("Result", result_section(results, beside, names)),
        "measures": ("Measures", measures_section(results, beside, names)),
        "times": ("Time", times_section(results, names)),
        "datasets": ("Datasets", datasets_section(results, names)),
        "published": ("Paper", published_section(beside, names)),
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
    size = _describe_size(results)
    return [*named, *([size] if size else []), " · ".join(facts)]


def _describe_size(results: Results) -> str:
    """Return the size of the only dataset, or the names of several."""
    if len(results.datasets) != 1:
        return f"Data: {', '.join(results.datasets)}" if results.datasets else ""
    own = results.facts.get(results.datasets[0])
    if own is None:
        return ""
    sizes = [
        f"{own['n_samples']:,} samples",
        count_things(own["n_features"], "feature"),
        f"{len(own['classes'])} classes",
    ]
    return f"Data: {', '.join(sizes)}"


def schemes_section(results: Results) -> Markup | None:
    """Return the control text of every scheme on every dataset."""
    texts: dict[str, dict[str, dict[str, list[int]]]] = {}
    for record in sorted(results.records, key=lambda each: int(each["repeat"])):
        for configuration, text in record.get("schemes", {}).items():
            if text:
                of_dataset = texts.setdefault(configuration, {}).setdefault(record["dataset"], {})
                of_dataset.setdefault(text, []).append(record["repeat"])
    if not texts:
        return None
    note = (
        "The control text of every scheme used in the trials. A scheme that is random or built "
        "from the training samples may differ from trial to trial."
    )
    folded = [
        details(
            tag("b", configuration),
            [
                details(_trials_label(name, repeats, len(found)), _control_text(text))
                for name in results.datasets
                if name in by_dataset
                for found in [by_dataset[name]]
                for text, repeats in found.items()
            ],
        )
        for configuration, by_dataset in texts.items()
    ]
    return section("schemes", "Schemes", tag("p", note), folded)


def _trials_label(dataset: str, repeats: Sequence[int], n_texts: int) -> str:
    if n_texts == 1:
        return dataset
    numbers = ", ".join(str(repeat + 1) for repeat in repeats)
    return f"{dataset}, trial{'s' if len(repeats) > 1 else ''} {numbers}"


def _control_text(text: str) -> list[Markup]:
    shown = [tag("pre", text[:_LONGEST_TEXT], tabindex="0")]
    if len(text) > _LONGEST_TEXT:
        note = (
            f"Only the first {_LONGEST_TEXT:,} of {len(text):,} characters are shown. The files "
            "of the trials have the full text."
        )
        shown.append(tag("p", note, class_="note"))
    return shown


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
    """Return the settings, machine, versions, seeds and data of the trials."""
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
    items += list(_jobs_and_threads(results).items())
    versions = _versions_by_package(results)
    has_seeds = any("seed" in record for record in results.records)
    return section(
        "protocol",
        "Protocol",
        definition_list(items),
        _custom_pairs(protocol.get("pairs", ())),
        tag("h3", "Versions") if versions else None,
        definition_list(versions.items()),
        details("Seeds of the trials", _seeds(results)) if has_seeds else None,
        details("Checksums of the data", _fingerprints(results)) if results.facts else None,
    )


def _custom_pairs(pairs: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Return the schemes and solvers of pairs that are not named after them."""
    own = [
        (f"{each['configuration']}, {each['method']}",
         [tag("code", each["scheme"]), " solved by ", tag("code", each["solver"]),
          _final_calibration(each)])
        for each in pairs
        if (each["scheme"], each["solver"]) != (each["configuration"], each["method"])
    ]  # fmt: skip
    return (
        details("Schemes and solvers by name", definition_list(own, "facts long")) if own else None
    )


def _final_calibration(pair: Mapping[str, Any]) -> Child:
    name = pair.get("final_calibration")
    return [", final calibration ", tag("code", name)] if name else None


def _versions_by_package(results: Results) -> dict[str, str]:
    """Return the versions of each package; they may change when a run is continued."""
    found: dict[str, dict[str, None]] = {}
    about = [results.manifest, *results.records]
    for each in about:
        for package, version in each.get("versions", {}).items():
            found.setdefault(package, {})[version] = None
    return {package: ", ".join(versions) for package, versions in found.items()}


def _jobs_and_threads(results: Results) -> dict[str, str]:
    """Return the numbers of jobs and threads, which may differ from trial to trial."""
    threads = [record.get("threads", {}).items() for record in results.records]
    found = {
        "jobs": dict.fromkeys(str(record.get("n_jobs") or 1) for record in results.records),
        "threads": dict.fromkeys(f"{name}={value}" for own in threads for name, value in own),
    }
    return {name: ", ".join(values) for name, values in found.items() if values}


def _seeds(results: Results) -> Markup:
    seeds: dict[str, list[str]] = {dataset: [] for dataset in results.datasets}
    for record in sorted(results.records, key=lambda each: int(each["repeat"])):
        seeds[record["dataset"]].append(str(record.get("seed")))
    lines = [(dataset, ", ".join(own)) for dataset, own in seeds.items()]
    return definition_list(lines, "facts long")


def _fingerprints(results: Results) -> Markup:
    lines = [
        (name, tag("code", results.facts[name].get("fingerprint", "")))
        for name in results.datasets
        if name in results.facts
    ]
    return definition_list(lines, "facts long")
