"""The option --class-order of train, search and design."""

from pathlib import Path

import numpy as np
import pytest

import polytomy as pt
from polytomy.cli.data import parse_labels
from polytomy.errors import ArgumentError

ORDER = ["low", "medium", "high", "top"]


@pytest.fixture
def levels(here):
    """Write ordered classes into levels.csv."""
    random = np.random.default_rng(0)
    lines = [f"{random.normal() + 2 * (k % 4):.6f},{ORDER[k % 4]}" for k in range(80)]
    Path("levels.csv").write_text("\n".join(["size,level", *lines, ""]))
    return here


def test_labels_may_be_written_out_or_in_a_file(here):
    assert parse_labels(None) is None
    assert parse_labels('low, medium ,"a, b"') == ["low", "medium", "a, b"]
    Path("lines.txt").write_bytes(b"\xef\xbb\xbflow\r\n\n medium, or so\n")
    assert parse_labels("lines.txt") == ["low", "medium, or so"]
    Path("list.json").write_text('["low", 3]')
    assert parse_labels("list.json") == ["low", 3]
    Path("orders.json").write_text('{"land": ["low", 3]}')
    assert parse_labels("orders.json") == {"land": ["low", 3]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[1", "the file is not valid JSON"),
        (b"[" * 100_000, "the file is not valid JSON"),
        (b"\xff\xfe", "the file is not UTF-8 text"),
    ],
    ids=range(3),
)
def test_a_bad_file_is_an_error_with_its_name(here, content, words):
    Path("order").write_bytes(content)
    with pytest.raises(ArgumentError, match=f"--class-order order: {words}"):
        parse_labels("order")


def test_an_empty_label_is_an_error():
    with pytest.raises(ArgumentError, match=r"--class-order a,,b: a label is empty"):
        parse_labels("a,,b")
    with pytest.raises(ArgumentError, match=r"--class-order : a label is empty"):
        parse_labels("")


def test_train_takes_the_order_and_warns_without_it(polytomy, levels):
    command = ("train", "levels.csv", "--scheme", "adjacent", "-o", "m.polytomy")
    outcome = polytomy(*command)
    assert outcome.code == 0
    assert outcome.err == (
        'polytomy: warning: "adjacent" needs the classes in order, and text labels have only their '
        "alphabetical order: high, low, medium, top. Set --class-order to all labels, from first "
        "to last.\n"
    )
    outcome = polytomy(*command, "--class-order", ",".join(ORDER))
    assert (outcome.code, outcome.err) == (0, "")
    model = pt.load("m.polytomy")
    assert list(model[-1].scheme_.classes) == model[-1].class_order == ORDER
    outcome = polytomy(*command, "--class-order", "low,medium,high,best")
    assert (outcome.code, outcome.err) == (
        2,
        "polytomy: --class-order does not have 'top'; it has unknown labels: 'best'. List each "
        "label of the data exactly once.\n",
    )


def test_classes_that_are_numbers_are_ordered_by_their_text(polytomy, here):
    lines = [f"{k % 3}.{k},{k % 3}" for k in range(30)]
    Path("numbers.csv").write_text("\n".join(["size,level", *lines, ""]))
    outcome = polytomy("design", "adjacent", "numbers.csv", "--class-order", "2,0,1")
    assert outcome.out.splitlines()[-1] == "{2 0 1}"


def test_design_takes_the_order_and_warns_without_it(polytomy, levels):
    outcome = polytomy("design", "tree", "levels.csv", "--class-order", ",".join(ORDER))
    assert outcome.err == ""
    assert outcome.out == polytomy("design", "tree", "--labels", ",".join(ORDER)).out
    outcome = polytomy("design", "tree", "levels.csv")
    assert '"tree" needs the classes in order' in outcome.err
    assert outcome.out == polytomy("design", "tree", "--labels", "high,low,medium,top").out
    outcome = polytomy("design", "one-vs-one", "levels.csv", "--class-order", ",".join(ORDER))
    assert (outcome.code, outcome.err) == (
        2,
        "polytomy: --class-order does not apply to 'one-vs-one'; it is for adjacent, chain, "
        "chain-backward, tree.\n",
    )


def test_search_takes_the_order_and_warns_without_it(polytomy, levels):
    command = ("search", "levels.csv", "-c", "adjacent", "--folds", "2", "-o", "best.control")
    outcome = polytomy(*command)
    assert outcome.err.count("needs the classes in order") == 1
    assert Path("best.control").read_text().splitlines()[-1] == "{high low medium top}"
    outcome = polytomy(*command, "--class-order", ",".join(ORDER))
    assert outcome.err == ""
    assert Path("best.control").read_text().splitlines()[-1] == "{low medium high top}"
