import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC, NuSVC

from polytomy import PolytomyClassifier
from polytomy.errors import RoutineWarning
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine
from polytomy.learners.svm.matrix import WholeMatrix, train_machines
from polytomy.learners.svm.suitability import (
    UnsuitableError,
    as_numbers,
    check_compiled,
    check_range,
    check_suitable,
)
from polytomy.routines import dispatch
from polytomy.routines.compiled import smo as compiled
from polytomy.routines.reference import smo as reference
from polytomy.routines.threads import RoutineFailure
from shared_kernel_cases import clouds, rest, train_shared


class OwnSVC(SVC):
    pass


UNSUITABLE = [
    (LogisticRegression(), "LogisticRegression is not an SVC"),
    (LinearSVC(), "LinearSVC is not an SVC"),
    (OwnSVC(), "OwnSVC is not an SVC"),
    (NuSVC(), "NuSVC is not an SVC"),
    (SVC(kernel="precomputed"), "its kernel is 'precomputed'"),
    (SVC(kernel=np.dot), "its kernel is <"),
    (SVC(verbose=True), "verbose=True asks for LIBSVM's own report"),
    (SVC(C=-1), "its parameters are invalid"),
    (SVC(class_weight="heavy"), "its parameters are invalid"),
    (SVC(kernel="poly", degree=1001), "its degree is above 1000"),
    (SVC(class_weight={1: 0.0}), "class_weight gives a side no weight"),
]


@pytest.mark.parametrize("svc", [SVC(), SVC(kernel="poly"), SVC(class_weight={-1: 2.0})])
def test_plain_svcs_are_suitable(svc):
    check_suitable(svc)


@pytest.mark.parametrize(("estimator", "reason"), UNSUITABLE)
def test_other_estimators_are_not_suitable(estimator, reason):
    with pytest.raises(UnsuitableError) as error:
        check_suitable(estimator)
    assert str(error.value).startswith(reason)


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        *UNSUITABLE,
        (SVC(kernel="poly", degree=100, gamma=1e3), "its kernel values are too large"),
    ],
)
def test_an_unsuitable_estimator_is_left_to_others_with_the_reason(estimator, reason):
    X, codes = clouds()
    problems = [rest(codes, 1), rest(codes, 2)]
    training = train_shared([estimator, SVC()], X, problems)
    assert training.binaries[0] is None
    assert isinstance(training.binaries[1].estimator, KernelMachine)
    assert training.notes[0] == "1 binary is trained on one matrix of 90 rows, 32.4 kB."
    # Other estimators are not expected to be trained here, so there is nothing to tell.
    assert len(training.notes) == 1 + (type(estimator) is SVC)
    assert all(
        note.startswith(f"1 binary is trained alone: {reason}") for note in training.notes[1:]
    )


@pytest.mark.parametrize("X", [[["a"], ["b"]], [[np.nan], [0.0]], [[np.inf], [0.0]]])
def test_data_must_be_finite_numbers(X):
    with pytest.raises(UnsuitableError, match="SVC does not accept X as numbers"):
        as_numbers(np.array(X, dtype=object))


def test_data_become_a_c_ordered_array_or_a_canonical_csr_matrix():
    numbers = as_numbers(np.asfortranarray([[1, 2], [3, 4]], dtype=np.float32))
    assert numbers.dtype == np.float64
    assert numbers.flags.c_contiguous
    columns, starts = np.array([1, 1], dtype=np.int32), np.array([0, 2], dtype=np.int32)
    split = scipy.sparse.csr_array((np.array([1.0, 2.0]), columns, starts), shape=(1, 2))
    joined = as_numbers(split)
    assert split.data.tolist() == [1.0, 2.0]
    assert joined.format == "csr"
    assert joined.has_canonical_format
    assert joined.toarray().tolist() == [[0.0, 3.0]]


def test_reference_routines_are_too_slow(monkeypatch):
    check_compiled()
    monkeypatch.setenv("POLYTOMY_ROUTINES", "reference")
    with pytest.raises(UnsuitableError, match="the compiled routines are not used"):
        check_compiled()


def test_without_numba_the_reference_routines_are_not_used_after_one_warning(monkeypatch):
    monkeypatch.delenv("POLYTOMY_ROUTINES", raising=False)
    monkeypatch.setattr(dispatch, "_compiled_side", dispatch._CompiledSide())
    monkeypatch.setattr(dispatch, "_is_numba_installed", lambda: False)
    with (
        pytest.warns(RoutineWarning, match="Numba is not installed"),
        pytest.raises(UnsuitableError),
    ):
        check_compiled()
    with pytest.raises(UnsuitableError):
        check_compiled()


def test_where_numba_fails_the_reference_does_not_train(monkeypatch):
    """It would take minutes for a hard problem that LIBSVM solves in seconds."""

    def fail(*arguments):
        raise RoutineFailure from OSError("disk full")

    kernel = KernelFunction("linear")
    matrix, columns = WholeMatrix(np.eye(2), kernel), np.arange(2)
    problem = [SVC()], columns, np.array([2]), np.array([1.0, -1.0]), np.ones((1, 2))
    monkeypatch.delenv("POLYTOMY_ROUTINES", raising=False)
    monkeypatch.setattr(dispatch, "_compiled_side", dispatch._CompiledSide())
    monkeypatch.setattr(compiled, "train_machines", fail)
    monkeypatch.setattr(reference, "train_machines", lambda *arguments: pytest.fail("trained"))
    with pytest.warns(RoutineWarning, match="disk full"), pytest.raises(UnsuitableError):
        train_machines(matrix, *problem, np.array([[-1, -1]]))
    with pytest.raises(UnsuitableError):
        train_machines(matrix, *problem, np.array([[-1, -1]]))


@pytest.mark.parametrize(
    ("kernel", "largest_square"),
    [
        (KernelFunction("linear"), 1e39),
        (KernelFunction("linear"), np.inf),
        (KernelFunction("rbf", gamma=1e39), 1.0),
        (KernelFunction("rbf", gamma=1.0), 1e38),  # squared distances are up to four times that
        (KernelFunction("poly", gamma=10.0, degree=20), 100.0),
        (KernelFunction("poly", gamma=1e10, degree=1000), 1e10),
    ],
)
def test_values_beyond_single_precision_are_refused(kernel, largest_square):
    with pytest.raises(UnsuitableError, match="too large for single precision"):
        check_range(kernel, largest_square)
    check_range(KernelFunction("rbf", gamma=1e-30), 1e37)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e9, 1e15])
def test_machines_of_large_features_are_those_of_libsvm(scale):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)) * scale, np.arange(30) % 3
    alone = SVC(C=10, gamma=0.3, decision_function_shape="ovo").fit(X, y)
    classifier = PolytomyClassifier(SVC(C=10, gamma=0.3), final_calibration=None).fit(X, y)
    for machine, values in zip(classifier.estimators_, alone.decision_function(X).T, strict=True):
        np.testing.assert_allclose(-machine.decision_function(X), values, atol=1e-3)


def test_a_gamma_too_large_for_single_precision_is_left_to_others():
    X, codes = clouds(30, 2)
    training = train_shared([SVC()], 1e-160 * X, [rest(codes, 1)])
    assert training.binaries == [None]
    assert "its kernel values are too large for single precision" in training.notes[-1]


def test_values_that_are_equal_but_of_another_type_are_checked_again():
    check_suitable(SVC(degree=1))
    with pytest.raises(UnsuitableError, match="parameters are invalid"):
        check_suitable(SVC(degree=1.0))
