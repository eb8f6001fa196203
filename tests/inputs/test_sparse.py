"""Sparse data: no index, offset or duplicate of a user's gets past the entrance."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from polytomy.datasets import Data, write_data
from polytomy.errors import DataError
from polytomy.inputs.sparse import check_csr_parts, check_sparse, is_sparse
from polytomy.learners.bank import Bank
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine, VectorPool
from polytomy.trials.datasets import Dataset

FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
IRIS, KINDS = load_iris(return_X_y=True)


def _table(n_rows=12, n_columns=8):
    random = np.random.default_rng(0)
    return np.where(random.random((n_rows, n_columns)) < 0.4, random.normal(size=(n_rows, 8)), 0.0)


def _copy_of(X):
    parts = vars(X).items()
    return {name: value.copy() for name, value in parts if isinstance(value, np.ndarray)}


def _in_halves(X):
    """Return a CSR matrix in which every value is stored twice, as two halves."""
    n_rows, n_columns = X.shape
    values = np.repeat(X.ravel() / 2, 2)
    columns = np.tile(np.tile(np.arange(n_columns), n_rows), 2).reshape(2, -1).T.ravel()
    return sp.csr_matrix((values, columns, np.arange(n_rows + 1) * 2 * n_columns), shape=X.shape)


@pytest.mark.parametrize("make", [sp.coo_matrix, sp.csr_array])
def test_matrices_and_arrays_of_scipy_are_sparse(make):
    assert is_sparse(make(np.eye(2)))


@pytest.mark.parametrize("X", [np.eye(2), [[0.0]], None])
def test_other_data_is_not_sparse_and_stays_as_it_is(X):
    assert not is_sparse(X)
    assert check_sparse(X) is X


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_becomes_canonical_rows_of_the_same_values(format, make):
    X = make(_table()).asformat(format)
    rows = check_sparse(X)
    assert type(rows) is make
    assert rows.has_canonical_format
    assert rows.indices.dtype == rows.indptr.dtype == np.int32
    np.testing.assert_array_equal(rows.toarray(), _table())


@pytest.mark.parametrize(
    ("format", "shape"),
    [(format, (2, 2)) for format in FORMATS]
    + [(format, shape) for format in ("csr", "csc", "coo") for shape in [(0, 3), (3, 0)]],
)
def test_matrices_without_entries_are_valid(format, shape):
    assert check_sparse(sp.csr_array(shape).asformat(format)).shape == shape


def test_canonical_rows_are_not_copied():
    X = sp.csr_array(_table())
    assert np.shares_memory(check_sparse(X).data, X.data)
    assert np.shares_memory(check_sparse(X).indices, X.indices)


@pytest.mark.parametrize("kind", ["i8", ">i4", ">i8", "u4", "i2"])
def test_indices_of_any_integer_type_are_read(kind):
    X = sp.csr_array(_table())
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    rows = check_sparse(X)
    assert rows.indices.dtype == np.int32
    np.testing.assert_array_equal(rows.toarray(), _table())


@pytest.mark.parametrize("kind", [">f8", "f2", np.longdouble, object])
def test_values_of_rare_types_are_read_as_numbers(kind):
    X = sp.csr_array(_table().round(1))
    X.data = X.data.astype(kind)
    rows = check_sparse(X)
    assert rows.data.dtype == np.float64
    tolerance = 1e-3 if kind == "f2" else 0
    np.testing.assert_allclose(rows.toarray(), _table().round(1), rtol=tolerance)


def test_arrays_with_gaps_and_read_only_ones_are_read():
    X = sp.csr_array(_table())
    for name in ("data", "indices"):
        spread = np.zeros(2 * X.nnz, dtype=getattr(X, name).dtype)
        spread[::2] = getattr(X, name)
        spread.flags.writeable = False
        setattr(X, name, spread[::2])
    np.testing.assert_array_equal(check_sparse(X).toarray(), _table())


def test_values_beyond_the_last_offset_are_not_read():
    X = sp.csr_array(_table())
    X.data, X.indices = np.append(X.data, 9.0), np.append(X.indices, 10**9).astype(np.int32)
    np.testing.assert_array_equal(check_sparse(X).toarray(), _table())


def test_diagonals_outside_the_matrix_are_not_read():
    X = sp.dia_array((np.ones((3, 4)), [0, -(2**31) + 1, 2**31 - 1]), shape=(4, 4))
    np.testing.assert_array_equal(check_sparse(X).toarray(), np.eye(4))


# -- malformed matrices ----------------------------------------------------------------------------


def _changed(format, **changes):
    X = sp.csr_array(_table()).asformat(format)
    for name, change in changes.items():
        values = getattr(X, name).copy()
        setattr(X, name, change(values))
    return X


def _put(place, value):
    def change(values):
        values[place] = value
        return values

    return change


def _lil(row, value):
    X = sp.lil_array(_table())
    X.rows[2] = [row]
    X.data[2] = value
    return X


def _dok(key):
    X = sp.dok_array(_table())
    X._dict[key] = 1.0
    return X


def _dia(data, offsets):
    X = sp.dia_array(np.eye(4))
    X.data, X.offsets = np.ones(data), np.array(offsets)
    return X


# SciPy's own check subtracts neighbours in 32 bits, and takes this for a rising sequence.
OVERFLOWING = [0, 2**31 - 1, -(2**31), -1, *range(1, 9), 9]

MALFORMED = {
    "index of 2^31 - 1": (
        _changed("csr", indices=_put(5, 2**31 - 1)),
        "X is not a valid CSR matrix: indices must be < 8. Build it again "
        "from its values, rows and columns, with scipy.sparse.coo_array.",
    ),
    "negative index": (
        _changed("csr", indices=_put(5, -(2**30))),
        "X is not a valid CSR matrix: indices must be >= 0",
    ),
    "index past the end": (
        _changed("csr", indices=_put(-1, 8)),
        "X is not a valid CSR matrix: indices must be < 8",
    ),
    "64-bit index": (
        _changed("csr", indices=lambda v: _put(0, 2**40)(v.astype(np.int64))),
        "X is not a valid CSR matrix: indices must be < 8",
    ),
    "fractional indices": (
        _changed("csr", indices=lambda v: v + 0.5),
        "indices is an array of float64 of shape",
    ),
    "decreasing offsets": (
        _changed("csr", indptr=_put(3, 0)),
        "indptr must be a non-decreasing sequence",
    ),
    "overflowing offsets": (
        _changed("csr", indptr=lambda v: np.array(OVERFLOWING, dtype=np.int32)),
        "indptr must be a non-decreasing sequence",
    ),
    "offsets that do not start at 0": (
        _changed("csr", indptr=_put(0, 1)),
        "X is not a valid CSR matrix: index pointer should start with 0",
    ),
    "offsets beyond the data": (
        _changed("csr", indptr=_put(-1, 10**6)),
        "X is not a valid CSR matrix: Last value of index pointer should be less than",
    ),
    "too few offsets": (
        _changed("csr", indptr=lambda v: v[:-1]),
        "X is not a valid CSR matrix: index pointer size 12 should be 13",
    ),
    "no offsets": (_changed("csr", indptr=lambda v: v[:0]), "index pointer size 0"),
    "too few values": (_changed("csr", data=lambda v: v[:-1]), "should have the same size"),
    "values in a table": (_changed("csr", data=lambda v: v[:, None]), "should be 1-D"),
    "values of text": (
        _changed("csr", data=lambda v: v.astype(str)),
        "which is not a number",
    ),
    "objects": (
        _changed("csr", data=lambda v: np.full(len(v), "oak", dtype=object)),
        "could not convert string to float",
    ),
    "CSC index": (
        _changed("csc", indices=_put(2, 12)),
        "X is not a valid CSC matrix: indices must be < 12",
    ),
    "CSC offsets": (
        _changed("csc", indptr=_put(1, 10**6)),
        "indptr must be a non-decreasing sequence",
    ),
    "CSC values": (_changed("csc", data=lambda v: v[1:]), "should have the same size"),
    "BSR index": (
        _changed("bsr", indices=_put(0, 2**31 - 1)),
        "X is not a valid BSR matrix: ",
    ),
    "BSR offsets": (
        _changed("bsr", indptr=_put(-1, 10**6)),
        "X is not a valid BSR matrix: Last value",
    ),
    "BSR blocks": (_changed("bsr", data=lambda v: v[1:]), "should have the same size"),
    "BSR block size": (
        _changed("bsr", data=lambda v: np.ones((len(v), 5, 7))),
        "X is not a valid BSR matrix: index pointer size",
    ),
    "COO row": (
        _changed("coo", row=_put(4, 12)),
        "X is not a valid COO matrix: axis 0 index 12 exceeds",
    ),
    "COO column": (
        _changed("coo", col=_put(4, -1)),
        "negative axis 1 index: -1",
    ),
    "COO values": (_changed("coo", data=lambda v: v[1:]), "rows and"),
    "LIL index": (
        _lil(2**31 - 1, [1.0]),
        "X is not a valid LIL matrix: ",
    ),
    "LIL huge index": (_lil(2**70, [1.0]), "X is not a valid LIL matrix: "),
    "LIL values": (_lil(1, [1.0, 2.0]), "its rows of indices and of values differ"),
    "LIL word": (_lil(1, ["oak"]), "must be real number, not str"),
    "DOK key": (
        _dok((2**31 - 1, 0)),
        "X is not a valid DOK matrix: axis 0 index 2147483647 exceeds matrix dimension 12",
    ),
    "DOK negative key": (_dok((0, -1)), "negative axis 1 index: -1"),
    "DIA offsets": (_dia((2, 4), [0]), "does not match the number of offsets (1)"),
    "DIA twice": (_dia((2, 4), [0, 0]), "duplicate values"),
    "DIA fraction": (_dia((1, 4), [0.5]), "offsets is an array of float64"),
    "vector": (
        sp.coo_array(np.ones(3)),
        "X is a sparse array of shape (3,); it needs one row for each sample",
    ),
    "too many columns": (
        sp.coo_array((3, 2**31)),
        "X is a sparse matrix of shape (3, 2147483648); at most 2147483647 rows and columns",
    ),
}


@pytest.mark.parametrize(("X", "words"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_matrix_is_an_error_that_says_why(X, words):
    with pytest.raises(DataError) as error:
        check_sparse(X)
    assert words in str(error.value)


def test_the_error_names_the_array():
    with pytest.raises(DataError, match=r"^coef_ is not a valid CSR matrix: indices must be <"):
        check_sparse(_changed("csr", indices=_put(5, 9)), "coef_")


def test_parts_of_a_matrix_are_checked_too():
    with pytest.raises(ValueError, match="should have the same size"):
        check_csr_parts(np.ones(2), np.array([0]), np.array([0, 1]), (1, 1))


def _search(X, y=KINDS):
    pt.SchemeSearchCV(SVC(), candidates=["one-vs-one", "tree"], cv=2).fit(X, y)


FITTED = pt.PolytomyClassifier(SVC(), random_state=0).fit(sp.csr_array(IRIS), KINDS)
LINEAR = pt.PolytomyClassifier(LinearSVC(), random_state=0).fit(sp.csr_array(IRIS), KINDS)
MACHINE = KernelMachine(
    KernelFunction("rbf", gamma=0.5), VectorPool(IRIS[::50]), np.arange(3), np.ones(3), 0.0
)
CLASSES = [0, 1, 2]
ENTRANCES = {
    "fit": lambda X: pt.PolytomyClassifier(SVC()).fit(X, KINDS),
    "fit, auto": lambda X: pt.PolytomyClassifier(SVC(), scheme="auto", cv=2).fit(X, KINDS),
    "partial_fit": lambda X: pt.PolytomyClassifier(SGDClassifier()).partial_fit(X, KINDS, CLASSES),
    "search": _search,
    "predict": FITTED.predict,
    "predict_proba": FITTED.predict_proba,
    "decision_function": FITTED.decision_function,
    "decisions": FITTED.decisions,
    "linear": LINEAR.decisions,
    "composition": FITTED.composition_.scores,
    "composition's decisions": FITTED.composition_.decisions,
    "bank": Bank(FITTED.binaries_).scores,
    "binary": FITTED.binaries_[0].scores,
    "machine": MACHINE.decision_function,
    "distances": lambda X: pt.distances.hausdorff(X, KINDS),
    "designs": lambda X: pt.designs.empirical_tree(X, KINDS),
    "trials": lambda X: Dataset("iris", X, KINDS),
}


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("entrance", ENTRANCES.values(), ids=ENTRANCES.keys())
def test_no_entrance_lets_a_malformed_matrix_in(entrance, format):
    X = sp.csr_array(IRIS).asformat(format)
    indices = X.col if format == "coo" else X.indices
    indices[5] = 2**31 - 1
    with pytest.raises(DataError, match=r"X is not a valid .* matrix: "):
        entrance(X)


@pytest.mark.parametrize("entrance", ENTRANCES.values(), ids=ENTRANCES.keys())
def test_no_entrance_lets_offsets_beyond_the_data_in(entrance):
    X = sp.csr_array(IRIS)
    X.indptr[7:] += 10**8
    with pytest.raises(DataError, match="X is not a valid CSR matrix: Last value of index pointer"):
        entrance(X)


def test_writing_refuses_a_malformed_matrix(tmp_path):
    X = sp.csr_array(IRIS)
    X.indices[5] = 2**31 - 1
    data = Data(X, KINDS, None, np.arange(150))
    for name in ("d.svm", "d.csv", "d.npz", "d.vec"):
        with pytest.raises(DataError, match=r"data\.X is not a valid CSR matrix"):
            write_data(tmp_path / name, data)
    assert not any(tmp_path.iterdir())


def test_a_fitted_model_with_malformed_arrays_is_refused():
    svc = SVC().fit(sp.csr_array(IRIS[:100]), KINDS[:100])
    svc.support_vectors_.indices[0] = 2**31 - 1
    classifier = pt.PolytomyClassifier(models={"m": svc}, scheme="m 0 / 1; {0 1}")
    with pytest.raises(DataError, match='support_vectors_ of model "m" is not a valid CSR'):
        classifier.fit(IRIS[:100], KINDS[:100]).predict(IRIS[:100])


# -- duplicates and explicit zeros -----------------------------------------------------------------


def _written(X, format):
    """Return X with every value stored twice and every zero stored, where the format can."""
    halves = _in_halves(X)
    if format == "csr":
        return halves
    if format == "csc":
        return sp.csc_matrix(_in_halves(X.T).T)
    if format == "coo":
        rows = np.repeat(np.arange(len(X)), 2 * X.shape[1])
        return sp.coo_array((halves.data, (rows, halves.indices)), shape=X.shape)
    if format == "bsr":
        blocks = halves.data.reshape(-1, 1, 1)
        return sp.bsr_array((blocks, halves.indices, halves.indptr), shape=X.shape)
    if format == "lil":
        table = sp.lil_array(X.shape)
        for row, values in enumerate(X):
            table.rows[row] = np.repeat(np.arange(X.shape[1]), 2).tolist()
            table.data[row] = np.repeat(values / 2, 2).tolist()
        return table
    return sp.csr_array(X).asformat(format)


@pytest.mark.parametrize("format", FORMATS)
def test_duplicates_are_summed_in_a_copy(format):
    X = _written(_table(), format)
    before = _copy_of(X)
    np.testing.assert_allclose(check_sparse(X).toarray(), _table(), rtol=1e-15)
    assert check_sparse(X).has_canonical_format
    for name, values in before.items():
        np.testing.assert_array_equal(getattr(X, name, vars(X)[name]), values)


def test_order_is_checked_and_not_remembered():
    X = sp.csr_array(np.array([[1.0, 2.0, 3.0]]))
    assert X.has_canonical_format  # SciPy keeps this answer
    X.indices[:] = [2, 2, 0]
    rows = check_sparse(X)
    np.testing.assert_array_equal(rows.indices, [0, 2])
    np.testing.assert_array_equal(rows.data, [3.0, 3.0])


ESTIMATORS = {
    "SVC, shared": (SVC(), {}),
    "SVC, alone": (SVC(probability=False, kernel="sigmoid", gamma=0.01), {"calibration": None}),
    # Stored zeros change the order of sums; with a small tolerance, the solutions still agree.
    "LinearSVC": (LinearSVC(tol=1e-12, random_state=0), {"calibration": None}),
    "LogisticRegression": (LogisticRegression(tol=1e-12), {"calibration": None}),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("estimator", "options"), ESTIMATORS.values(), ids=ESTIMATORS.keys())
def test_decisions_do_not_depend_on_how_values_are_stored(estimator, options, format):
    # Values with few digits: halves add up to them exactly.
    X = np.where(IRIS > 1.5, IRIS.round(1), 0.0)

    def decide(training, samples):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            classifier = pt.PolytomyClassifier(estimator, random_state=0, **options)
            return classifier.fit(training, KINDS).decisions(samples)

    plain = sp.csr_array(X)
    expected = decide(plain, X)
    hostile = _written(X, format)
    np.testing.assert_allclose(decide(hostile, hostile), decide(plain, plain), rtol=0, atol=1e-12)
    np.testing.assert_allclose(decide(hostile, X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("measure", ["hausdorff", "centroid", "energy"])
def test_distances_do_not_depend_on_how_values_are_stored(measure, format):
    distance = getattr(pt.distances, measure)
    expected = distance(sp.csr_array(IRIS), KINDS).matrix
    np.testing.assert_allclose(
        distance(_written(IRIS, format), KINDS).matrix, expected, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("format", FORMATS)
def test_designs_do_not_depend_on_how_values_are_stored(format):
    expected = pt.designs.empirical_tree(sp.csr_array(IRIS), KINDS)
    assert pt.designs.empirical_tree(_written(IRIS, format), KINDS) == expected
