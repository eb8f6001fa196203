import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("distributed")

from polytomy.calibration.folds import Folds, deal_rows
from polytomy.dask import fit_steps as folds_module
from polytomy.dask.fit_steps import FoldPlan, calibration_weights
from polytomy.dask.grouping import Layout, PartSummary, RowBlock
from polytomy.inputs.numbers import class_weights
from polytomy.learners.workload import TrainingOptions
from polytomy.model.out_of_fold import FoldRule


def make_layout(sizes, weights=None):
    sizes = np.array(sizes)
    weights = sizes.astype(float) if weights is None else np.array(weights)
    labels = np.arange(len(sizes))
    n_rows = int(sizes.sum())
    return Layout.of([PartSummary(8 * n_rows, labels, sizes, weights, 1)])


@given(st.lists(st.integers(1, 40), min_size=2, max_size=4), st.integers(2, 6), st.integers(1, 90))
def test_as_few_folds_are_held_out_as_in_one_place(sizes, cv, enough_rows):
    plan = FoldPlan.of(
        FoldRule("bias", enough_rows, 3), make_layout(sizes), TrainingOptions(cv=cv), 1
    )
    class_indices = np.repeat(np.arange(len(sizes)), sizes)
    every = Folds.from_numbers(deal_rows(class_indices, min(cv, sum(sizes)), 3))
    assert plan.n_folds == every.first(enough_rows).n_folds
    assert plan.dealt == every.n_folds


def test_the_rows_to_score_are_limited_in_size_and_divided_among_the_classes(monkeypatch):
    monkeypatch.setattr(folds_module, "_SAMPLE_BYTES", 8 * 100)
    plan = FoldPlan.of(
        FoldRule("bias", None, 0), make_layout([900, 90, 10]), TrainingOptions(cv=5), 1
    )
    assert [choice.most_rows for choice in plan.choices] == [90, 9, 1]
    assert [choice.seed for choice in plan.choices] == [[0, 0], [0, 1], [0, 2]]
    plan = FoldPlan.of(FoldRule("bias", None, 0), make_layout([50, 50]), TrainingOptions(cv=5), 1)
    assert [choice.most_rows for choice in plan.choices] == [None, None]


def test_folds_without_a_seed_are_the_same_if_a_task_is_run_again():
    plan = FoldPlan.of(FoldRule("bias", None, None), make_layout([5, 5]), TrainingOptions(cv=5), 1)
    assert plan.seed >= 0
    assert plan.given_seed is None


def test_balanced_sides_are_calibrated_with_balanced_classes():
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    class_indices = np.array([0, 0, 1, 1])
    rows = RowBlock(None, np.arange(4), class_indices, weight)
    layout = make_layout([2, 2], [3.0, 7.0])
    np.testing.assert_allclose(
        calibration_weights(rows, layout, balances_sides=True),
        class_weights("balanced", np.arange(2), class_indices, weight),
    )
    np.testing.assert_array_equal(calibration_weights(rows, layout, balances_sides=False), weight)
