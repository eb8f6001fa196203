import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, NuSVC

from polytomy.errors import ArgumentError
from polytomy.learners.svm.kernels import KernelFunction, squared_lengths
from polytomy.onnx_graph import Graph

KINDS = ["linear", "rbf", "poly", "sigmoid"]
FORMS = {"dense": np.asarray, "csr": csr_array, "csc": csc_array, "matrix": csr_matrix}

kernels = st.builds(
    KernelFunction,
    st.sampled_from(KINDS),
    gamma=st.floats(0.01, 2),
    degree=st.integers(0, 5),
    coef0=st.floats(-1, 1),
)


def sklearn_kernel(kernel: KernelFunction, X, Y):
    parameters = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
    return pairwise_kernels(X, Y, metric=kernel.kind, filter_params=True, **parameters)


def some_rows(rng: np.random.Generator, n_rows: int, n_features: int):
    X = rng.normal(size=(n_rows, n_features))
    X[rng.uniform(size=X.shape) < 0.4] = 0
    return X


class TestValue:
    def test_parameters_that_the_kind_does_not_use_do_not_count(self):
        assert KernelFunction("linear", 3, 2, 1) == KernelFunction("linear")
        assert KernelFunction("rbf", 3, degree=2, coef0=1) == KernelFunction("rbf", 3)
        assert KernelFunction("sigmoid", 3, degree=2) == KernelFunction("sigmoid", 3)
        assert KernelFunction("poly", 3, degree=2) != KernelFunction("poly", 3, degree=3)

    @given(kernels)
    def test_equal_kernels_have_equal_hashes_and_survive_pickling(self, kernel):
        again = pickle.loads(pickle.dumps(kernel))
        assert again == kernel
        assert len({again, kernel}) == 1

    def test_an_unknown_kind_is_refused(self):
        with pytest.raises(ArgumentError) as error:
            KernelFunction("gauss")
        assert str(error.value) == (
            'kind="gauss" is not known. Use one of "linear", "rbf", "poly", "sigmoid".'
        )

    @pytest.mark.parametrize("degree", [-1, 1001, 2**31 - 1])
    def test_an_absurd_degree_is_refused(self, degree):
        with pytest.raises(ArgumentError) as error:
            KernelFunction("poly", 1.0, degree)
        assert str(error.value) == (
            f"degree={degree} is not a degree from 0 to 1000. Degrees from 2 to 5 are usual."
        )
        assert KernelFunction("rbf", 1.0, degree) == KernelFunction("rbf", 1.0)

    @pytest.mark.parametrize("degree", range(1, 21))
    def test_powers_are_those_of_sklearn(self, degree):
        # Inner products are small integers, so that rounding begins with the powers.
        X = np.random.default_rng(degree).integers(-3, 4, size=(30, 3)).astype(float)
        kernel = KernelFunction("poly", 1.0, degree, -2.0)
        expected = sklearn_kernel(kernel, X, X)
        assert (expected < 0).any() == (degree % 2 == 1)
        np.testing.assert_allclose(kernel.matrix(X, X), expected, rtol=1e-14, atol=0)


class TestOfMachines:
    def test_a_machine_of_an_absurd_degree_has_no_kernel_function(self):
        assert KernelFunction.from_parameters(SVC(kernel="poly", degree=1001), [[0.0]]) is None

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("gamma", ["scale", "auto", 0.7, 2])
    @pytest.mark.parametrize("form", ["dense", "csr"])
    def test_parameters_and_fitted_machine_give_the_same_kernel(self, kind, gamma, form):
        rng = np.random.default_rng(1)
        X, y = FORMS[form](some_rows(rng, 20, 3)), np.arange(20) % 2
        machine = SVC(kernel=kind, gamma=gamma, degree=2, coef0=0.5)
        before = KernelFunction.from_parameters(machine, X)
        after = KernelFunction.of(machine.fit(X, y))
        assert before == after
        assert after.kind == kind

    def test_scale_is_one_over_the_features_times_the_variance(self):
        X = np.array([[0.0, 2.0], [4.0, 2.0]], dtype=np.float32)  # the variance is 2
        assert KernelFunction.from_parameters(NuSVC(), X) == KernelFunction("rbf", 0.25)
        assert KernelFunction.from_parameters(NuSVC(gamma="auto"), X) == KernelFunction("rbf", 0.5)

    def test_scale_of_constant_data_is_one(self):
        assert KernelFunction.from_parameters(SVC(), np.ones((3, 2))) == KernelFunction("rbf", 1)

    def test_precomputed_and_callable_kernels_give_none(self):
        assert KernelFunction.from_parameters(SVC(kernel="precomputed"), np.eye(2)) is None
        assert KernelFunction.of(SVC(kernel="precomputed").fit(np.eye(2), [0, 1])) is None
        assert KernelFunction.of(SVC(kernel=lambda X, Y: X @ Y.T).fit(np.eye(2), [0, 1])) is None


class TestMatrix:
    @given(
        kernels,
        st.integers(0, 2**32),
        st.tuples(st.integers(1, 70), st.integers(1, 6), st.integers(1, 5)),
        st.sampled_from(list(FORMS)),
        st.sampled_from(list(FORMS)),
    )
    @settings(max_examples=60, deadline=None)
    def test_values_are_those_of_scikit_learn(self, kernel, seed, shape, form_x, form_y):
        rng = np.random.default_rng(seed)
        X, Y = some_rows(rng, shape[0], shape[2]), some_rows(rng, shape[1], shape[2])
        got = kernel.matrix(FORMS[form_x](X), FORMS[form_y](Y))
        np.testing.assert_allclose(got, sklearn_kernel(kernel, X, Y), rtol=1e-12, atol=1e-12)

    @given(st.integers(0, 2**32), st.sampled_from([0.0, 1.0, 1e3, 1e6, 1e8]))
    @settings(max_examples=25, deadline=None)
    def test_distances_are_exact_far_from_the_origin(self, seed, offset):
        rng = np.random.default_rng(seed)
        X, Y = offset + rng.normal(size=(20, 3)), offset + rng.normal(size=(10, 3))
        expected = np.exp(-0.5 * cdist(X, Y, "sqeuclidean"))
        np.testing.assert_allclose(
            KernelFunction("rbf", 0.5).matrix(X, Y), expected, rtol=0, atol=1e-12
        )

    @pytest.mark.parametrize("form", ["dense", "csr"])
    def test_distances_are_exact_between_outliers(self, form):
        # Two clusters that no single centre can serve.
        rng = np.random.default_rng(2)
        Y = np.concatenate([rng.normal(size=(5, 3)), 1e7 + rng.normal(size=(5, 3))])
        X = Y + 0.1 * rng.normal(size=Y.shape)
        expected = np.exp(-0.5 * cdist(X, Y, "sqeuclidean"))
        got = KernelFunction("rbf", 0.5).matrix(FORMS[form](X), FORMS[form](Y))
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)

    def test_the_kernel_of_a_row_with_itself_is_one(self):
        X = np.random.default_rng(3).normal(size=(50, 7)) * 1e3
        diagonal = np.diag(KernelFunction("rbf", 1e-3).matrix(X, X))
        np.testing.assert_allclose(diagonal, 1, rtol=0, atol=1e-9)
        assert np.all(diagonal <= 1)


class TestFromProducts:
    @given(kernels, st.integers(0, 2**32))
    @settings(max_examples=25, deadline=None)
    def test_products_change_in_place(self, kernel, seed):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(5, 2)), rng.normal(size=(3, 2))
        products = X @ Y.T
        got = kernel.from_products(products, squared_lengths(X), squared_lengths(Y))
        assert got is products
        np.testing.assert_allclose(got, sklearn_kernel(kernel, X, Y), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_squared_lengths_are_sums_of_squares(form):
    X = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [-3.0, 0.0, 4.0]])
    np.testing.assert_array_equal(squared_lengths(FORMS[form](X)), [5, 0, 25])


class TestGraph:
    @pytest.mark.parametrize(
        "function",
        [
            KernelFunction("linear"),
            KernelFunction("rbf", gamma=0.3),
            KernelFunction("poly", gamma=0.1, degree=3, coef0=1.0),
            KernelFunction("sigmoid", gamma=0.1, coef0=-1.0),
        ],
        ids=lambda function: function.kind,
    )
    def test_kernels_have_the_values_of_their_functions(self, compute, function):
        rng = np.random.default_rng(0)
        samples, vectors = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
        found = compute(lambda graph, x: function.to_onnx(graph, x, vectors), samples)
        np.testing.assert_allclose(found, function.matrix(samples, vectors), atol=1e-12)

    def test_vectors_that_are_too_long_for_exact_distances_are_refused(self):
        graph = Graph()
        samples, vectors = graph.input("X", np.float64, ["n", 1]), np.array([[0.0], [1000.0]])
        with pytest.raises(ArgumentError, match="must be at most 10000 for exact kernel values"):
            KernelFunction("rbf", gamma=1.0).to_onnx(graph, samples, vectors)
