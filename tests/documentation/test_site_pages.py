"""The pages of the built site: their links and images lead somewhere, their parts are there."""

import re
from collections import defaultdict
from dataclasses import dataclass
from html import unescape
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from needs import needs_site_packages

pytestmark = needs_site_packages


@dataclass(frozen=True)
class Page:
    """The anchors of a page, and the addresses that it refers to."""

    anchors: frozenset[str]
    targets: frozenset[str]

    @classmethod
    def read(cls, text):
        values = defaultdict(set)
        for tag in re.findall(r"<\w[^>]*>", text):
            for name, value in re.findall(r'\s(href|src|id|name)="([^"]*)"', tag):
                values[name].add(unescape(value))
        anchors = values["id"] | values["name"] | {""}
        return cls(frozenset(anchors), frozenset(values["href"] | values["src"]))


def follow(path, link):
    """Return the path of the file that a link of the file at a path leads to."""
    return Path(normpath(path.parent / unquote(link))) if link else path


def find_broken(pages, files):
    """Return the links of some pages that lead nowhere: page -> targets.

    Parameters
    ----------
    pages : dict of pages by their paths
    files : the paths of all files
    """
    broken = defaultdict(list)
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target == "#":
                continue
            name = follow(path, parts.path)
            anchor = unquote(parts.fragment)
            if name not in files or (name in pages and anchor not in pages[name].anchors):
                broken[str(path)].append(target)
    return dict(broken)


@pytest.fixture(scope="module")
def pages(site):
    # The theme has templates among its files.
    paths = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path: Page.read(path.read_text(encoding="utf-8")) for path in paths}


def test_links_and_images_lead_somewhere(site, pages):
    files = set(site.rglob("*"))
    assert len(pages) > 150
    assert find_broken(pages, files) == {}


def test_every_page_can_be_reached_from_the_start(site, pages):
    found, new = set(), {site / "index.html"}
    while new:
        found |= new
        links = {
            follow(path, urlsplit(target).path) for path in new for target in pages[path].targets
        }
        new = links & pages.keys() - found
    # Sphinx's own pages are reached by typing.
    assert {path.name for path in set(pages) - found} <= {"search.html", "genindex.html"}


def test_the_bar_at_the_top_has_the_parts_of_the_site(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    bar = re.search(r'<ul class="bd-navbar-elements.*?</ul>', text, re.S)[0]
    links = re.findall(r'href="([\w/]+\.html)"', bar)
    assert links[:5] == [
        "start.html",
        "guide.html",
        "gallery/index.html",
        "reference/index.html",
        "background.html",
    ]


def test_options_keep_their_two_dashes(site):
    text = (site / "reference" / "command_line.html").read_text(encoding="utf-8")
    assert "--estimator" in text
    assert not re.search("–[a-z]", text)


def test_broken_links_are_found(tmp_path):
    """The check of links can fail: a missing page, a missing anchor, a missing image."""
    page, other = (tmp_path / name for name in ("page.html", "other.html"))
    texts = {
        page: '<a href="other.html#here"></a><a href="other.html#there"></a><a href="no.html"></a>'
        '<img src="no.png"><a href="https://example.org/no"></a><a href="#own"></a><p id="own">',
        other: '<h1 id="here"></h1>',
    }
    read = {path: Page.read(text) for path, text in texts.items()}
    broken = find_broken(read, {page, other})
    assert sorted(broken[str(page)]) == ["no.html", "no.png", "other.html#there"]
    assert list(broken) == [str(page)]


@pytest.mark.parametrize("page", ["start.html", "reference/index.html", "plots.html"])
def test_names_written_as_code_are_links_to_the_reference(page, site):
    text = (site / page).read_text(encoding="utf-8")
    assert re.search(
        r'href="[./]*(reference/)?generated/polytomy[\w.]+\.html#polytomy[\w.]+"', text
    )


def test_the_start_leads_to_the_parameters_of_the_classifier(site, pages):
    targets = pages[site / "start.html"].targets
    name = "polytomy.PolytomyClassifier"
    assert f"reference/generated/{name}.html#{name}" in targets
