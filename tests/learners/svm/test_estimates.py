"""Estimates of training times."""

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from polytomy import PolytomyClassifier
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.svm import estimates
from polytomy.learners.svm.estimates import TrainingEstimate
from polytomy.learners.workload import TrainingOptions
from shared_kernel_cases import Problems, run_learner

OPTIONS = TrainingOptions(calibration=None, memory_budget=1e9)


def estimate_training(estimators, X, problems, options):
    found = []

    def learner(work):
        found.append(estimates.estimate_training(work))
        return []

    run_learner(learner, estimators, X, Problems(problems), options, None)
    return found[0]


@pytest.fixture
def problem(monkeypatch):
    monkeypatch.setattr(estimates, "_WORTH_ESTIMATING", 1000)
    generator = np.random.default_rng(0)
    sides = np.arange(600) % 2 == 1
    X = generator.normal(size=(600, 3)) + sides[:, np.newaxis]
    return X, BinaryProblem("low-high", np.arange(600), sides)


def test_the_time_of_all_problems_is_measured_and_added_up(problem, monkeypatch):
    X, whole = problem
    # A clock by which training on n rows takes n² / 10⁴ seconds.
    monkeypatch.setattr(
        estimates, "time_training", lambda work, budget, svc, part: part.n_samples**2 / 1e4
    )
    half = whole.keep(np.arange(600) < 300)
    found = estimate_training([SVC()] * 3, X, [whole, half, half], OPTIONS)
    assert (found.n_machines, found.most_rows) == (3, 600)
    assert found.seconds == pytest.approx((600**2 + 2 * 300**2) / 1e4)
    assert found.is_in_budget


def test_a_matrix_beyond_the_budget_is_reported_with_alternatives(problem):
    X, whole = problem
    found = estimate_training([SVC()], X, [whole], replace(OPTIONS, memory_budget=1e6))
    assert not found.is_in_budget
    assert found.n_bytes <= 1e6
    text = str(found)
    assert "1 SVM of 600 rows: about 1 second" in text
    assert (
        "The kernel matrix is larger than memory_budget. Alternatives: a linear estimator" in text
    )
    assert "--stream" in text


def test_long_training_suggests_alternatives_as_well():
    assert "Alternatives" in str(TrainingEstimate(45, 60_000, 2100.0, 4e9, True))
    assert str(TrainingEstimate(45, 60_000, 2100.0, 4e9, True)).startswith(
        "45 SVMs of up to 60,000 rows: about 35 minutes, 4 GB."
    )
    assert "Alternatives" not in str(TrainingEstimate(45, 6000, 20.0, 4e8, True))


def test_there_is_no_estimate_for_small_work_or_other_learners(problem):
    X, whole = problem
    assert estimate_training([LogisticRegression()], X, [whole], OPTIONS) is None
    estimates._WORTH_ESTIMATING = 10**9
    assert estimate_training([SVC()], X, [whole], OPTIONS) is None


def test_verbose_prints_the_estimate_before_training(problem, monkeypatch):
    X, whole = problem
    printed = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=printed, width=200))
    y = whole.is_positive + 2 * (np.arange(600) % 3 == 0)
    PolytomyClassifier(SVC(), random_state=0, verbose=1).fit(X, y)
    lines = printed.getvalue().splitlines()
    first = next(k for k, line in enumerate(lines) if "SVMs of up to" in line)
    later = next(k for k, line in enumerate(lines) if "matrix of" in line)
    assert first < later
    printed.truncate(0)
    PolytomyClassifier(SVC(), random_state=0).fit(X, y)
    assert printed.getvalue() == ""
