import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from polytomy import metrics
from polytomy.errors import Argument, ArgumentError


def binary_samples(seed, n_samples=60):
    rng = np.random.default_rng(seed)
    positive = rng.uniform(size=n_samples)
    y = np.r_[0, 1, rng.integers(2, size=n_samples - 2)]
    return y, np.column_stack([1 - positive, positive])


def test_the_table_equals_one_worked_by_hand():
    y = ["a", "b", "b", "c"]
    proba = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 1.0, 0.0], [0.75, 0.25, 0.0]]
    table = metrics.reliability_table(y, proba, bins=2, sample_weight=[1, 2, 1, 4])
    assert table.shape == (3, 2)
    np.testing.assert_array_equal(table["lower"], [[0, 0.5]] * 3)
    np.testing.assert_array_equal(table["upper"], [[0.5, 1]] * 3)
    np.testing.assert_array_equal(table["weight"], [[3, 5], [5, 3], [8, 0]])
    # Class a: {0.25 twice, 0} never happens; {0.5, 0.75 four times} happens once in five.
    np.testing.assert_allclose(table["predicted"][0], [0.5 / 3, 3.5 / 5])
    np.testing.assert_allclose(table["observed"][0], [0, 1 / 5])
    np.testing.assert_allclose(table["predicted"][1], [0.25, 2 / 3])
    np.testing.assert_allclose(table["observed"][1], [0, 1])
    np.testing.assert_allclose(table["observed"][2], [4 / 8, np.nan])
    assert np.isnan(table["predicted"][2, 1])


def test_the_errors_equal_those_worked_by_hand():
    y, proba = ["a", "b", "b", "b"], [[0.9, 0.1], [0.6, 0.4], [0.6, 0.4], [0.1, 0.9]]
    # One bin a class: mean probability of a is 0.55 and a happens in 1/4; the same gap for b.
    assert metrics.classwise_calibration_error(y, proba, bins=1) == pytest.approx(0.3)
    # Two bins: a below 1/2 (0.1, never), above (0.7, 1/3): (0.1 + 3 · 0.3667) / 4; b mirrors it.
    assert metrics.classwise_calibration_error(y, proba, bins=2) == pytest.approx(0.3)
    # Ten bins tell apart 0.9 (right), 0.6 (both wrong) and 0.9 of b (right).
    assert metrics.confidence_calibration_error(y, proba, bins=10) == pytest.approx(
        (2 * 0.1 + 2 * 0.6) / 4
    )
    assert metrics.classwise_calibration_error(y, proba, bins=10) == pytest.approx(
        (0.1 + 2 * 0.6 + 0.1) / 4
    )


def test_the_last_bin_includes_probability_one():
    table = metrics.reliability_table([0, 0], [[1.0], [1.0]], bins=4)
    np.testing.assert_array_equal(table["weight"], [[0, 0, 0, 2]])


@given(st.integers(0, 10_000), st.integers(1, 12))
@settings(deadline=None, max_examples=50)
def test_bins_agree_with_scikit_learn(seed, bins):
    y, proba = binary_samples(seed)
    observed, predicted = calibration_curve(y, proba[:, 1], n_bins=bins)
    table = metrics.reliability_table(y, proba, bins=bins)[1]
    filled = table["weight"] > 0
    np.testing.assert_allclose(table["observed"][filled], observed)
    np.testing.assert_allclose(table["predicted"][filled], predicted)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=50)
def test_certain_and_right_is_perfectly_calibrated(seed):
    y, _ = binary_samples(seed)
    certain = np.eye(2)[y]
    assert metrics.classwise_calibration_error(y, certain) == 0
    assert metrics.confidence_calibration_error(y, certain) == 0
    assert metrics.classwise_calibration_error(y, 1 - certain) == 1
    assert metrics.confidence_calibration_error(y, 1 - certain) == 1


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=50)
def test_a_weight_is_that_many_copies(seed):
    y, proba = binary_samples(seed)
    weight = np.random.default_rng(seed + 1).integers(1, 4, size=len(y))
    for error in metrics.classwise_calibration_error, metrics.confidence_calibration_error:
        assert error(y, proba, sample_weight=weight) == pytest.approx(
            error(np.repeat(y, weight), np.repeat(proba, weight, axis=0))
        )


@pytest.mark.parametrize("bins", [0, -1, 2.5, True, "auto"])
def test_bins_must_be_a_whole_number(bins):
    with pytest.raises(
        ArgumentError,
        match=re.escape(f"{Argument('bins', bins)} is not a whole number of 1 or more."),
    ):
        metrics.reliability_table([0, 1], np.eye(2), bins=bins)


def test_a_bin_includes_its_lower_edge_as_written():
    for tenths in range(10):
        p = tenths / 10
        table = metrics.reliability_table([0, 1], [[p, 1 - p], [1 - p, p]], bins=10)
        assert table["weight"][0, tenths] >= 1
        assert table["lower"][0, tenths] == p
