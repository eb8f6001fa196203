"""Messages of the library in the words of the command line."""

from pathlib import Path

import numpy as np
import pytest

from polytomy.cli.wording import in_options


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('Use categories="one-hot" for text', "Use --one-hot for text"),
        ("Give target= as a position", "Give --target as a position"),
        ("say which: target=-1 is the last.", "say which: --target -1 is the last."),
        ('format="xls" is not known. Use "csv".', '--format xls is not known. Use "csv".'),
        ("Say header=True or header=False", "Say --header or --no-header"),
        ("say header=False.", "say --no-header."),
        ('say trusted=["a.B", "c.D"].', "say --trust a.B --trust c.D."),
        ("solver='no such' is not known", "--solver 'no such' is not known"),
        ("scheme='x' is no design", "scheme x is no design"),
        ("n_features=3", "--features 3"),
        ("as n_features=.", "as --features."),
        ("test=1.5 is no part", "--test 1.5 is no part"),
        ("3 are needed. If none is the label, say target=None.", "3 are needed."),
        ('Did you mean b? Give an object: models={"name": estimator}.', "Did you mean b?"),
        ("n_neighbors=5 of KNeighborsClassifier", "n_neighbors=5 of KNeighborsClassifier"),
        ("my_format=3 and a.cv=4", "my_format=3 and a.cv=4"),
        ('there is no column "target=3"', 'there is no column "target=3"'),
    ],
)
def test_arguments_become_options(message, expected):
    assert in_options(message) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("train word.csv -o m.polytomy", "Use --one-hot for columns of text, or --target to"),
        ("train iris.csv --format xls -o m.polytomy", "--format xls is not known"),
        ("train t.txt -o m.polytomy", 'Give --format as "csv"'),
        ("train bare.csv --target kind -o m.polytomy", "Say --header if the first line names"),
        ("train twice.csv -o m.polytomy", "or say --no-header if there is no header"),
        ("train count.csv -o m.polytomy", "or be a sample. Say --header or --no-header"),
        ("train iris.csv --solver magic -o m.polytomy", "--solver magic is not known"),
        ("train iris.csv --calibration magic -o m.polytomy", "--calibration magic is not known"),
        ("train iris.csv --class-weight magic -o m.polytomy", "--class-weight magic is not known"),
        ("train iris.csv --target species2 -o m.polytomy", 'no column "species2"'),
        ("train iris.csv --target 9 -o m.polytomy", "there is no column 9 for the label among 5"),
        ("train y.npz -o m.polytomy", "there is no array y for the labels."),
        ("design nosuch -n 3", "'nosuch' is not a design"),
    ],
)  # fmt: skip
def test_no_command_speaks_of_arguments(polytomy, here, line, words):
    Path("word.csv").write_text("a,b,kind\n1,2,x\n1,two,y\n")
    Path("t.txt").write_text("1 2 3\n")
    Path("bare.csv").write_text("1,2,x\n5,2,y\n")
    Path("twice.csv").write_text("a,a,kind\n1,2,x\n")
    Path("count.csv").write_text("1,2,3,4\n0.5,2,3,4\n")
    np.savez("y.npz", X=np.eye(2))
    outcome = polytomy(*line.split())
    assert outcome.code == 2
    assert words in outcome.err
    for argument in ("target=", "format=", "header=", "categories=", "solver=", "load("):
        assert argument not in outcome.err
    assert not Path("m.polytomy").exists()
