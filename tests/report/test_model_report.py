"""The report of one model as an object, in a real browser and in a notebook."""

import webbrowser

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from browser import open_browser
from needs import needs_chromium
from polytomy import ArgumentError, ModelReport, PolytomyClassifier
from report.models import KINDS, make_samples


@pytest.fixture(scope="module")
def report():
    model, X, y = KINDS["tree"]()
    return ModelReport(model, X, y)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def test_it_is_written_opened_and_described(report, tmp_path, monkeypatch):
    assert report.write_html(tmp_path / "page.html").read_text(encoding="utf-8") == report.html
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    path = report.open()
    assert opened == [path.as_uri()]
    assert path.read_text(encoding="utf-8") == report.html
    assert report.summary in repr(report)


def test_a_search_is_reported_by_its_best_model():
    X, y = make_samples()
    search = GridSearchCV(PolytomyClassifier(GaussianNB(), random_state=0), {"solver": ["voting"]})
    best = search.fit(X, y).best_estimator_
    assert ModelReport(search, X, y).html == ModelReport(best, X, y).html


@pytest.mark.parametrize("wrong", [LinearRegression(), None])
def test_other_models_are_refused(wrong):
    X, y = make_samples()
    if wrong is not None:
        wrong.fit(X, y)
    with pytest.raises(ArgumentError, match="estimator must be a fitted PolytomyClassifier"):
        ModelReport(wrong, X, y)


def test_a_class_is_not_a_fitted_model():
    with pytest.raises(TypeError, match="is a class, not an instance"):
        ModelReport(PolytomyClassifier, *make_samples())


def test_max_samples_is_checked(report):
    model, X, y = KINDS["direct"]()
    with pytest.raises(ArgumentError, match="max_samples"):
        ModelReport(model, X, y, max_samples=0)


_SHOWN = """[...document.querySelectorAll("#{} .choices > .panel")]
    .filter((each) => each.lastElementChild.checkVisibility({{contentVisibilityAuto: true}}))
    .map((each) => each.id).join()"""
_CLICK = "dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))"


def _find_link(key):
    return f"querySelector('.scheme a[href=\"#{key}\"]')"


@needs_chromium
def test_a_click_or_a_key_shows_a_partition_a_cell_and_a_sample(report, browser, tmp_path):
    browser.visit(report.write_html(tmp_path / "page.html").as_uri())
    first = browser.evaluate(_SHOWN.format("scheme"))
    second, third = sorted({"partition-0", "partition-1", "partition-2"} - {first})
    browser.evaluate(f"document.{_find_link(second)}.{_CLICK}")
    browser.wait_for(_SHOWN.format("scheme") + f" === '{second}'")
    browser.evaluate(f"document.{_find_link(third)}.focus()")
    browser.type_text("")
    browser.wait_for(_SHOWN.format("scheme") + f" === '{third}'")
    browser.evaluate("document.querySelector('.matrix a[href=\"#cell-2-2\"]').click()")
    browser.wait_for(_SHOWN.format("confusion") + " === 'cell-2-2'")
    browser.evaluate("document.querySelector('a[href^=\"#sample-\"]').click()")
    key = browser.wait_for("location.hash.startsWith('#sample-') && location.hash.slice(1)")
    browser.wait_for(f"document.getElementById('{key}').open")
    assert browser.problems == []


@needs_chromium
@pytest.mark.parametrize("is_dark", [False, True])
def test_the_page_fits_a_phone_in_the_light_and_in_the_dark(report, browser, tmp_path, is_dark):
    address = report.write_html(tmp_path / "page.html").as_uri()
    browser.visit(address, width=360, is_dark=is_dark)
    browser.evaluate("document.querySelectorAll('details').forEach((each) => {each.open = true})")
    root = "document.documentElement"
    assert browser.evaluate(f"{root}.scrollWidth - {root}.clientWidth") == 0
    colour = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(16, 20, 26)" if is_dark else "rgb(246, 247, 249)")
    assert browser.problems == []


@needs_chromium
def test_long_names_leave_room_for_what_follows_them(browser, tmp_path):
    X, y = make_samples()
    labels = np.array([f"{letter * 90} of a long name" for letter in "abcd"])[y]
    model = PolytomyClassifier(GaussianNB(), random_state=0).fit(X, labels)
    address = ModelReport(model, X, labels).write_html(tmp_path / "page.html").as_uri()
    browser.visit(address, width=360)
    heights = browser.evaluate(
        "[...document.querySelectorAll('figcaption .unit')].map((each) => each.offsetHeight)"
    )
    assert len(heights) == 4
    assert max(heights) < 30  # one line
    root = "document.documentElement"
    assert browser.evaluate(f"{root}.scrollWidth - {root}.clientWidth") == 0


@needs_chromium
def test_links_work_in_the_frame_of_a_notebook(report, browser, tmp_path):
    # The test has to look into the frame, which a notebook must not.
    frame = report._repr_html_().replace("allow-scripts", "allow-scripts allow-same-origin")
    assert frame != report._repr_html_()
    page = tmp_path / "notebook.html"
    page.write_text(f'<!DOCTYPE html><meta charset="utf-8">{frame}', encoding="utf-8")
    browser.visit(page.as_uri())
    inside = "document.querySelector('iframe').contentDocument"
    browser.wait_for(f"{inside}.querySelector('.choices > [hidden]') !== null")
    key = browser.evaluate(f"{inside}.querySelector('.choices > [hidden]').id")
    browser.evaluate(f"{inside}.{_find_link(key)}.{_CLICK}")
    browser.wait_for(f"!{inside}.getElementById('{key}').hasAttribute('hidden')")
    assert browser.problems == []
