import numpy as np
import pytest

from polytomy.errors import ArgumentError
from polytomy.metrics.metric import check_judged_samples, check_labels, check_predicted_labels

PROBA = [[0.5, 0.5], [0.75, 0.25]]


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a"]),
        np.array([True, False]),
        np.array([2.5, -1.0]),
        np.array(["b", "a"], dtype=object),
        [7, 3],
    ],
)
def test_columns_are_in_the_order_of_the_sorted_labels(labels):
    # The larger label is first in y, so it is the second column.
    assert check_judged_samples(labels, PROBA, None, None).truth.tolist() == [1, 0]


def test_given_classes_are_the_labels_of_the_columns():
    judged = check_judged_samples(["b", "a"], PROBA, ["b", "a"], None)
    assert judged.truth.tolist() == [0, 1]
    assert judged.classes == ("b", "a")
    assert judged.indicators.tolist() == [[1, 0], [0, 1]]


def test_mixed_labels_keep_their_kind():
    assert check_labels([1, "1"], "y") == [1, "1"]
    assert check_judged_samples([1, "1"], PROBA, [1, "1"], None).truth.tolist() == [0, 1]


def test_predicted_labels_need_as_many_true_ones():
    labels, predicted, weight = check_predicted_labels(np.array(["a", "b"]), ["b", "b"], [1, 2])
    assert (labels, predicted, weight.tolist()) == (["a", "b"], ["b", "b"], [1, 2])
    with pytest.raises(ArgumentError, match="y has 2 labels, but predicted has 3"):
        check_predicted_labels([0, 1], [0, 1, 1], None)


def test_frames_are_accepted():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for library in pandas, polars:
        judged = check_judged_samples(
            library.Series(["a", "b"]), library.DataFrame(np.array(PROBA)), None, None
        )
        assert judged.truth.tolist() == [0, 1]
        assert judged.proba.tolist() == PROBA


def test_the_confidence_is_that_of_the_most_probable_class_and_ties_go_to_the_first():
    confidence, right = check_judged_samples([0, 1], PROBA, None, None).confidence()
    assert confidence.tolist() == [0.5, 0.75]
    assert right.tolist() == [True, False]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"y": ["a", "b", "z"], "classes": ["a", "b"]},
            r"Label 'z' of y is not one of the classes \('a', 'b'\)\. "
            r"Pass the labels of all columns of proba as classes\.",
        ),
        (
            {"y": ["a", "b", "c"]},
            r"proba has 2 columns, but y has 3 different labels\. "
            r"Pass the label of each column as classes\.",
        ),
        (
            {"classes": ["a", "b", "c"]},
            r"proba has 2 columns, but classes has 3 different labels\. Pass the label of each",
        ),
        (
            {"classes": ["a", "a"]},
            r"classes has the label 'a' twice\. Pass a different label for each column\.",
        ),
        (
            {"y": ["a", 1, "b"]},
            r"The labels of y cannot be sorted\. Pass the label of each column of proba as class",
        ),
        (
            {"y": [["a"], ["b"], ["b"]]},
            r"y has shape \(3, 1\); it needs one label for each sample\. "
            r"Use np\.ravel for a column, or np\.argmax for indicators\.",
        ),
        ({"y": []}, r"y is empty; at least one label is needed\."),
        (
            {"proba": [0.1, 0.2, 0.3]},
            r"proba has shape \(3,\); it needs one row for each sample and one column for each "
            r"class\. For two classes, use np\.column_stack\(\[1 - p, p\]\)\.",
        ),
        ({"proba": [["x", "y"]]}, r"proba cannot be read as an array of numbers: could not"),
        ({"proba": [[0.5, 0.5]]}, r"proba has 1 rows, but y has 3 labels\."),
        (
            {"proba": [[0.5, 0.5], [np.nan, 0.5], [0.5, 0.5]]},
            r"Row 1 of proba has NaN\. Remove such samples\.",
        ),
        (
            {"proba": [[0.5, 0.5], [0.5, 0.5], [1.5, -0.5]]},
            r"Row 2 of proba has 1\.5, which is not a probability\. "
            r"Use the output of predict_proba, not of decision_function\.",
        ),
        (
            {"proba": [[0.5, 0.6], [0.5, 0.5], [0.5, 0.5]]},
            r"Row 0 of proba sums to 1\.1, not to one\. Divide each row by its sum\.",
        ),
    ],
)
def test_bad_input_is_refused_with_the_reason(arguments, words):
    good = {"y": ["a", "b", "b"], "proba": [[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]]}
    with pytest.raises(ArgumentError, match=words):
        check_judged_samples(**({"classes": None, "sample_weight": None} | good | arguments))


def test_probabilities_printed_with_six_digits_are_accepted():
    printed = np.round(np.full((3, 3), 1 / 3), 6)
    assert check_judged_samples([0, 1, 2], printed, None, None).proba.tolist() == printed.tolist()


@pytest.mark.parametrize("label", [float("nan"), None])
def test_a_missing_label_is_refused(label):
    with pytest.raises(ArgumentError, match=r"y\[1\] is (nan|None), which is not a label"):
        check_labels([0.0, label], "y")
