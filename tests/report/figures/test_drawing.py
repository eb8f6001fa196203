"""Scales and text of figures."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from polytomy.report.figures import Scale, fit_scale, fit_text, format_number, text_width

NUMBERS = st.floats(-1e6, 1e6)
POSITIVE = st.floats(1e-6, 1e6)


@given(st.lists(NUMBERS, min_size=1))
def test_a_scale_covers_all_values_in_order(values):
    scale = fit_scale(values, 20.0, 120.0)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(20 <= place <= 120 for place in places)


@given(st.lists(POSITIVE, min_size=2))
def test_a_logarithmic_scale_maps_equal_ratios_to_equal_lengths(values):
    scale = fit_scale(values, 0.0, 100.0, may_be_log=True)
    assert scale.is_log == (max(values) / min(values) > 12)
    assume(scale.is_log)
    middle = (scale.low * scale.high) ** 0.5
    assert scale(middle) == pytest.approx(50)


@given(NUMBERS, st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_are_evenly_spaced_within_the_range(low, width, n_wanted):
    scale = Scale(low, low + width, 0.0, 100.0)
    ticks = scale.ticks(n_wanted)
    assert n_wanted // 2 <= len(ticks) <= n_wanted + 1
    slack = 1e-6 * width
    assert all(low - slack <= tick <= low + width + slack for tick in ticks)
    steps = [after - before for before, after in pairwise(ticks)]
    assert all(step == pytest.approx(steps[0], rel=1e-3) for step in steps)


@given(POSITIVE, st.floats(13, 1e9), st.integers(2, 8))
def test_logarithmic_ticks_are_few_and_within_the_range(low, factor, n_wanted):
    scale = Scale(low, low * factor, 0.0, 100.0, is_log=True)
    ticks = scale.ticks(n_wanted)
    assert 1 <= len(ticks) <= n_wanted + 1
    assert all(scale.low <= tick <= scale.high for tick in ticks)
    assert ticks == sorted(set(ticks))


@given(st.text(min_size=1), st.floats(20, 300))
def test_truncated_text_has_a_tooltip_with_the_full_text(text, width):
    shown, *title = fit_text(text, width)
    assert text_width(str(shown)) <= width
    if text_width(text) <= width:
        assert [shown, *title] == [text]
    else:
        assert str(shown).endswith("…")
        assert text.startswith(str(shown)[:-1])
        assert len(title) == 1


@given(st.floats(-1e6, 1e6))
def test_axis_numbers_have_no_exponent_and_are_accurate(value):
    assert "e" not in format_number(value)
    assert float(format_number(value)) == pytest.approx(value, abs=1e-10)
