"""The command extend."""

import json

import polytomy as pt


def without(here, label):
    lines = (here / "iris.csv").read_text().splitlines()
    (here / "old.csv").write_text("\n".join(line for line in lines if label not in line) + "\n")


def test_a_class_is_added_to_a_model_file(polytomy, here):
    without(here, "versicolor")
    assert polytomy("train", "old.csv", "-o", "old.polytomy", "--out-of-fold").code == 0
    outcome = polytomy("extend", "old.polytomy", "iris.csv", "-o", "new.polytomy", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert found["classes"] == ["setosa", "versicolor", "virginica"]
    assert (found["added"], found["n_kept"], found["n_trained"]) == (["versicolor"], 1, 2)
    assert pt.load("new.polytomy")[-1].out_of_fold_score_["accuracy"] > 0.9
    assert polytomy("evaluate", "new.polytomy", "iris.csv").code == 0


def test_classes_are_removed_and_added(polytomy, here):
    without(here, "versicolor")
    polytomy("train", "iris.csv", "-o", "all.polytomy", "--out-of-fold")
    outcome = polytomy("extend", "all.polytomy", "-o", "two.polytomy", "--without", "versicolor")
    assert outcome.out == "two.polytomy: removed versicolor; 1 binary is kept, 0 are trained\n"
    outcome = polytomy(
        "extend", "all.polytomy", "iris.csv", "-o", "again.polytomy", "--without", "versicolor"
    )
    assert outcome.out == (
        "again.polytomy: removed versicolor; added versicolor; 1 binary is kept, 2 are trained\n"
    )


def test_numbers_stay_numbers(polytomy, here):
    names = {"setosa": "1", "versicolor": "2", "virginica": "3"}
    text = (here / "iris.csv").read_text()
    for name, number in names.items():
        text = text.replace(name, number)
    (here / "numbers.csv").write_text(text)
    (here / "old.csv").write_text(
        "".join(line for line in text.splitlines(keepends=True) if not line.endswith(",3\n"))
    )
    polytomy("train", "old.csv", "-o", "m.polytomy", "--out-of-fold")
    assert polytomy("extend", "m.polytomy", "numbers.csv", "-o", "n.polytomy").code == 0
    assert pt.load("n.polytomy").classes_.tolist() == [1, 2, 3]
    outcome = polytomy("extend", "n.polytomy", "-o", "o.polytomy", "--without", "2")
    assert outcome.code == 0
    assert pt.load("o.polytomy").classes_.tolist() == [1, 3]


def test_a_model_without_scores_loses_its_calibration(polytomy, here):
    without(here, "versicolor")
    polytomy("train", "old.csv", "-o", "old.polytomy")
    outcome = polytomy("extend", "old.polytomy", "iris.csv", "-o", "new.polytomy")
    assert outcome.code == 0
    assert "no longer have a final calibration" in outcome.err


def test_what_cannot_be_changed_is_named(polytomy, here):
    polytomy("train", "iris.csv", "-o", "m.polytomy")
    for arguments, words in (
        ([], "there is nothing to change. Give DATA with new classes, or --without."),
        (["--without", "rose"], "--without has 'rose'; the classes are"),
        (["iris.csv"], "y has no class that the classifier does not know"),
    ):
        outcome = polytomy("extend", "m.polytomy", *arguments, "-o", "n.polytomy")
        assert (outcome.code, outcome.out) == (2, "")
        assert words in outcome.err


def test_predictions_stop_at_a_novelty(polytomy, here):
    without(here, "virginica")
    polytomy("train", "old.csv", "-o", "old.polytomy")
    outcome = polytomy("predict", "old.polytomy", "iris.csv", "--reject-novelty", "0")
    assert outcome.code == 0
    assert "unknown" in outcome.out
