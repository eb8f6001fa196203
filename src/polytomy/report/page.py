"""Assemble the page, and write it."""

from __future__ import annotations

import os
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from polytomy.inputs.wording import count_things
from polytomy.report.background import problems_section, protocol_section, schemes_section
from polytomy.report.datasets import datasets_section
from polytomy.report.markup import Markup, join, tag
from polytomy.report.measures import measures_section, times_section
from polytomy.report.names import name_pairs
from polytomy.report.opening import count_trials, result_section
from polytomy.report.paper import published_section
from polytomy.report.parts import section
from polytomy.trials import Results, beside_published, summarise
from polytomy.trials.store import lock_tables, write_content
from polytomy.trials.summary import describe_data, describe_estimators

__all__ = ["report_html", "write_report"]


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
    style, script = (_read_resource(name) for name in ("page.css", "page.js"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"Trials on {', '.join(results.datasets) or 'nothing yet'} (polytomy)"),
        tag("style", style),
    )
    body = tag("body", _content(results), tag("script", script))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _read_resource(name: str) -> Markup:
    return Markup(files("polytomy.report").joinpath(name).read_text(encoding="utf-8"))


def _policy(script: str) -> str:
    """Return a content security policy: run the page's own script, and fetch nothing."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _content(results: Results) -> Markup:
    names, beside = name_pairs(results), beside_published(results)
    sections = {
        "Result": result_section(results, beside, names),
        "Measures": measures_section(results, beside, names),
        "Time": times_section(results, names),
        "Datasets": datasets_section(results, names),
        "Paper": published_section(beside, names),
        "Schemes": schemes_section(results),
        "Problems": problems_section(results),
        "Protocol": protocol_section(results),
    }
    if not results.records:
        nothing = tag("p", summarise(results), class_="warning")
        sections = {
            "Result": section("result", "Result", nothing),
            "Protocol": sections["Protocol"],
        }
    shown = {name: content for name, content in sections.items() if content is not None}
    return join([_header(results), _navigation(shown), tag("main", shown.values()), _footer()])


def _header(results: Results) -> Markup:
    manifest = results.manifest or {}
    counts = set(count_trials(results).values())
    repeats = "–".join(map(str, sorted({min(counts), max(counts)}))) if counts else "0"
    trials = f"{repeats} trial{'' if counts == {1} else 's'}"
    facts = [
        count_things(len(results.pairs), "pair", "pairs") + " of a scheme and a solver",
        trials if len(results.datasets) == 1 else f"{trials} per dataset",
    ]
    seed = manifest.get("protocol", {}).get("seed")
    if seed is not None:
        facts.append(f"seed {seed}")
    estimator = describe_estimators(results)
    lines = [["Binary classifier: ", tag("code", estimator)]] if estimator else []
    lines += [[_describe_size(results)], [" · ".join(facts)]]
    return tag(
        "header",
        tag("div", _logo(), tag("span", "polytomy"), class_="brand"),
        tag("h1", f"Trials on {describe_data(results)}"),
        [tag("p", line, class_="lead") for line in lines if any(line)],
    )


def _describe_size(results: Results) -> str:
    """Return the size of the only dataset, or the names of several."""
    if len(results.datasets) != 1:
        return f"Data: {', '.join(results.datasets)}" if results.datasets else ""
    own = (results.facts or {}).get(results.datasets[0])
    if own is None:
        return ""
    sizes = [
        f"{own['n_samples']:,} samples",
        count_things(own["n_features"], "feature"),
        f"{len(own['classes'])} classes",
    ]
    return f"Data: {', '.join(sizes)}"


def _logo() -> Markup:
    """Return the logo: one node with many branches."""
    branches = tag("path", d="M3 12H9M9 12L20 3M9 12L21 9M9 12L21 15M9 12L20 21")
    dots = [tag("circle", cx=x, cy=y, r=1.9) for x, y in ((20, 3), (21, 9), (21, 15), (20, 21))]
    root = tag("circle", cx=9, cy=12, r=2.6)
    return tag("svg", branches, root, dots, viewBox="0 0 24 24", class_="sign", aria_hidden="true")


def _navigation(sections: dict[str, Markup]) -> Markup:
    keys = {"Paper": "published", "Time": "times"}
    links = [tag("a", name, href=f"#{keys.get(name, name.lower())}") for name in sections]
    return tag("nav", tag("div", links), aria_label="Contents")


def _footer() -> Markup:
    note = (
        "Created by polytomy. This page is self-contained and loads nothing from the network. "
        "Click a column heading to sort a table."
    )
    return tag("footer", tag("p", note))
