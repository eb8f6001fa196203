"""Support vectors of many machines, each stored once."""

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.svm import SVC, LinearSVC, NuSVC

from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine, VectorPool
from polytomy.persistence.own.vector_pools import SupportPools, is_machine


def _data(n_features=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, n_features))
    return X, X[:, 0] + 0.5 * random.normal(size=30) > 0


def test_every_machine_finds_its_vectors():
    X, y = _data()
    wide, y_wide = _data(5, seed=1)
    machines = [
        SVC().fit(X, y),
        NuSVC(nu=0.3).fit(X, y),
        SVC(kernel="linear").fit(wide, y_wide),
        SVC().fit(csr_matrix(X), y),
    ]
    pools = SupportPools(machines)
    for machine in machines:
        number, rows = pools.place(machine)
        found, expected = pools.matrices[number][rows], machine.support_vectors_
        assert issparse(found) == issparse(expected)
        np.testing.assert_array_equal(csr_matrix(found).toarray(), csr_matrix(expected).toarray())


def test_a_vector_of_two_machines_is_stored_once():
    X, y = _data()
    machines = [SVC(C=C).fit(X, y) for C in (0.1, 1.0)]
    pools = SupportPools(machines)
    assert len(pools.matrices) == 1
    expected = np.unique(np.concatenate([each.support_vectors_ for each in machines]), axis=0)
    assert len(pools.matrices[0]) == len(expected) < sum(len(m.support_) for m in machines)


def test_machines_of_one_pool_keep_only_what_they_use():
    pool = VectorPool(np.arange(10.0).reshape(5, 2))
    kernel = KernelFunction("linear")
    machines = [
        KernelMachine(kernel, pool, np.array(rows), np.ones(len(rows)), 0.0)
        for rows in ([4, 1], [1, 2])
    ]
    pools = SupportPools(machines)
    assert [each.shape for each in pools.matrices] == [(3, 2)]
    for machine in machines:
        number, rows = pools.place(machine)
        np.testing.assert_array_equal(pools.matrices[number][rows], machine.support_vectors_)


def test_only_machines_with_a_known_kernel_are_saved_as_arrays():
    X, y = _data()
    assert is_machine(SVC().fit(X, y))
    assert is_machine(NuSVC(kernel="sigmoid", nu=0.1).fit(X, y))
    assert not is_machine(SVC(kernel="precomputed").fit(X @ X.T, y))
    assert not is_machine(SVC(kernel=lambda A, B: A @ B.T).fit(X, y))
    assert not is_machine(LinearSVC().fit(X, y))
