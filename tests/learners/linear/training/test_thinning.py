"""Fewer samples of the larger side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.calibration.calibrators import HeldOut, SigmoidCalibrator
from polytomy.learners.linear.training import thin_larger_side


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_the_weight_of_each_side_stays_the_same(
    seed: int, larger_is_positive: bool, has_weights: bool
) -> None:
    rng = np.random.default_rng(seed)
    target = (rng.random(300) < 0.1) != larger_is_positive
    weight = rng.choice([0.5, 2.0], 300) if has_weights else None
    thinned = thin_larger_side(HeldOut(rng.normal(size=300), target, weight), 40, seed)
    before = np.ones(300) if weight is None else weight
    assert np.count_nonzero(thinned.target == larger_is_positive) == 40
    for side in (False, True):
        total = thinned.weight[thinned.target == side].sum()
        np.testing.assert_allclose(total, before[target == side].sum())


def test_few_samples_are_returned_as_they_are() -> None:
    held_out = HeldOut(np.arange(5.0), np.arange(5) > 3)
    assert thin_larger_side(held_out, 4, None) is held_out


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_samples_nearest_to_the_other_side_are_kept(sign: float) -> None:
    values = sign * np.arange(100.0)
    thinned = thin_larger_side(HeldOut(values, (values > 98) | (sign < 0) & (values < 0)), 10, 0)
    hardest = np.arange(94.0, 99.0) if sign > 0 else -np.arange(95.0, 100.0)
    assert set(hardest) <= set(thinned.values)


def test_a_sigmoid_changes_little() -> None:
    rng = np.random.default_rng(0)
    target = rng.random(50_000) < 0.01
    values = rng.normal(size=len(target)) + 3.0 * target
    whole = SigmoidCalibrator().fit(values, target)
    some = thin_larger_side(HeldOut(values, target), 4096, 0)
    thinned = SigmoidCalibrator().fit(*some)
    grid = np.linspace(-3, 6, 10)
    np.testing.assert_allclose(thinned.predict(grid), whole.predict(grid), atol=0.02)
