import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.svm import SVC

from polytomy.binary import train_binary
from polytomy.binary.answers import Output
from polytomy.binary.problems import BinaryProblem, balance_sides
from polytomy.calibration.calibrators import (
    IsotonicCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
)
from polytomy.svm import train_on_shared_kernel
from shared_kernel_cases import all_problems, clouds, pair, rest, share


class TestAgainstTrainBinary:
    """All that goes with a machine is what `train_binary` gives."""

    @pytest.mark.parametrize(
        "svc",
        [
            SVC(),
            SVC(C=5, gamma=0.1),
            SVC(kernel="linear", class_weight="balanced"),
            SVC(kernel="poly", coef0=1.0, shrinking=False),
            SVC(kernel="sigmoid", gamma=0.05),
        ],
    )
    @pytest.mark.parametrize("is_weighted", [False, True])
    def test_answers(self, svc, is_weighted):
        X, codes = clouds(240, spread=2.0)
        weight = np.random.default_rng(0).choice([0, 1, 2.5], 240) if is_weighted else None
        problems = all_problems(codes)
        binaries = share(svc, X, problems, seeds=[3, 4, 5, 6], sample_weight=weight)
        for seed, problem, binary in zip([3, 4, 5, 6], problems, binaries, strict=True):
            other = train_binary(svc, X, problem, random_state=seed, sample_weight=weight)
            assert (binary.name, binary.output) == (other.name, other.output)
            assert type(binary.calibrator) is type(other.calibrator) is SigmoidCalibrator
            # The sigmoid is no positive definite kernel: there are several solutions.
            bound = 0.1 if svc.kernel == "sigmoid" else 0.01
            np.testing.assert_allclose(binary.scores(X), other.scores(X), rtol=0, atol=bound)
            np.testing.assert_allclose(binary.decisions(X), other.decisions(X), rtol=0, atol=bound)

    @pytest.mark.parametrize(
        ("calibration", "kind"),
        [
            ("sigmoid", SigmoidCalibrator),
            ("isotonic", IsotonicCalibrator),
            (TemperatureCalibrator(), TemperatureCalibrator),
            (None, UncalibratedMap),
        ],
    )
    @pytest.mark.parametrize(
        "cv", [3, StratifiedKFold(4), ShuffleSplit(12, random_state=0), "rows"]
    )
    def test_calibrations_and_folds(self, calibration, kind, cv):
        X, codes = clouds(180, spread=2.0)
        if isinstance(cv, str):
            cv = [(np.arange(0, 120), np.arange(120, 180)), (np.arange(60, 180), np.arange(60))]
        problem = pair(codes, 0, 1)
        options = {"calibration": calibration, "cv": cv}
        (binary,) = share(SVC(), X, [problem], seeds=[1], **options)
        other = train_binary(SVC(), X, problem, random_state=1, **options)
        assert type(binary.calibrator) is type(other.calibrator) is kind
        np.testing.assert_allclose(binary.decisions(X), other.decisions(X), rtol=0, atol=0.02)

    def test_weights_that_balance_the_sides(self):
        X, codes = clouds(200, 5, spread=2.0)
        problem = rest(codes, 3)
        weight = np.random.default_rng(0).uniform(0.5, 2, 200)
        (binary,) = share(SVC(), X, [problem], seeds=[0], sample_weight=weight, balance=True)
        balanced = balance_sides(problem, weight, 200)
        other = train_binary(SVC(), X, problem, random_state=0, sample_weight=balanced)
        np.testing.assert_allclose(binary.decisions(X), other.decisions(X), rtol=0, atol=0.01)

    @pytest.mark.parametrize(
        ("n_negative", "n_positive", "answer"), [(0, 5, 1.0), (5, 0, -1.0), (0, 0, 0.0)]
    )
    def test_empty_sides_have_constant_answers(self, n_negative, n_positive, answer):
        X = np.zeros((10, 2))
        is_positive = np.arange(n_negative + n_positive) >= n_negative
        problem = BinaryProblem("p", np.arange(n_negative + n_positive), is_positive)
        (binary,) = share(SVC(), X, [problem])
        assert binary.output is Output.CONSTANT
        np.testing.assert_array_equal(binary.decisions(X), answer)

    def test_a_side_without_weight_is_empty(self):
        X, codes = clouds(40, 2)
        (binary,) = share(SVC(), X, [rest(codes, 1)], sample_weight=(codes == 1).astype(float))
        assert binary.output is Output.CONSTANT
        assert binary.constant == 1.0

    @pytest.mark.parametrize("n_positive", [1, 2, 3])
    def test_small_sides(self, n_positive):
        X, _ = clouds(30, 2)
        problem = BinaryProblem("p", np.arange(30), np.arange(30) < n_positive)
        (binary,) = share(SVC(), X, [problem], seeds=[0])
        other = train_binary(SVC(), X, problem, random_state=0, warn=False)
        assert binary.shortcoming == other.shortcoming
        assert bool(binary.shortcoming) is (n_positive == 1)
        assert type(binary.calibrator) is type(other.calibrator)
        np.testing.assert_allclose(binary.decisions(X), other.decisions(X), rtol=0, atol=0.01)

    def test_folds_that_hold_out_one_side_only(self):
        X, codes = clouds(30, 2)
        cv = [(np.flatnonzero(codes == 1), np.flatnonzero(codes == 0))]
        problem = rest(codes, 1)
        (binary,) = share(SVC(), X, [problem], cv=cv)
        other = train_binary(SVC(), X, problem, cv=cv, warn=False)
        assert binary.shortcoming == other.shortcoming
        assert "cv holds out no samples" in binary.shortcoming

    def test_calibrators_of_the_users_own_have_the_seed(self):
        X, codes = clouds(120, 2, spread=2.0)
        calibrator = RandomForestClassifier(5)
        problem = rest(codes, 1)
        (binary,) = share(SVC(), X, [problem], seeds=[3], calibration=calibrator)
        other = train_binary(SVC(), X, problem, random_state=3, calibration=calibrator)
        assert binary.calibrator.calibrator.random_state == other.calibrator.calibrator.random_state

    def test_more_folds_than_expected_go_the_other_way(self):
        X, codes = clouds(30, 2)
        training = train_on_shared_kernel([SVC()], X, [rest(codes, 1)], cv=LeaveOneOut())
        assert training.binaries == [None]
        assert training.notes[1] == (
            "1 of the binaries are trained one by one: cv makes 30 folds, more than were expected."
        )
