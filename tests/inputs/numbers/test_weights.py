import numpy as np
import pytest

from polytomy.errors import ArgumentError
from polytomy.inputs.numbers import check_weights, class_weights

CLASSES = np.array(["a", "b", "c"])
INDICES = np.array([0, 1, 1, 2])


def test_weights_are_ones_by_default():
    assert check_weights(None, 3).tolist() == [1, 1, 1]


def test_weights_of_any_number_type_are_floats():
    weights = check_weights([1, 2, 0], 3)
    assert weights.dtype == np.float64
    assert weights.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"sample_weight": [1, 1]},
            r"sample_weight has shape \(2,\); 3 samples need \(3,\)\.",
        ),
        (
            {"sample_weight": [1, -2, 1]},
            r"sample_weight\[1\] is -2; weights must be finite and not negative\.",
        ),
        (
            {"sample_weight": [1, 1, np.inf]},
            r"sample_weight\[2\] is inf; weights must be finite and not negative\.",
        ),
        (
            {"sample_weight": ["a", "b", "c"]},
            r"sample_weight cannot be read as an array of numbers: could not",
        ),
        (
            {"sample_weight": [0, 0, 0]},
            r"sample_weight is zero for all samples; at least one must be positive\.",
        ),
    ],
)
def test_bad_weights_are_refused_with_the_reason(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        check_weights(**arguments, n_samples=3)


@pytest.mark.parametrize("class_weight", [None, "balanced-per-partition"])
def test_without_class_weights_there_are_only_those_of_the_samples(class_weight):
    assert class_weights(class_weight, CLASSES, INDICES, None) is None
    assert class_weights(class_weight, CLASSES, INDICES, [1, 2, 3, 4]).tolist() == [1, 2, 3, 4]


def test_a_class_that_is_not_listed_has_weight_one():
    assert class_weights({"b": 3}, CLASSES, INDICES, None).tolist() == [1, 3, 3, 1]


def test_weights_of_samples_and_classes_are_multiplied():
    assert class_weights({"b": 3}, CLASSES, INDICES, [1, 2, 0, 4]).tolist() == [1, 6, 0, 4]


def test_balanced_classes_have_equal_total_weights():
    sample_weight = np.array([1.0, 2.0, 3.0, 4.0])
    weights = class_weights("balanced", CLASSES, INDICES, sample_weight)
    np.testing.assert_allclose(np.bincount(INDICES, weights), sample_weight.sum() / 3)


def test_a_class_without_weight_stays_without_weight():
    weights = class_weights("balanced", CLASSES, INDICES, [0, 1, 1, 2])
    assert weights[0] == 0
    assert np.isfinite(weights).all()


def test_unknown_class_weights_are_refused():
    with pytest.raises(ArgumentError) as error:
        class_weights("even", CLASSES, INDICES, None)
    assert str(error.value) == (
        'class_weight must be "balanced", "balanced-per-partition", a dict of labels and weights '
        "or None; got 'even'."
    )


def test_a_weight_for_an_unknown_class_is_refused():
    with pytest.raises(
        ArgumentError, match="class_weight has 'z', which is not a class of the data"
    ):
        class_weights({"z": 1}, CLASSES, INDICES, None)
