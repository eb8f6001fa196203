import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.svm import SVC

from polytomy.errors import DataError
from polytomy.learners.bank import Bank
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine, VectorPool
from polytomy.learners.trained import adopt_fitted

SVCS = pytest.mark.parametrize(
    "svc",
    [
        SVC(),
        SVC(kernel="linear", C=0.1),
        SVC(kernel="poly", degree=2, coef0=1.0),
        SVC(kernel="poly", degree=0),
        SVC(kernel="sigmoid", gamma=0.1, coef0=-0.5),
    ],
)
KINDS = pytest.mark.parametrize(
    "as_kind", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix]
)


def two_clouds(seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([-1, 1], [30, 25])
    X = rng.normal(size=(55, 4)) + 0.7 * y[:, np.newaxis]
    X[np.abs(X) < 0.3] = 0.0
    return X, y


def machine_of(svc, pool, offset=0):
    """The same machine as a fitted SVC, over a pool whose rows from `offset` on are its data."""
    coefficients = svc.dual_coef_
    if scipy.sparse.issparse(coefficients):
        coefficients = coefficients.toarray()
    support = svc.support_.astype(np.intp) + offset
    intercept = float(svc.intercept_[0])
    return KernelMachine(KernelFunction.of(svc), pool, support, coefficients[0], intercept)


@SVCS
@KINDS
class TestAnswers:
    def test_it_answers_as_the_svc_does(self, svc, as_kind):
        X, y = two_clouds()
        new = as_kind(two_clouds(seed=1)[0])
        fitted = clone(svc).fit(as_kind(X), y)
        machine = machine_of(fitted, VectorPool(as_kind(X)))
        np.testing.assert_allclose(
            machine.decision_function(new), fitted.decision_function(new), rtol=0, atol=1e-12
        )
        np.testing.assert_array_equal(machine.predict(new), fitted.predict(new))
        np.testing.assert_array_equal(machine.n_support_, fitted.n_support_)
        np.testing.assert_array_equal(machine.classes_, fitted.classes_)
        assert machine.n_features_in_ == 4

    def test_its_svc_is_one_of_scikit_learns(self, svc, as_kind):
        X, y = two_clouds()
        new = as_kind(two_clouds(seed=1)[0])
        fitted = clone(svc).fit(as_kind(X), y)
        made = pickle.loads(pickle.dumps(machine_of(fitted, VectorPool(as_kind(X))).to_svc()))
        assert type(made) is SVC
        np.testing.assert_allclose(
            made.decision_function(new), fitted.decision_function(new), rtol=0, atol=1e-12
        )
        np.testing.assert_array_equal(made.predict(new), fitted.predict(new))
        np.testing.assert_array_equal(made.n_support_, fitted.n_support_)
        assert made.support_vectors_.shape == fitted.support_vectors_.shape
        assert clone(made).kernel == svc.kernel
        if svc.kernel == "linear":
            difference = made.coef_ - fitted.coef_
            assert np.abs(difference).max() < 1e-12

    def test_support_vectors_may_come_in_any_order(self, svc, as_kind):
        X, y = two_clouds()
        fitted = clone(svc).fit(as_kind(X), y)
        machine = machine_of(fitted, VectorPool(as_kind(X)))
        order = np.random.default_rng(0).permutation(len(machine.support_))
        shuffled = KernelMachine(
            machine.kernel,
            machine.pool,
            machine.support_[order],
            machine.dual_coef_[order],
            machine.intercept_,
        )
        expected = machine.decision_function(as_kind(X))
        for answers in shuffled, shuffled.to_svc():
            np.testing.assert_allclose(
                answers.decision_function(as_kind(X)), expected, rtol=0, atol=1e-12
            )

    def test_a_bank_takes_it(self, svc, as_kind):
        X, y = two_clouds()
        other, _ = two_clouds(seed=2)
        stack = scipy.sparse.vstack if scipy.sparse.issparse(as_kind(X)) else np.vstack
        pool = VectorPool(stack([as_kind(X), as_kind(other)]))
        fitted = [clone(svc).fit(as_kind(data), y) for data in (X, other)]
        machines = [machine_of(each, pool, 55 * k) for k, each in enumerate(fitted)]
        binaries = [adopt_fitted(each, ["a"], ["b"], name="m") for each in machines]
        expected = np.column_stack([each.decision_function(as_kind(X)) for each in fitted])
        np.testing.assert_allclose(Bank(binaries).scores(as_kind(X)), expected, rtol=0, atol=1e-9)


def test_machines_pickled_together_share_their_pool():
    X = np.random.default_rng(0).normal(size=(1000, 20))
    pool = VectorPool(X)
    kernel = KernelFunction("rbf", gamma=0.1)
    machines = [KernelMachine(kernel, pool, np.arange(3), np.ones(3), 0.5) for _ in range(30)]
    stored = pickle.dumps(machines)
    assert X.nbytes < len(stored) < 1.2 * X.nbytes
    loaded = pickle.loads(stored)
    assert all(machine.pool is loaded[0].pool for machine in loaded)
    np.testing.assert_array_equal(
        loaded[7].decision_function(X[:5]), machines[7].decision_function(X[:5])
    )


def test_many_samples_are_answered_in_blocks():
    X, y = two_clouds()
    fitted = SVC().fit(X, y)
    machine = machine_of(fitted, VectorPool(X))
    many = np.random.default_rng(3).normal(size=(200_000, 4))
    some = np.arange(0, 200_000, 997)
    np.testing.assert_allclose(
        machine.decision_function(many)[some], fitted.decision_function(many[some]), atol=1e-12
    )


def test_a_machine_without_support_is_constant():
    pool = VectorPool(np.zeros((1, 2)))
    empty = np.empty(0, dtype=np.intp)
    machine = KernelMachine(KernelFunction("linear"), pool, empty, np.empty(0), -0.5)
    np.testing.assert_array_equal(machine.decision_function(np.ones((3, 2))), -0.5)
    np.testing.assert_array_equal(machine.predict(np.ones((3, 2))), -1)


def test_another_number_of_features_is_refused():
    machine = KernelMachine(
        KernelFunction("linear"), VectorPool(np.eye(3)), np.arange(3), np.ones(3), 0.0
    )
    with pytest.raises(DataError, match=r"X has 2 features; the binaries were fitted to 3\."):
        machine.decision_function(np.ones((4, 2)))


def test_their_repr_counts_vectors_and_features():
    pool = VectorPool(np.eye(3))
    machine = KernelMachine(KernelFunction("linear"), pool, np.arange(2), np.ones(2), 0.0)
    assert repr(pool) == "<VectorPool of 3 vectors of 3 features>"
    assert repr(machine).startswith("<KernelMachine of 2 support vectors, KernelFunction(")
