"""Reservoirs of held-out rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from polytomy.calibration.reservoir import Reservoir, StreamedRows


def stream(n_rows, n_classes, seed):
    classes = np.random.default_rng(seed).integers(0, n_classes, n_rows)
    return np.arange(n_rows, dtype=float).reshape(-1, 1), classes


def run(reservoir, X, classes, cuts, weight=None):
    """Return the reservoir after batches, and the rows that were trained on, in order."""
    trained = []
    for part in np.split(np.arange(len(X)), cuts):
        own = None if weight is None else weight[part]
        reservoir, batch, _ = reservoir.take(StreamedRows(X[part], classes[part], own))
        trained.append(batch.X[:, 0])
    return reservoir, np.concatenate(trained)


cases = st.tuples(
    st.integers(0, 400), st.integers(1, 5), st.integers(1, 60), st.integers(0, 5)
)  # rows, classes, size, seed


@given(case=cases, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_every_row_is_held_or_trained_on_once(case, cuts):
    n_rows, n_classes, size, seed = case
    X, classes = stream(n_rows, n_classes, seed)
    reservoir, trained = run(Reservoir.empty(n_classes, size, seed), X, classes, sorted(cuts))
    held = np.empty(0) if reservoir.X is None else reservoir.X[:, 0]
    assert sorted([*held, *trained]) == X[:, 0].tolist()
    assert (reservoir.class_indices == classes[held.astype(int)]).all()
    assert (reservoir.positions == held).all()
    assert np.bincount(reservoir.class_indices, minlength=1).max() <= max(1, size // n_classes)
    assert reservoir.n_of_class.tolist() == np.bincount(classes, minlength=n_classes).tolist()


@given(case=cases, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_the_rows_that_are_held_do_not_depend_on_the_batches(case, cuts):
    n_rows, n_classes, size, seed = case
    X, classes = stream(n_rows, n_classes, seed)
    empty = Reservoir.empty(n_classes, size, seed)
    whole, _ = run(empty, X, classes, [])
    cut, _ = run(empty, X, classes, sorted(cuts))
    assert cut.positions.tolist() == whole.positions.tolist()


@given(case=cases)
def test_the_first_row_of_a_class_is_trained_on_and_every_other_class_has_a_held_row(case):
    n_rows, n_classes, size, seed = case
    X, classes = stream(n_rows, n_classes, seed)
    reservoir, trained = run(Reservoir.empty(n_classes, size, seed), X, classes, [n_rows // 2])
    for label in range(n_classes):
        rows = np.flatnonzero(classes == label)
        if len(rows):
            assert rows[0] in trained
        if len(rows) > 1:
            assert label in reservoir.class_indices


@given(case=cases, cuts=st.lists(st.integers(0, 400), max_size=4))
def test_a_repeated_pass_trains_on_the_rows_that_are_not_held(case, cuts):
    n_rows, n_classes, size, seed = case
    X, classes = stream(n_rows, n_classes, seed)
    first, _ = run(Reservoir.empty(n_classes, size, seed), X, classes, [])
    second, trained = run(first.rewind(), X, classes, sorted(cuts))
    assert second.positions.tolist() == first.positions.tolist()
    assert second.n_of_class.tolist() == first.n_of_class.tolist()
    assert trained.tolist() == np.setdiff1d(np.arange(n_rows), first.positions).tolist()


def test_every_row_has_the_same_chance_to_be_held():
    X, classes = stream(400, 1, 0)
    held = np.zeros(400)
    for seed in range(600):
        reservoir, _ = run(Reservoir.empty(1, 20, seed), X, classes, [])
        held[reservoir.positions] += 1
    # The first two rows have chances of their own.
    early, late = held[2:201].sum(), held[201:].sum()
    assert abs(early - late) < 5 * np.sqrt(early + late)
    assert held[2:].mean() == pytest.approx(600 * 20 / 400, rel=0.05)


def test_weights_give_each_class_its_share_of_the_stream():
    classes = np.repeat([0, 1], [900, 100])
    X = np.random.default_rng(0).normal(size=(1000, 2))
    weight = np.where(np.arange(1000) % 2, 2.0, 1.0)
    reservoir, _ = run(Reservoir.empty(2, 20, 0), X, classes, [500], weight)
    found = reservoir.calibration_weight()
    assert found.sum() == pytest.approx(20)
    shares = np.bincount(reservoir.class_indices, found) / found.sum()
    expected = np.bincount(classes, weight) / weight.sum()
    np.testing.assert_allclose(shares, expected)
    of_class = found[reservoir.class_indices == 0]
    assert set((of_class / of_class.min()).round(9)) == {1.0, 2.0}


def test_rows_of_weight_zero_are_neither_held_nor_trained_on():
    X, classes = stream(200, 2, 0)
    weight = (np.arange(200) % 3 > 0).astype(float)
    reservoir, trained = run(Reservoir.empty(2, 40, 0), X, classes, [77], weight)
    assert sorted([*reservoir.X[:, 0], *trained]) == np.flatnonzero(weight).tolist()


def test_sparse_rows_stay_sparse():
    X, classes = stream(300, 2, 0)
    dense, _ = run(Reservoir.empty(2, 10, 0), X, classes, [])
    reservoir = Reservoir.empty(2, 10, 0)
    for part in np.split(np.arange(300), [100]):
        reservoir, batch, _ = reservoir.take(StreamedRows(csr_array(X[part]), classes[part]))
        assert batch.X.format == "csr"
    assert reservoir.X.toarray().tolist() == dense.X.tolist()
