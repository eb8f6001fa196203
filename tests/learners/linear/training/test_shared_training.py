"""Linear models of many problems, against scikit-learn's own fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import polytomy as pt
from polytomy.calibration.folds import Folds
from polytomy.inputs.rows import group_rows
from polytomy.learners.any_estimator import train_estimator
from polytomy.learners.linear import training as linear_training
from polytomy.learners.problems import ProblemList
from polytomy.learners.trained import Output
from polytomy.learners.workload import FitArguments, TrainingListener, TrainingOptions
from shared_kernel_cases import Training, folds_of, run_learner

N_CLASSES = 6
TIGHT: dict[str, Any] = {"tol": 1e-10, "max_iter": 100_000}
ESTIMATORS = [
    LogisticRegression(**TIGHT),
    LogisticRegression(C=0.1, fit_intercept=False, **TIGHT),
    LogisticRegression(solver="newton-cholesky", class_weight="balanced", **TIGHT),
    LogisticRegression(solver="liblinear", intercept_scaling=2.0, **TIGHT),
    LinearSVC(**TIGHT),
    LinearSVC(C=0.1, intercept_scaling=3.0, dual=False, **TIGHT),
    LinearSVC(fit_intercept=False, class_weight="balanced", **TIGHT),
    LinearSVC(class_weight={0: 1.0, 1: 3.0}, **TIGHT),
]
NO_FOLDS = TrainingOptions(calibration=None)


def train_linear_models(
    estimators: Any, X: Any, problems: ProblemList, options: Any, folds: Any = None, **given: Any
) -> Training:
    learner = linear_training.train_linear_models
    return run_learner(learner, estimators, X, problems, options, folds, **given)


def make_samples(seed: int, n_samples: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    class_indices = np.concatenate(
        [np.arange(N_CLASSES), rng.integers(0, N_CLASSES, n_samples - N_CLASSES)]
    )
    means = rng.normal(size=(N_CLASSES, 4))
    return means[class_indices] + rng.normal(size=(n_samples, 4)), class_indices


def one_vs_rest(class_indices: np.ndarray) -> ProblemList:
    rows = group_rows(class_indices, N_CLASSES)
    every = range(N_CLASSES)
    rest = [[other for other in every if other != k] for k in every]
    return ProblemList(rows, [f"m-{k}" for k in every], rest, [[k] for k in every])


def some_pairs(class_indices: np.ndarray) -> ProblemList:
    rows = group_rows(class_indices, N_CLASSES)
    return ProblemList(rows, ["a", "b", "c"], [[0], [1, 2], [3]], [[1], [3], [4, 5]])


def objective_of(
    model: Any, X: np.ndarray, is_positive: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Return what the model minimises, from the formula in scikit-learn's user guide."""
    weight = np.ones(len(X)) if weight is None else weight
    if model.class_weight == "balanced":
        above = weight[is_positive].sum() / weight.sum()
        weight = weight * np.where(is_positive, 0.5 / above, 0.5 / (1 - above))
    elif model.class_weight is not None:
        weight = weight * np.where(is_positive, model.class_weight[1], model.class_weight[0])
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    margins = np.where(is_positive, 1, -1) * (X @ w + b)
    if isinstance(model, LogisticRegression):
        losses = np.logaddexp(0, -margins)
        has_penalty = model.solver == "liblinear"
    else:
        losses, has_penalty = np.maximum(0, 1 - margins) ** 2, True
    penalty = w @ w
    if has_penalty and model.fit_intercept:
        penalty += (b / model.intercept_scaling) ** 2
    return float(0.5 * penalty + model.C * weight @ losses)


@pytest.mark.parametrize("make_problems", [one_vs_rest, some_pairs])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_coefficients_are_those_of_scikit_learn(
    estimator: Any, is_sparse: bool, make_problems: Any
) -> None:
    X, class_indices = make_samples(0)
    given = csr_array(X) if is_sparse else X
    problems = make_problems(class_indices)
    training = train_linear_models([estimator] * len(problems), given, problems, NO_FOLDS)
    for k, binary in enumerate(training.binaries):
        problem = problems[k]
        expected = type(estimator)(**estimator.get_params())
        expected.fit(X[problem.rows], problem.is_positive.astype(int))
        found = binary.estimator
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-4)
        np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-4)
        assert found.coef_.shape == expected.coef_.shape
        assert np.shape(found.intercept_) == np.shape(expected.intercept_)
        assert np.shape(found.n_iter_) == np.shape(expected.n_iter_)
        assert found.n_features_in_ == expected.n_features_in_
        np.testing.assert_array_equal(found.classes_, expected.classes_)
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from([LogisticRegression, LinearSVC]),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    has_weights=st.booleans(),
)
def test_objectives_are_not_above_those_of_scikit_learn(
    seed: int, kind: Any, C: float, has_weights: bool
) -> None:
    X, class_indices = make_samples(seed)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], len(X)) if has_weights else None
    options = TrainingOptions(calibration=None, arguments=FitArguments(weight))
    problems, estimator = one_vs_rest(class_indices), kind(C=C, max_iter=10_000)
    training = train_linear_models([estimator] * N_CLASSES, X, problems, options)
    for k, binary in enumerate(training.binaries):
        is_positive = problems[k].is_positive
        expected = kind(C=C, max_iter=10_000).fit(X, is_positive.astype(int), weight)
        own, theirs = (
            objective_of(model, X, is_positive, weight) for model in (binary.estimator, expected)
        )
        assert own <= theirs * (1 + 1e-7)


@pytest.mark.parametrize("calibration", ["auto", "sigmoid", "isotonic", None])
@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC()], ids=repr)
def test_binaries_and_held_out_scores_are_nearly_those_of_single_fits(
    estimator: Any, calibration: str | None
) -> None:
    X, class_indices = make_samples(1, n_samples=200)
    fold_of = np.random.default_rng(0).integers(0, 3, len(X))
    options, folds = TrainingOptions(calibration=calibration), Folds.from_numbers(fold_of)
    for problems in (one_vs_rest(class_indices), some_pairs(class_indices)):
        training = train_linear_models([estimator] * len(problems), X, problems, options, folds)
        for k, binary in enumerate(training.binaries):
            expected, held_out = train_estimator(estimator, X, problems[k], options, folds=folds)
            assert binary.output is expected.output
            assert type(binary.calibrator) is type(expected.calibrator)
            assert np.abs(binary.decisions(X) - expected.decisions(X)).mean() < 0.02
            assert held_out is not None
            found = training.scores[k]
            assert found is not None
            assert found.dtype == np.float32
            assert np.abs(found - held_out).mean() < 0.05 * held_out.std()


def test_folds_without_scores_calibrate_too() -> None:
    X, class_indices = make_samples(2, n_samples=200)
    problems, folds = one_vs_rest(class_indices), folds_of(X)
    training = train_linear_models(
        [LinearSVC()] * N_CLASSES, X, problems, TrainingOptions(), folds, seeds=range(N_CLASSES)
    )
    for k, binary in enumerate(training.binaries):
        expected, scores = train_estimator(
            LinearSVC(), X, problems[k], TrainingOptions(), folds=folds, seed=k
        )
        assert len(scores) == len(training.scores[k]) == 0
        assert np.abs(binary.decisions(X) - expected.decisions(X)).mean() < 0.02
        assert binary.estimator.random_state == expected.estimator.random_state


def test_samples_without_weight_do_not_count() -> None:
    X, class_indices = make_samples(3)
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    options = TrainingOptions(calibration=None, arguments=FitArguments(weight))
    some = train_linear_models(
        [LinearSVC(**TIGHT)] * N_CLASSES, X, one_vs_rest(class_indices), options
    )
    kept = weight > 0
    all_of_them = train_linear_models(
        [LinearSVC(**TIGHT)] * N_CLASSES, X[kept], one_vs_rest(class_indices[kept]), NO_FOLDS
    )
    for one, other in zip(some.binaries, all_of_them.binaries, strict=True):
        np.testing.assert_allclose(one.estimator.coef_, other.estimator.coef_, atol=1e-8)


def test_a_class_without_samples_gives_a_constant() -> None:
    X, class_indices = make_samples(4)
    kept = class_indices != 2
    problems = one_vs_rest(class_indices[kept])
    training = train_linear_models([LinearSVC()] * N_CLASSES, X[kept], problems, NO_FOLDS)
    assert training.binaries[2].output is Output.CONSTANT
    assert training.binaries[2].constant == -1.0


def test_a_frame_gives_models_the_names_of_its_columns() -> None:
    pd = pytest.importorskip("pandas")
    X, class_indices = make_samples(5)
    frame = pd.DataFrame(X, columns=list("abcd"))
    problems = one_vs_rest(class_indices)
    training = train_linear_models([LogisticRegression()] * N_CLASSES, frame, problems, NO_FOLDS)
    assert training.binaries[0].estimator.feature_names_in_.tolist() == list("abcd")


def test_data_that_the_estimator_refuses_is_left_to_its_own_fit() -> None:
    X, class_indices = make_samples(6)
    X[3, 2] = np.nan
    problems = one_vs_rest(class_indices)
    training = train_linear_models([LinearSVC()] * N_CLASSES, X, problems, NO_FOLDS)
    assert training.binaries == [None] * N_CLASSES


def test_estimators_that_are_not_linear_are_left_out() -> None:
    X, class_indices = make_samples(7)
    estimators = [LinearSVC(), LinearSVC(loss="hinge"), LinearSVC()]
    training = train_linear_models(estimators, X, some_pairs(class_indices), NO_FOLDS)
    assert [binary is None for binary in training.binaries] == [False, True, False]
    assert training.notes == ["2 binaries are trained together by the linear solver."]


@pytest.mark.parametrize("dual", ["auto", True, False])
@pytest.mark.parametrize("n_features", [40, 200])
@pytest.mark.parametrize("as_samples", [np.asarray, csr_array])
def test_svms_of_wide_rows_are_left_to_liblinear(as_samples, n_features, dual) -> None:
    X, class_indices = make_samples(11, n_samples=120)
    X = as_samples(np.hstack([X, np.zeros((len(X), n_features - X.shape[1]))]))
    problems = some_pairs(class_indices)
    training = train_linear_models([LinearSVC(dual=dual)] * 3, X, problems, NO_FOLDS)
    n_samples = problems.sizes.tolist() if as_samples is csr_array else [120] * 3
    is_left = [dual is not False and n < n_features for n in n_samples]
    assert [binary is None for binary in training.binaries] == is_left
    logistic = [LogisticRegression()] * 3
    assert None not in train_linear_models(logistic, X, problems, NO_FOLDS).binaries


def test_too_few_steps_give_a_warning_that_names_a_partition() -> None:
    X, class_indices = make_samples(8)
    problems = some_pairs(class_indices)
    with pytest.warns(ConvergenceWarning, match='partition "[abc]" and 2 more stopped early'):
        train_linear_models([LinearSVC(max_iter=1)] * 3, 100 * X, problems, NO_FOLDS)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    X, class_indices = make_samples(9, n_samples=400)
    fold_of = np.random.default_rng(0).integers(0, 3, len(X))
    found = []
    for n_jobs in (1, 2):
        training = train_linear_models(
            [LinearSVC()] * N_CLASSES,
            X,
            one_vs_rest(class_indices),
            TrainingOptions(n_jobs=n_jobs),
            Folds.from_numbers(fold_of),
        )
        found.append(np.array([binary.decisions(X) for binary in training.binaries]))
    np.testing.assert_array_equal(*found)


def test_a_listener_hears_of_every_binary() -> None:
    heard = []

    class Listener(TrainingListener):
        def trained(self, partition: str) -> None:
            heard.append(partition)

    X, class_indices = make_samples(10)
    problems = some_pairs(class_indices)
    train_linear_models([LinearSVC()] * 3, X, problems, NO_FOLDS, listener=Listener())
    assert sorted(heard) == ["a", "b", "c"]


def test_models_of_wide_rows_are_trained_once_without_the_held_out_part():
    rng = np.random.default_rng(6)
    y = np.repeat(np.arange(4), 60)
    X = rng.normal(size=(4, 50))[y] + 2.0 * rng.normal(size=(240, 50))
    estimator = LogisticRegression(tol=1e-10, max_iter=1000)
    classifier = pt.PolytomyClassifier(estimator, "one-vs-rest", cv=0.2, random_state=0).fit(X, y)
    is_kept = np.ones(240, dtype=bool)
    is_kept[classifier.composition_.out_of_fold.rows] = False
    assert 0 < np.count_nonzero(~is_kept) < 80
    for k, binary in enumerate(classifier.estimators_):
        expected = clone(estimator).fit(X[is_kept], np.where(y[is_kept] == k, 1, -1))
        sign = np.sign(binary.coef_[0] @ expected.coef_[0])
        np.testing.assert_allclose(sign * binary.coef_, expected.coef_, rtol=0, atol=1e-5)
        np.testing.assert_allclose(sign * binary.intercept_, expected.intercept_, atol=1e-5)
