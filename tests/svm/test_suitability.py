import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC, NuSVC

from polytomy.svm import train_on_shared_kernel
from polytomy.svm.machines import KernelMachine
from shared_kernel_cases import clouds, rest


class TestWhatIsLeft:
    class OwnSVC(SVC):
        pass

    @pytest.mark.parametrize(
        ("estimator", "reason"),
        [
            (LogisticRegression(), "LogisticRegression is not SVC"),
            (LinearSVC(), "LinearSVC is not SVC"),
            (OwnSVC(), "OwnSVC is not SVC"),
            (NuSVC(), "NuSVC is not SVC"),
            (SVC(kernel="precomputed"), "its kernel is 'precomputed'"),
            (SVC(kernel=np.dot), "its kernel is <"),
            (SVC(verbose=True), "its verbose=True is LIBSVM's own report"),
            (SVC(C=-1), "its parameters are wrong"),
            (SVC(class_weight={3: 1.0}), "its parameters are wrong"),
            (SVC(class_weight={1: 0.0}), "its class_weight leaves a side without weight"),
            (SVC(kernel="poly", degree=100, gamma=1e3), "its kernel values are too large"),
        ],
    )
    def test_reasons(self, estimator, reason):
        X, codes = clouds()
        problems = [rest(codes, 1), rest(codes, 2)]
        training = train_on_shared_kernel([estimator, SVC()], X, problems)
        assert training.binaries[0] is None
        assert isinstance(training.binaries[1].estimator, KernelMachine)
        assert (
            training.notes[0] == "1 of the binaries are trained on one matrix of 90 rows, 64.8 kB."
        )
        assert training.notes[1].startswith(f"1 of the binaries are trained one by one: {reason}")

    def test_data_that_are_no_numbers(self):
        _, codes = clouds(4, 2)
        X = np.array([["a"], ["b"], ["c"], ["d"]], dtype=object)
        training = train_on_shared_kernel([SVC()], X, [rest(codes, 1)])
        assert training.binaries == [None]
        assert training.notes == [
            "1 of the binaries are trained one by one: the data are not finite numbers."
        ]

    def test_readable_kernels_would_take_too_long(self, monkeypatch):
        monkeypatch.setenv("POLYTOMY_ROUTINES", "reference")
        X, codes = clouds()
        training = train_on_shared_kernel([SVC()], X, [rest(codes, 1)])
        assert training.binaries == [None]
        assert "the compiled kernels are not used" in training.notes[0]

    def test_a_gamma_too_large_for_single_precision(self):
        X, codes = clouds(30, 2)
        training = train_on_shared_kernel([SVC()], 1e-160 * X, [rest(codes, 1)])
        assert training.binaries == [None]
        assert "its kernel values are too large for single precision" in training.notes[-1]
