import numpy as np
import pytest

pytest.importorskip("distributed")

from polytomy.dask.fit_steps import weights_by_class
from polytomy.dask.grouping import Layout, PartSummary
from polytomy.errors import ArgumentError
from polytomy.inputs.numbers import class_weights

LABELS = np.array(["ash", "elm", "oak"])


def make_layout(counts, weights):
    counts = np.array(counts)
    weights = np.array(weights, dtype=float)
    return Layout.of([PartSummary(1, LABELS, counts, weights, 1)])


@pytest.mark.parametrize("class_weight", ["balanced", {"elm": 2.5}])
def test_weights_are_those_of_data_in_one_place(class_weight):
    class_indices = np.array([0, 0, 0, 1, 2, 2])
    weight = np.array([1.0, 2, 3, 4, 0, 0])
    found = weights_by_class(class_weight, make_layout([3, 1, 2], [6.0, 4.0, 0.0]))
    expected = class_weights(class_weight, LABELS, class_indices, weight)
    np.testing.assert_allclose(found[class_indices] * weight, expected)


def test_no_weights_are_none():
    layout = make_layout([1, 1, 1], [1, 1, 1])
    assert weights_by_class(None, layout) is None
    assert weights_by_class("balanced-per-partition", layout) is None


def test_weights_of_unknown_classes_are_refused():
    with pytest.raises(ArgumentError, match="class_weight has 'fir', which is not a class"):
        weights_by_class({"fir": 1.0}, make_layout([1, 1, 1], [1, 1, 1]))
