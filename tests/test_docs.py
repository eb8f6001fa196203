"""The code in the documents does what they show, and their links lead somewhere."""

import re
import tomllib
from doctest import DocTestParser
from pathlib import Path

import pytest

from documents import find_blocks, find_failures, find_headings, find_links, run_command
from registries import restored_registries

ROOT = Path(__file__).parents[1]
# Folders that `make docs` fills are not documents to test.
GENERATED = {"_build", "gallery", "generated", "command_line.md"}
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if not GENERATED & {*path.parts}),
]


@pytest.fixture(params=DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def path(request):
    return request.param


def test_code_does_what_the_document_shows(path, tmp_path):
    with restored_registries():
        failures = find_failures(path.read_text(encoding="utf-8"), tmp_path)
    assert not failures, "\n\n".join([f"{path.name} is wrong", *failures])


def test_links_lead_somewhere(path):
    for link in find_links(path.read_text(encoding="utf-8")):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, heading = link.partition("#")
        if GENERATED & {*Path(name).parts}:
            continue  # Sphinx follows them, with warnings as errors
        target = path.parent / name if name else path
        assert target.exists(), f"{link} does not exist"
        if heading:
            assert heading in find_headings(target.read_text(encoding="utf-8")), (
                f"{link} is missing"
            )


def test_no_example_shows_a_bare_boolean(path):
    examples = [
        example
        for block in find_blocks(path.read_text(encoding="utf-8"))
        if block.language == "python" and ">>>" in block.text
        for example in DocTestParser().get_examples(block.text)
    ]
    shown = [example.source for example in examples if example.want in {"True\n", "False\n"}]
    assert not shown, "show a number, a table or text instead"


def test_every_module_that_the_architecture_mentions_exists():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    mentioned = set(re.findall(r"[\w/]+\.py\b", text))  # in its pictures, too
    assert len(mentioned) > 30
    assert not {path for path in mentioned if not (ROOT / "src" / "polytomy" / path).exists()}


def test_the_picture_of_the_rooms_is_what_import_linter_checks():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = text.split("## Rooms")[1].split("```text\n")[1].split("```")[0]
    drawn = [re.split(r"  +", line)[0] for line in picture.splitlines()]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert drawn == settings["tool"]["importlinter"]["contracts"][0]["layers"]


def test_every_registry_of_the_architecture_is_in_its_file():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = text.split("## Kinds")[1].split("\n## ")[0].splitlines()
    found = 0
    for row in (row for row in rows if row.startswith("| ")):
        files = [ROOT / "src" / "polytomy" / name for name in re.findall(r"`([\w/]+\.py)`", row)]
        code = "\n".join(file.read_text(encoding="utf-8") for file in files)
        for name in re.findall(r"`([A-Z_]+)`", row):
            assert re.search(rf"^{name}\b.* = ", code, re.MULTILINE), name
            found += 1
    assert found > 5


def test_the_names_that_answer_a_newcomers_questions_are_in_their_files():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = text.split("## Where to find")[1].split("\n## ")[0].splitlines()[4:]
    answers = [row.split("|")[2] for row in rows if row.startswith("|")]
    assert len(answers) > 5
    for answer in answers:
        files = [ROOT / "src" / "polytomy" / name for name in re.findall(r"`([\w/]+\.py)`", answer)]
        code = "\n".join(file.read_text(encoding="utf-8") for file in files)
        for name in set(re.findall(r"`(?:\w+\.)?(\w+)`", answer)) - {"py"}:
            assert re.search(rf"(def|class) {name}\b|^{name}\b.* = ", code, re.MULTILINE), name


def test_the_readme_and_the_main_pages_exist():
    names = {path.name for path in DOCUMENTS}
    assert names >= {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "start.md", "guide.md"}


# The tests above are worth only as much as the harness finds.


def fenced(language, text, before=""):
    return f"{before}```{language}\n{text}\n```\n"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (fenced("python", ">>> 1 + 1\n3"), "Expected:\n    3\nGot:\n    2"),
        (fenced("python", "1 / 0"), "ZeroDivisionError"),
        (fenced("python", "print('a')") + "\n" + fenced("text", "b"), "shown:\nb"),
        (fenced("python", "print('a')") + fenced("output", "b"), "printed:\na"),
        (fenced("console", "$ echo a\nb"), "printed:\na"),
        (fenced("console", "$ echo a"), "printed:\na"),
        (fenced("console", "$ polytomy check nothing\n"), "nothing: No such file"),
        (fenced("console", "$ make demo"), "'make demo' is not run; say why"),
        (fenced("console", "no command"), "starts with a command"),
        (fenced("control", "m {a"), "'{' is not closed"),
        (fenced("broken f", "m {a b}"), "this control text is valid"),
        (fenced("broken", "m {a"), "a broken text needs a file name"),
        (fenced("ruby", "puts 1"), "blocks of 'ruby' are not run"),
        (fenced("python", "1 / 0", before="<!-- not run -->\n"), "say why it is not run"),
    ],
)
def test_a_wrong_block_is_reported_with_its_line(document, words, tmp_path):
    failures = find_failures("# Heading\n\n" + document, tmp_path)
    assert len(failures) == 1
    assert words in failures[0]
    assert failures[0].startswith("line ")


def test_a_correct_document_has_no_failures(tmp_path):
    document = "\n".join(
        [
            fenced("control land.control", "m {a b}"),
            fenced("broken bad.control", "m {a"),
            fenced("console", "$ polytomy flatten land.control\nm {a b}"),
            fenced("console", "$ cat bad.control | cat\nm {a\n$ python -c 'print(1)'\n1\n"),
            fenced("python", "import polytomy as pt\nscheme = pt.read('land.control')"),
            fenced("python", "print(scheme)"),
            fenced("text", "m {a b}"),
            fenced("python", ">>> scheme.classes\n('a', 'b')\n>>> other = 7"),
            "Words between.\n",
            fenced("python", "print(other)"),
            "So this is not output:\n",
            fenced("text", "no output"),
            fenced("python", "1 / 0", before="<!-- not run: it would fail -->\n"),
            "- a list\n\n  ```python\n  >>> 1\n  1\n\n  ```\n",
        ]
    )  # fmt: skip
    assert find_failures(document, tmp_path) == []


@pytest.mark.parametrize(
    "command",
    [
        "echo 'm {a b}' | polytomy check -",
        "echo 'm {a b' | polytomy check - nothing",
        "echo 'm 0/1; n 2/3; {a b c d}' | polytomy show -",
        "polytomy flatten -",
    ],
)
def test_a_command_prints_the_same_with_and_without_a_shell(command):
    assert run_command(command) == run_command(f"{command};")


def test_a_block_has_its_line_and_title():
    (block,) = find_blocks("text\n\n```control land.control\nm {a b}\n```\n")
    assert (block.line, block.language, block.title) == (3, "control", "land.control")
    assert block.text == "m {a b}\n"


def test_links_are_found_outside_of_code_only():
    document = '[a](x.md#part) ![b](y.png) `[c](z)` <img width=3 src="w.png">\n' + fenced(
        "text", "[d](v)"
    )
    assert find_links(document) == ["x.md#part", "y.png", "w.png"]


def test_headings_are_named_as_github_does():
    assert find_headings("# A `name`, or two\n## -1 & +1\n") == {"a-name-or-two", "-1--1"}
