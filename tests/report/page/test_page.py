"""The whole page: well formed, self-contained, and written atomically."""

import base64
import hashlib
import re

import pytest

from polytomy.errors import DataError
from polytomy.report import report_html, write_report
from polytomy.trials import Results
from report.cases import CLASSES, EVIL, PAIRS, make_record, make_results, write_folder
from report.pages import parse_page, table_of


def test_every_figure_has_a_distinct_label(page):
    figures = page.find("svg", "plot")
    assert all(each.attributes["role"] == "img" for each in figures)
    labels = [each.attributes["aria-label"] for each in figures]
    assert len(labels) == len(set(labels))
    assert all(labels)


@pytest.mark.parametrize(("n_records", "n_links"), [(6, 7), (1, 6), (0, 2)])
def test_ids_are_unique_and_links_lead_to_them(n_records, n_links):
    whole = make_results()
    results = Results(whole.records[:n_records], PAIRS, whole.datasets, whole.facts, whole.manifest)
    page = parse_page(report_html(results))
    ids = [each.attributes["id"] for each in page.walk() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    links = [each.attributes["href"] for each in page.find("a")]
    assert len(page.find("nav")[0].find("a")) == n_links
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_the_page_loads_nothing_from_elsewhere(html, page):
    fetching = {"src", "srcset", "data", "poster", "action", "background", "xlink:href"}
    for each in page.walk():
        assert not fetching & set(each.attributes)
        assert each.name not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert (each.attributes.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") for name in each.attributes)
    assert "url(" not in html
    assert "@import" not in html
    assert not re.search(r"https?:|//[a-z0-9-]+\.", html)
    (policy,) = [
        each.attributes["content"]
        for each in page.find("meta")
        if each.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none';")
    (script,) = page.find("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_labels_and_names_are_never_markup(html, page):
    assert EVIL not in html
    assert "&lt;script&gt;alert(" in html
    assert len(page.find("script")) == 1
    # "own & <b>" is a name; the page itself sets only these in bold.
    assert all(each.text in {*CLASSES, "one-vs-one", "tree"} for each in page.find("b"))
    assert page.find("title")[0].text == "Trials on sat, own & <b> (polytomy)"


def test_results_without_trials_have_a_page():
    page = parse_page(report_html(Results([], PAIRS, [], {}, make_results().manifest)))
    assert page.find("p", "warning")[0].text == "No trials have finished yet."
    assert "77" in page.at("protocol").text


def test_results_with_only_the_required_fields_have_a_page():
    cells = [{"configuration": "tree", "method": "greedy", "scores": {"accuracy": 0.75}}]
    results = Results(
        [{"dataset": "a", "repeat": 0, "cells": cells}], [("tree", "greedy")], ["a", "b"]
    )
    page = parse_page(report_html(results))
    _, (_, first, second) = table_of(page, "Accuracy")
    assert (first.find("strong")[0].text, second.text) == ("0.7500", "")


def test_twenty_six_classes_and_eight_pairs_make_a_page_of_moderate_size():
    pairs = [(f"scheme {k}", "least-squares") for k in range(8)]
    confusion = [[1 + (i + k) % 7 for k in range(26)] for i in range(26)]
    letters = [chr(65 + k) for k in range(26)]
    cells = [
        {"configuration": one, "method": other, "scores": {"accuracy": 0.5}, "confusion": confusion}
        for one, other in pairs
    ]
    record = {"dataset": "letters", "repeat": 0, "classes": letters, "cells": cells}
    html = report_html(Results([record], pairs, ["letters"]))
    assert len(parse_page(html).find("table", "matrix")) == 8
    assert len(html) < 500_000


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a run."""
    write_folder(tmp_path, make_results())
    return tmp_path


def test_the_report_of_a_folder_equals_that_of_its_results(folder, tmp_path):
    page = write_report(folder)
    assert page == folder / "report.html"
    assert page.read_text(encoding="utf-8") == report_html(Results.read(folder))
    elsewhere = write_report(str(folder), tmp_path / "else.html")
    assert elsewhere.read_bytes() == page.read_bytes()


def test_a_failed_report_keeps_the_old_one(folder):
    page = write_report(folder)
    before = page.read_bytes()
    (folder / "datasets" / "sat.json").write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        write_report(folder)
    assert page.read_bytes() == before
    assert [each.name for each in folder.glob(".polytomy-*")] == []


def test_a_lone_surrogate_is_written_as_a_question_mark(tmp_path):
    record = make_record("sat", 0) | {"warnings": ["odd \ud800 text"]}
    page = write_report(Results([record], PAIRS, ["sat"]), tmp_path / "page.html")
    assert "odd ? text" in page.read_text(encoding="utf-8")
