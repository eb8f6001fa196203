"""The fragments of changelog.d, and how the changelog and the site show them."""

import importlib.util
import re
import shutil
import tomllib
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from documents import find_links

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "changelog.d"
FRAGMENTS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
TYPES = [kind["directory"] for kind in SETTINGS["type"]]
SECTIONS = [kind["name"] for kind in SETTINGS["type"]]


def test_the_folder_has_fragments_and_nothing_else():
    others = {path.name for path in FOLDER.iterdir()} - {path.name for path in FRAGMENTS}
    assert others == {"README.md", "template.md.jinja"}


# Loops, not parameters: after a release there is no fragment, and nothing is skipped.
def test_a_name_is_a_subject_and_a_type():
    for fragment in FRAGMENTS:
        assert re.fullmatch(rf"[a-z0-9_]+\.({'|'.join(TYPES)})\.md", fragment.name), (
            f"{fragment.name} should be SUBJECT.TYPE.md, with one of the types {', '.join(TYPES)}"
        )


def test_a_fragment_is_a_list_or_a_table_that_ends_with_its_line():
    for fragment in FRAGMENTS:
        text, name = fragment.read_text(encoding="utf-8"), fragment.name
        is_list = re.match(r"- \S", text)
        assert is_list or "\n|---" in text, f"{name}: start each entry with '- '"
        assert text.endswith("\n"), name
        assert not text.endswith("\n\n"), name
        has_heading = re.search("^#", text, re.MULTILINE)
        assert not has_heading, f"{name}: the type of a fragment is its only heading"


def test_links_of_a_fragment_start_from_the_root():
    for fragment in FRAGMENTS:
        for link in find_links(fragment.read_text(encoding="utf-8")):
            is_there = "://" in link or (ROOT / link.partition("#")[0]).exists()
            assert is_there, f"{fragment.name}: {link} does not exist"


def test_the_changelog_has_no_changes_that_are_not_released():
    headings = re.findall("^## (.*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings
    assert all(re.match(r"\d+\.\d+\.\d+", heading) for heading in headings), (
        "add a file to changelog.d instead; its README says how"
    )


def test_the_readme_of_the_folder_explains_every_type():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)`", text, re.MULTILINE) == TYPES


@pytest.fixture(scope="module")
def extension():
    path = ROOT / "docs" / "_extensions" / "unreleased_changes.py"
    spec = importlib.util.spec_from_file_location("unreleased_changes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_shows_every_fragment_in_the_section_of_its_type(extension):
    pytest.importorskip("towncrier")
    heading, *sections = re.split("^### ", extension.render_fragments(ROOT), flags=re.MULTILINE)
    assert heading.strip() == ("## Unreleased" if FRAGMENTS else "")
    shown = {text.partition("\n")[0]: text for text in sections}
    assert list(shown) == [name for name in SECTIONS if name in shown]
    for fragment in FRAGMENTS:
        kind = fragment.name.split(".")[1]
        section = shown[SECTIONS[TYPES.index(kind)]]
        assert fragment.read_text(encoding="utf-8").rstrip() in section


def test_the_page_of_the_changelog_has_a_place_for_them(extension):
    page = (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8")
    assert page.count(extension.PLACE) == 1


def test_a_file_with_an_unknown_type_is_refused_by_name(extension, tmp_path, capfd):
    pytest.importorskip("towncrier")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(FOLDER, tmp_path / "changelog.d")
    (tmp_path / "changelog.d" / "speed.improved.md").write_text("- Faster.\n", encoding="utf-8")
    with pytest.raises(CalledProcessError):
        extension.render_fragments(tmp_path)
    assert "speed.improved.md" in capfd.readouterr().err
