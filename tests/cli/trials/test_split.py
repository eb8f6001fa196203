"""The command split."""

from pathlib import Path

import numpy as np
import pytest

from polytomy.datasets import read_data


def test_both_sets_have_each_class_in_proportion(polytomy, here):
    outcome = polytomy("split", "iris.csv", "--test", "0.2", "--seed", "1")
    assert outcome.out == "iris.train.csv: 120 samples\niris.test.csv: 30 samples\n"
    parts = [read_data(f"iris.{part}.csv", target=-1) for part in ("train", "test")]
    for part, count in zip(parts, (40, 10), strict=True):
        assert np.unique(part.y, return_counts=True)[1].tolist() == [count] * 3
    rows = np.concatenate([part.X for part in parts])
    whole = read_data("iris.csv").X
    assert sorted(map(tuple, rows)) == sorted(map(tuple, whole))


def test_both_sets_have_the_label_last_under_its_name(polytomy, here):
    Path("first.csv").write_text("kind,a,b\n" + "x,1,2\ny,3,4\n" * 5)
    assert polytomy("split", "first.csv", "--target", "0").code == 0
    assert Path("first.train.csv").read_text().splitlines()[0] == "a,b,kind"


def test_the_test_set_is_that_of_the_trials(polytomy, here):
    from polytomy.trials.protocol import split_classes

    polytomy("split", "iris.csv", "--test", "0.25", "--seed", "3")
    data = read_data("iris.csv")
    class_indices = np.unique(data.y, return_inverse=True)[1]
    is_test = split_classes(class_indices, 0.25, np.random.default_rng(3))
    np.testing.assert_array_equal(read_data("iris.test.csv").X, data.X[is_test])


def test_names_without_an_ending_are_written_in_the_format_of_the_data(polytomy, here):
    Path("heart").write_text("1 1:1 3:2\n2 2:1\n" * 4)
    assert polytomy("split", "heart", "--test", "0.5").code == 0
    assert read_data("heart.train").X.shape == (4, 3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("split iris.csv --test 1.5", "--test must be between 0 and 1; got 1.5"),
        ("split small.csv", "small.csv: no class has enough samples to hold out 0.3 of them"),
    ],
)
def test_a_mistake_is_one_message(polytomy, here, line, message):
    Path("small.csv").write_text("a,kind\n1,x\n2,y\n")
    assert polytomy(*line.split()) == (2, "", f"polytomy: {message}\n")


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ([], ["iris.train.csv", "iris.test.csv"]),
        (["-o", "part"], ["part.train.csv", "part.test.csv"]),
        (["-o", "old"], ["old/iris.train.csv", "old/iris.test.csv"]),
        (["--output", "new/deep/"], ["new/deep/iris.train.csv", "new/deep/iris.test.csv"]),
        (["-o", "old/part"], ["old/part.train.csv", "old/part.test.csv"]),
    ],
)
def test_files_are_written_into_the_working_directory_or_where_output_says(
    polytomy, here, options, files
):
    Path("data").mkdir()
    Path("old").mkdir()
    Path("iris.csv").rename("data/iris.csv")
    outcome = polytomy("split", "data/iris.csv", *options)
    assert outcome.out == f"{files[0]}: 105 samples\n{files[1]}: 45 samples\n"
    assert [len(read_data(file).y) for file in files] == [105, 45]
    assert [path.name for path in Path("data").iterdir()] == ["iris.csv"]


def test_standard_input_needs_a_prefix(polytomy, here):
    typed = Path("iris.csv").read_bytes()
    outcome = polytomy("split", "-", typed=typed)
    assert outcome == (
        2,
        "",
        "polytomy: standard input has no name; use --output PREFIX\n",
    )
    assert polytomy("split", "-", "-o", "./", typed=typed).code == 2
    outcome = polytomy("split", "-", "-o", "part", typed=typed)
    assert outcome.out == "part.train.csv: 105 samples\npart.test.csv: 45 samples\n"
