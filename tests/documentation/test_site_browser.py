"""The site in a real browser: search, a phone's width, and the dark."""

import re

import pytest

from needs import needs_chromium, needs_site_packages

pytestmark = [needs_site_packages, needs_chromium]

MAIN_PAGES = [
    "index.html",
    "start.html",
    "guide.html",
    "classifier.html",
    "language.html",
    "designs.html",
    "gallery/index.html",
    "reference/index.html",
    "reference/command_line.html",
    "reference/generated/polytomy.PolytomyClassifier.html",
    "background.html",
    "performance.html",
]
# How far the page can be moved sideways, pictures that are not drawn, and what is cut off at the
# right edge. Blocks of code and tables can be moved by themselves.
SEE_PAGE = """(() => {
  const root = document.documentElement;
  const canBeMoved = (node) => !node.matches("article")
    && (getComputedStyle(node).overflowX !== "visible" || canBeMoved(node.parentElement));
  const isCut = (node) => node.getBoundingClientRect().right > root.clientWidth + 1
    && node.checkVisibility() && !canBeMoved(node);
  const images = [...document.images].filter((image) => image.loading !== "lazy");
  return {
    width: innerWidth,
    overflow: root.scrollWidth - root.clientWidth,
    missing: images.filter((image) => !image.naturalWidth).map((image) => image.src),
    cut: [...document.querySelectorAll("article *")].filter(isCut).map((node) => node.outerHTML),
  };
})()"""
# The background and the text of what a reader looks at.
SEE_COLOURS = """(() => {
  const background = (node) => {
    const colour = getComputedStyle(node).backgroundColor;
    const isClear = colour === "rgba(0, 0, 0, 0)" && node.parentElement;
    return isClear ? background(node.parentElement) : colour;
  };
  const shown = ["article p", "article h1", "article a", "article pre", ".bd-header .nav-link"];
  return shown.map((selector) => {
    const node = document.querySelector(selector);
    return node && [background(node), getComputedStyle(node).color];
  });
})()"""


def luminance(colour):
    """The relative luminance of a CSS colour, after WCAG 2."""
    channels = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("page", MAIN_PAGES)
def test_a_page_fits_on_a_phone_and_shows_its_pictures(page, browser, address):
    browser.problems.clear()
    browser.visit(address + page, width=360)
    seen = browser.evaluate(SEE_PAGE)
    assert seen == {"width": 360, "overflow": 0, "missing": [], "cut": []}
    assert browser.problems == []


@pytest.mark.parametrize("width", [360, 1280])
def test_typing_a_query_finds_a_page(width, browser, address):
    browser.visit(address + "index.html", width)
    browser.evaluate("""
        [...document.querySelectorAll(".search-button__button")]
          .find((button) => button.checkVisibility()).click()
    """)
    browser.wait_for("document.activeElement.matches('input[type=search]')")
    browser.type_text("predict_set")
    found = browser.wait_for("""
        [...document.querySelectorAll("#search-results .search a")].map((link) => link.href)
    """)
    assert any("decisions.html" in link or "PolytomyClassifier" in link for link in found)


@pytest.mark.parametrize("page", ["dask.html", "designs.html", "language.html"])
def test_lines_of_code_and_messages_are_not_cut_off_on_a_laptop(page, browser, address):
    browser.visit(address + page, width=1280)
    assert browser.evaluate("document.querySelectorAll('article pre').length") > 0
    cut = browser.evaluate("""
        [...document.querySelectorAll("article div:not(.highlight-text) > .highlight > pre")]
          .filter((block) => block.scrollWidth > block.clientWidth)
          .map((block) => block.innerText)
    """)
    assert cut == []


def search(query, browser, address):
    """Return the links that the page of the search lists, without the address of the site."""
    browser.visit(f"{address}search.html?q={query.replace(' ', '+')}")
    browser.wait_for(
        "/found (one|[0-9]+) page/.test(document.querySelector('#search-results').innerText)"
    )
    found = browser.evaluate("""
        [...document.querySelectorAll("#search-results .search > li > a")].map((link) => link.href)
    """)
    return [link.removeprefix(address) for link in found]


@pytest.mark.parametrize("parameter", ["solver", "class_weight"])
def test_the_name_of_a_parameter_finds_the_classifier_first(parameter, browser, address):
    found = search(parameter, browser, address)
    assert any("polytomy.PolytomyClassifier.html" in link for link in found[:3])


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("tabpfn", "limited.html"),
        ("prefit", "fitted_models.html"),
        ("imbalanced", "imbalanced.html"),
        ("early stopping", "early_stopping.html"),
        ("lightgbm", "fitted_models.html"),
        ("LinearSVC", "classifier.html"),
        ("class weights", "imbalanced.html"),
        ("thresholds", "imbalanced.html"),
        ("probability=True", "start.html"),
        ("OneVsRestClassifier", "start.html"),
        ("missing values", "commands.html"),
        ("onnx", "export.html"),
        ("hierarchy", "designs.html"),
        ("dask", "dask.html"),
        ("conformal", "decisions.html"),
        ("unknown class", "changing_classes.html"),
    ],
)
def test_words_of_other_libraries_find_the_page_that_answers_first(words, page, browser, address):
    assert search(words, browser, address)[0].startswith(page)


def test_a_query_of_no_page_finds_none(browser, address):
    """The search above can fail."""
    browser.visit(address + "search.html?q=nosuchwordanywhere")
    browser.wait_for("document.querySelector('#search-results .search-summary') !== null")
    assert browser.evaluate("document.querySelectorAll('#search-results .search a').length") == 0


@pytest.mark.parametrize("page", ["index.html", "start.html", "reference/command_line.html"])
def test_the_dark_changes_the_colours_and_text_stays_readable(page, browser, address):
    seen = {}
    for is_dark in (False, True):
        browser.visit(address + page, is_dark=is_dark)
        seen[is_dark] = [pair for pair in browser.evaluate(SEE_COLOURS) if pair]
    assert all(contrast(*pair) >= 4.5 for pairs in seen.values() for pair in pairs)
    assert luminance(seen[False][0][0]) > 0.8 > 0.05 > luminance(seen[True][0][0])
    assert all(light != dark for light, dark in zip(*seen.values(), strict=True))


def test_a_reader_can_choose_the_dark(browser, address):
    browser.visit(address + "index.html")
    mode = "document.documentElement.dataset.theme"
    assert browser.evaluate(mode) == "light"
    browser.evaluate("document.querySelector('.theme-change-button[data-mode=dark]').click()")
    assert browser.evaluate(mode) == "dark"
    browser.evaluate("localStorage.clear()")


def test_problems_of_a_page_are_noticed(browser, address, site):
    """The checks above can fail: an error of a script, a missing picture, a page too wide."""
    (site / "wrong.html").write_text(
        '<meta name="viewport" content="width=device-width"><img src="no.png">'
        '<script>throw new Error("seen")</script>'
        '<article><div style="width:500px">wide</div></article>'
    )
    browser.problems.clear()
    browser.visit(address + "wrong.html", width=360)
    seen = browser.evaluate(SEE_PAGE)
    assert seen["overflow"] > 100
    assert len(seen["missing"]) == 1
    assert "wide" in seen["cut"][0]
    assert any("seen" in each for each in browser.problems)
    assert any("404" in each for each in browser.problems)
    browser.problems.clear()
    (site / "wrong.html").unlink()
