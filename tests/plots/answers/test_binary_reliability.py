"""Reliability diagrams of binaries."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from plots.axes import check_needs_matplotlib
from polytomy import PolytomyClassifier, SchemeEnsemble, designs, parse
from polytomy.errors import ArgumentError
from polytomy.plots import BinaryReliabilityDisplay

RNG = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c", "d"], 15)
X = RNG.normal(size=(60, 2)) + np.repeat([[0, 0], [2, 0], [0, 2], [2, 2]], 15, axis=0)


def fit(scheme):
    return PolytomyClassifier("gaussian-nb", scheme, final_calibration=None).fit(X, Y)


@pytest.fixture(scope="module")
def tree():
    return fit("top {left {a c} right {b d}}")


def test_each_binary_is_judged_on_the_samples_of_its_classes(tree):
    display = BinaryReliabilityDisplay.from_estimator(
        tree, X, Y, partitions=["right", "top"], n_bins=1
    )
    assert display.names == ["right", "top"]
    assert display.sides == ["b / d", "a c / b d"]
    is_below = np.isin(Y, ["b", "d"])
    mean = ((1 + tree.decisions(X)[is_below, 2]) / 2).mean()
    np.testing.assert_allclose(display.lines_[0].get_xydata(), [[mean, 0.5]])
    assert [bins.weight.sum() for bins in display.bins] == [30, 60]


def test_the_least_reliable_binaries_are_drawn_first(tree):
    display = BinaryReliabilityDisplay.from_estimator(tree, X, Y)
    gaps = [bins.mean_gap for bins in display.bins]
    assert sorted(display.names) == ["left", "right", "top"]
    assert gaps == sorted(gaps, reverse=True)
    worst = BinaryReliabilityDisplay.from_estimator(tree, X, Y, most=1)
    assert worst.names == display.names[:1]


def test_sides_that_were_trained_in_the_other_order_are_turned(tree):
    other = tree.with_scheme("top {right {d b} left {a c}}")
    display = BinaryReliabilityDisplay.from_estimator(other, X, Y, partitions=["right"])
    same = BinaryReliabilityDisplay.from_estimator(tree, X, Y, partitions=["right"])
    assert display.sides == ["d / b"] or display.sides == ["b / d"]
    assert display.bins[0].mean_gap == pytest.approx(same.bins[0].mean_gap)
    np.testing.assert_allclose(display.bins[0].observed, 1 - same.bins[0].observed[::-1])


def test_a_wide_partition_has_a_panel_for_each_side():
    wide = fit("m {a b n {c d}}")
    display = BinaryReliabilityDisplay.from_estimator(wide, X, Y, partitions=["m", "n"])
    assert display.names == ["m/0", "m/1", "m/2", "n"]
    assert display.sides == ["b c d / a", "a c d / b", "a b / c d", "c / d"]


def test_ensembles_and_pipelines_are_drawn():
    ensemble = fit(SchemeEnsemble([parse("m {a n {b o {c d}}}"), parse("p {a q {c r {b d}}}")]))
    pipeline = make_pipeline(FunctionTransformer(lambda X: X), ensemble)
    display = BinaryReliabilityDisplay.from_estimator(pipeline, X, Y)
    # The two roots separate the same classes, so they are one binary.
    assert len(display.bins) == 5


def test_weights_count_as_copies(tree):
    weight = RNG.integers(0, 3, 60)
    weighted = BinaryReliabilityDisplay.from_estimator(
        tree, X, Y, partitions=["top"], sample_weight=weight
    )
    rows = np.repeat(np.arange(60), weight)
    copied = BinaryReliabilityDisplay.from_estimator(tree, X[rows], Y[rows], partitions=["top"])
    np.testing.assert_allclose(weighted.bins[0].observed, copied.bins[0].observed)
    np.testing.assert_allclose(weighted.bins[0].predicted, copied.bins[0].predicted)


def test_given_axes_are_used(tree):
    row = plt.subplots(1, 3)[1]
    display = BinaryReliabilityDisplay.from_estimator(tree, X, Y, ax=row)
    assert display.axes_.tolist() == row.tolist()


def test_partitions_without_samples_are_left_out(tree):
    is_left = np.isin(Y, ["a", "c"])
    display = BinaryReliabilityDisplay.from_estimator(tree, X[is_left], Y[is_left])
    assert sorted(display.names) == ["left", "top"]
    with pytest.raises(ArgumentError, match="y has no samples of the classes of partition right"):
        BinaryReliabilityDisplay.from_estimator(tree, X[is_left], Y[is_left], partitions=["right"])


def test_long_names_keep_their_ends():
    labels = [f"class number {k}" for k in range(4)]
    names = dict(zip("abcd", labels, strict=True))
    scheme = designs.balanced_tree(labels)
    classifier = PolytomyClassifier("gaussian-nb", scheme, final_calibration=None)
    y = np.array([names[label] for label in Y])
    display = BinaryReliabilityDisplay.from_estimator(classifier.fit(X, y), X, y)
    assert sorted(display.sides) == ["2 classes / 2 classes", *["class num… / class num…"] * 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"partitions": ["rihgt"]},
            'which is not a partition of the scheme. Did you mean "right"? It has 3, from top to',
        ),
        ({"partitions": []}, "partitions is empty"),
        ({"most": 0}, "most=0 is too few. Use 1 or more."),
        ({"strategy": "even"}, 'strategy must be "uniform" or "quantile"'),
        ({"ax": [None, None]}, "ax has 2 axes for 3 binaries."),
    ],
)
def test_wrong_arguments_are_refused(tree, options, words):
    with pytest.raises(ArgumentError) as caught:
        BinaryReliabilityDisplay.from_estimator(tree, X, Y, **options)
    assert words in str(caught.value)


def test_unknown_labels_are_refused(tree):
    with pytest.raises(ArgumentError, match="y has the label 'x', which the classifier was not tr"):
        BinaryReliabilityDisplay.from_estimator(tree, X[:1], ["x"])


def test_without_matplotlib_the_error_names_the_extra(monkeypatch, tree):
    check_needs_matplotlib(monkeypatch, lambda: BinaryReliabilityDisplay.from_estimator(tree, X, Y))
