"""Training one binary: its answers, its calibration, rare classes, folds, weights, data."""

import os
import pickle
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

import polytomy as pt
from cluster_cases import ProcessNB
from polytomy.calibration.calibrators import (
    IsotonicCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
)
from polytomy.calibration.folds import make_folds
from polytomy.errors import ArgumentError
from polytomy.inputs.rows import count_rows
from polytomy.learners.any_estimator import train_estimator
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.trained import Output
from polytomy.learners.workload import FitArguments, TrainingOptions


def folds_of(X, problem, cv, seed, sample_weight=None):
    """Folds of the two sides; rows outside the problem are a class of their own."""
    sides = np.full(count_rows(X), 2)
    sides[problem.rows] = problem.is_positive
    if sample_weight is not None:
        sides[np.asarray(sample_weight) == 0] = 2
    return make_folds(X, sides, cv, seed).without_scores()


def train(
    estimator,
    X,
    problem,
    *,
    cv=5,
    random_state=None,
    sample_weight=None,
    fit_params=None,
    **options,
):
    arguments = FitArguments(sample_weight, fit_params or {})
    return train_estimator(
        estimator,
        X,
        problem,
        TrainingOptions(arguments=arguments, **options),
        folds=folds_of(X, problem, cv, random_state, sample_weight),
        seed=random_state,
    ).binary


def two_clouds(n_negative=20, n_positive=15, n_others=5, seed=0):
    """Data, and a problem that has only some of its rows."""
    rng = np.random.default_rng(seed)
    side = rng.permutation(np.repeat([-1, 0, 1], [n_negative, n_others, n_positive]))
    X = rng.normal(size=(len(side), 3)) + side[:, np.newaxis]
    rows = np.flatnonzero(side)
    return X, BinaryProblem("p", rows, side[rows] > 0)


class HardAnswers(ClassifierMixin, BaseEstimator):
    """Nearest centre, without probabilities or decision values."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.centres_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        distances = np.linalg.norm(X[:, np.newaxis] - self.centres_, axis=2)
        return self.classes_[distances.argmin(axis=1)]


class TestOutput:
    def test_predict_proba_is_used_unchanged(self):
        X, problem = two_clouds()
        plain = LogisticRegression().fit(X[problem.rows], problem.targets)
        for calibration in "auto", None:
            binary = train(LogisticRegression(), X, problem, calibration=calibration)
            assert binary.output is Output.PROBABILITY
            assert binary.estimator.classes_.tolist() == [0, 1]
            np.testing.assert_allclose(
                binary.decisions(X), 2 * plain.predict_proba(X)[:, 1] - 1, atol=1e-12
            )

    def test_margins_are_calibrated_on_held_out_folds_and_the_model_is_fitted_to_all(self):
        X, problem = two_clouds()
        part, y = X[problem.rows], problem.targets
        binary = train(SVC(), X, problem, random_state=3)
        held_out = np.empty(len(y))
        fold_of = folds_of(X, problem, 5, 3).fold_of[problem.rows]
        for fold in range(5):
            kept, test = fold_of != fold, fold_of == fold
            held_out[test] = SVC().fit(part[kept], y[kept]).decision_function(part[test])
        sigmoid = SigmoidCalibrator().fit(held_out, y > 0)
        final = SVC().fit(part, y).decision_function(X)
        np.testing.assert_allclose(binary.decisions(X), 2 * sigmoid.predict(final) - 1)

    @pytest.mark.parametrize(
        ("calibration", "kind"),
        [
            ("sigmoid", SigmoidCalibrator),
            ("isotonic", IsotonicCalibrator),
            ("temperature", TemperatureCalibrator),
            (TemperatureCalibrator(), TemperatureCalibrator),
        ],
    )
    @pytest.mark.parametrize(
        ("estimator", "output"),
        [
            (LinearSVC(), Output.MARGIN),
            (LogisticRegression(), Output.MARGIN),
            (DecisionTreeClassifier(), Output.LOG_ODDS),
            (HardAnswers(), Output.LABEL),
        ],
    )
    def test_a_named_calibration_is_used(self, estimator, output, calibration, kind):
        X, problem = two_clouds()
        binary = train(estimator, X, problem, calibration=calibration, random_state=0)
        assert binary.output is output
        assert type(binary.calibrator) is kind
        decisions = binary.decisions(X)
        assert np.all(np.abs(decisions) < 1)
        assert np.mean((decisions[problem.rows] > 0) == problem.is_positive) > 0.8

    def test_uncalibrated_margins_are_log_odds(self):
        X, problem = two_clouds()
        binary = train(SVC(), X, problem, calibration=None)
        plain = SVC().fit(X[problem.rows], problem.targets)
        np.testing.assert_allclose(
            binary.decisions(X), 2 * expit(plain.decision_function(X)) - 1, atol=1e-12
        )

    def test_hard_answers_are_not_calibrated_by_default(self):
        X, problem = two_clouds()
        binary = train(HardAnswers(), X, problem)
        assert set(binary.decisions(X)) == {-1.0, 1.0}

    def test_a_machine_with_probabilities_is_calibrated_like_one_without_and_does_not_warn(self):
        X, problem = two_clouds()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            binary = train(SVC(probability=True), X, problem, random_state=0)
        plain = train(SVC(), X, problem, random_state=0)
        np.testing.assert_array_equal(binary.decisions(X), plain.decisions(X))

    def test_the_estimator_itself_stays_unfitted(self):
        X, problem = two_clouds()
        estimator = SVC()
        train(estimator, X, problem)
        assert not hasattr(estimator, "classes_")

    def test_a_pickled_binary_gives_the_same_answers(self):
        X, problem = two_clouds()
        binary = train(SVC(), X, problem)
        again = pickle.loads(pickle.dumps(binary))
        np.testing.assert_array_equal(again.decisions(X), binary.decisions(X))


class TestRareClasses:
    @pytest.mark.parametrize(
        ("estimator", "calibration", "fallback"),
        [
            (SVC(), "auto", "the logistic function of its decision values is used instead"),
            (SVC(), "isotonic", "the logistic function of its decision values is used instead"),
            (LogisticRegression(), "sigmoid", "its own predict_proba is used instead"),
            (HardAnswers(), "sigmoid", "its predictions are used as if they were certain"),
        ],
    )
    def test_holding_out_one_side_alone_is_a_shortcoming(self, estimator, calibration, fallback):
        X, problem = two_clouds()
        few = problem.rows[problem.is_positive][:3]
        cv = [(np.setdiff1d(np.arange(len(X)), few), few)]
        binary = train(estimator, X, problem, calibration=calibration, random_state=0, cv=cv)
        assert binary.shortcoming == (
            'Partition "p" cannot be calibrated: cv holds out no samples, or only samples of one '
            f"side; {fallback}."
        )
        plain = train(estimator, X, problem, calibration=None, random_state=0)
        np.testing.assert_array_equal(binary.decisions(X), plain.decisions(X))

    @pytest.mark.parametrize("sizes", [(1, 9), (9, 1)])
    def test_a_fold_without_one_of_the_sides_is_scored_by_the_model_of_all_samples(self, sizes):
        X, problem = two_clouds(*sizes)
        binary = train(SVC(), X, problem, random_state=0)
        part, y = X[problem.rows], problem.targets
        whole, values = SVC().fit(part, y).decision_function(X), np.empty(len(y))
        fold_of = folds_of(X, problem, 5, 0).fold_of[problem.rows]
        for fold in range(5):
            kept, test = fold_of != fold, fold_of == fold
            values[test] = whole[problem.rows[test]]
            if len(set(y[kept])) == 2:
                values[test] = SVC().fit(part[kept], y[kept]).decision_function(part[test])
        sigmoid = SigmoidCalibrator().fit(values, y > 0)
        np.testing.assert_allclose(binary.decisions(X), 2 * sigmoid.predict(whole) - 1)

    def test_a_single_sample_is_no_shortcoming_if_nothing_is_calibrated(self):
        X, problem = two_clouds(1, 5)
        assert train(LogisticRegression(), X, problem).shortcoming == ""
        assert train(SVC(), X, problem, calibration=None).shortcoming == ""

    def test_a_fold_that_the_estimator_refuses_is_a_shortcoming(self):
        class Pairs(HardAnswers):
            def fit(self, X, y):
                if min(np.sum(y == 0), np.sum(y == 1)) < 2:
                    raise ValueError("two samples a side are needed")
                return super().fit(X, y)

        X, problem = two_clouds(2, 8)
        binary = train(Pairs(), X, problem, calibration="sigmoid")
        assert binary.shortcoming == (
            'Partition "p" cannot be calibrated: a fold cannot be fitted (two samples a side are '
            "needed); its predictions are used as if they were certain."
        )
        assert binary.output is Output.LABEL

    @pytest.mark.parametrize(("sizes", "answer"), [((0, 4), 1.0), ((4, 0), -1.0), ((0, 0), 0.0)])
    def test_an_empty_side_has_a_constant_answer(self, sizes, answer):
        X, problem = two_clouds(*sizes)
        binary = train(SVC(), X, problem)
        assert binary.output is Output.CONSTANT
        np.testing.assert_array_equal(binary.decisions(X), answer)


class TestSplitters:
    @pytest.mark.parametrize(
        "cv",
        [
            StratifiedKFold(4),
            KFold(3, shuffle=True),
            RepeatedStratifiedKFold(n_splits=3, n_repeats=2),
            ShuffleSplit(3),
        ],
    )
    def test_any_splitter_gives_the_same_folds_for_the_same_seed(self, cv):
        X, problem = two_clouds()
        one, again = (
            train(SVC(), X, problem, cv=cv, random_state=0).decisions(X) for _ in range(2)
        )
        np.testing.assert_array_equal(one, again)

    def test_the_seed_of_a_splitter_counts_more(self):
        X, problem = two_clouds()
        one, other = (
            train(
                SVC(), X, problem, cv=KFold(3, shuffle=True, random_state=9), random_state=seed
            ).decisions(X)
            for seed in (0, 1)
        )
        np.testing.assert_array_equal(one, other)


class TestWeights:
    @pytest.mark.parametrize(
        "estimator", [SVC(), LogisticRegression(), make_pipeline(StandardScaler(), LinearSVC())]
    )
    def test_a_sample_of_weight_zero_is_ignored(self, estimator):
        X, problem = two_clouds()
        rng = np.random.default_rng(5)
        weight = rng.integers(0, 3, size=len(X)).astype(float)
        # The scaler of the pipeline has no weights, but does not see those samples either.
        left = problem.keep(weight[problem.rows] > 0)
        binary = train(estimator, X, problem, random_state=0, sample_weight=weight)
        reduced = train(estimator, X, left, random_state=0, sample_weight=weight)
        np.testing.assert_array_equal(binary.decisions(X), reduced.decisions(X))

    def test_weights_reach_the_model_the_folds_and_the_calibrator(self):
        X, problem = two_clouds()
        part, y = X[problem.rows], problem.targets
        weight = np.random.default_rng(5).uniform(0.5, 2, size=len(X))
        w = weight[problem.rows]
        binary = train(SVC(), X, problem, random_state=3, sample_weight=weight)
        held_out = np.empty(len(y))
        fold_of = folds_of(X, problem, 5, 3).fold_of[problem.rows]
        for fold in range(5):
            kept, test = fold_of != fold, fold_of == fold
            machine = SVC().fit(part[kept], y[kept], w[kept])
            held_out[test] = machine.decision_function(part[test])
        sigmoid = SigmoidCalibrator().fit(held_out, y > 0, w)
        final = SVC().fit(part, y, w).decision_function(X)
        np.testing.assert_allclose(binary.decisions(X), 2 * sigmoid.predict(final) - 1)

    def test_weights_that_empty_a_side_make_a_constant_answer(self):
        X, problem = two_clouds()
        weight = np.ones(len(X))
        weight[problem.rows[problem.is_positive]] = 0
        binary = train(SVC(), X, problem, sample_weight=weight)
        np.testing.assert_array_equal(binary.decisions(X), -1)

    def test_weights_for_an_estimator_without_them_are_refused(self):
        X, problem = two_clouds()
        with pytest.raises(
            ArgumentError, match="KNeighborsClassifier does not support sample_weight"
        ):
            train(KNeighborsClassifier(), X, problem, sample_weight=np.ones(len(X)))

    def test_negative_weights_are_refused(self):
        X, problem = two_clouds()
        weight = np.ones(len(X))
        weight[7] = -1
        with pytest.raises(ArgumentError, match=r"sample_weight\[7\] is -1; weights must be"):
            train(SVC(), X, problem, sample_weight=weight)


def test_arguments_with_a_value_a_row_are_cut_to_the_rows_of_the_problem():
    class Remembering(HardAnswers):
        def fit(self, X, y, tags=None, names=None, depth=None, weights=None):
            self.seen_ = (tags, names, depth, weights)
            return super().fit(X, y)

    X, problem = two_clouds()
    tags, names = np.arange(len(X)), [f"row {k}" for k in range(len(X))]
    given = {"tags": tags, "names": names, "depth": 3, "weights": (1, 2)}
    binary = train(Remembering(), X, problem, fit_params=given)
    seen_tags, seen_names, depth, weights = binary.estimator.seen_
    np.testing.assert_array_equal(seen_tags, problem.rows)
    assert seen_names == [names[k] for k in problem.rows]
    assert (depth, weights) == (3, (1, 2))


class TestKindsOfData:
    @pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil"])
    @pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
    def test_sparse_data_gives_the_answers_of_dense_data(self, make, kind):
        X, problem = two_clouds()
        sparse = make(X).asformat(kind)
        binary = train(LinearSVC(), sparse, problem, random_state=0)
        dense = train(LinearSVC(), X, problem, random_state=0)
        np.testing.assert_allclose(binary.decisions(sparse.tocsr()), dense.decisions(X), atol=1e-3)

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames_keep_their_columns(self, library):
        frames = pytest.importorskip(library)
        X, problem = two_clouds()
        frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
        scale_two = make_column_transformer((StandardScaler(), ["c", "a"]))
        binary = train(make_pipeline(scale_two, SVC()), frame, problem, random_state=0)
        array = make_pipeline(StandardScaler(), SVC())
        plain = train(array, X[:, [2, 0]], problem, random_state=0)
        np.testing.assert_allclose(binary.decisions(frame), plain.decisions(X[:, [2, 0]]))
        assert binary.estimator.feature_names_in_.tolist() == ["a", "b", "c"]

    def test_lists_give_the_answers_of_arrays(self):
        X, problem = two_clouds()
        binary = train(SVC(), X.tolist(), problem, random_state=0)
        plain = train(SVC(), X, problem, random_state=0)
        np.testing.assert_array_equal(binary.decisions(X), plain.decisions(X))

    def test_a_precomputed_kernel_gives_the_answers_of_the_kernel_function(self):
        X, problem = two_clouds()
        kernel = rbf_kernel(X, gamma=0.3)
        binary = train(SVC(kernel="precomputed"), kernel, problem, random_state=0)
        plain = train(SVC(gamma=0.3), X, problem, random_state=0)
        new = X + 0.1
        np.testing.assert_allclose(
            binary.decisions(rbf_kernel(new, X, gamma=0.3)), plain.decisions(new), atol=1e-3
        )

    def test_a_problem_of_all_rows_is_not_copied(self):
        class Remembering(HardAnswers):
            def fit(self, X, y):
                self.X_ = X
                return super().fit(X, y)

        X, problem = two_clouds(n_others=0)
        assert np.shares_memory(train(Remembering(), X, problem).estimator.X_, X)


class TestDeterminism:
    def test_the_same_seed_gives_the_same_answers(self):
        X, problem = two_clouds(n_negative=40, n_positive=40)
        estimator = SGDClassifier(max_iter=5, tol=None)
        one, again, other = (
            train(estimator, X, problem, random_state=seed).decisions(X) for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(one, again)
        assert not np.array_equal(one, other)

    def test_a_generator_in_the_estimator_is_not_used_up(self):
        X, problem = two_clouds()
        estimator = SGDClassifier(max_iter=5, tol=None, random_state=np.random.RandomState(0))
        one, again = (train(estimator, X, problem, calibration=None).decisions(X) for _ in range(2))
        np.testing.assert_array_equal(one, again)


def test_swapping_the_sides_changes_the_sign_of_the_answers():
    X, problem = two_clouds()
    swapped = BinaryProblem("p", problem.rows, ~problem.is_positive)
    cv = StratifiedKFold(3)
    one = train(RidgeClassifier(), X, problem, cv=cv).decisions(X)
    other = train(RidgeClassifier(), X, swapped, cv=cv).decisions(X)
    np.testing.assert_allclose(one, -other, atol=1e-7)


def test_an_error_of_the_estimator_names_the_partition():
    X, problem = two_clouds(n_negative=2, n_positive=38)
    with pytest.raises(ValueError, match="infeasible") as caught:
        train(NuSVC(nu=0.9), X, problem)
    assert caught.value.__notes__ == ['while training the NuSVC of partition "p"']


@pytest.mark.parametrize(
    ("objective", "other"), [("multi:softprob", "binary:logistic"), ("multiclass", "binary")]
)
def test_an_objective_for_many_classes_is_named_with_a_way_out(objective, other):
    class XGBClassifier(GaussianNB):
        """Has the objective that fitting on many classes has left, and fails as XGBoost does."""

        def __init__(self, objective="binary:logistic"):
            self.objective = objective

        def fit(self, X, y):
            raise ValueError("value 0 for Parameter num_class should be greater equal to 1")

    X, problem = two_clouds()
    with pytest.raises(ArgumentError) as caught:
        train(XGBClassifier(objective), X, problem)
    assert str(caught.value) == (
        f'XGBClassifier has objective="{objective}", which is for more than two classes, but a '
        "binary has two: value 0 for Parameter num_class should be greater equal to 1. Fitting on "
        "many classes sets it. Use an estimator that has not been fitted, or "
        f'set_params(objective="{other}").'
    )
    with pytest.raises(ValueError, match="num_class"):
        train(XGBClassifier(), X, problem)


def test_decision_values_that_are_not_finite_are_an_error_and_not_a_shortcoming():
    class Infinite(HardAnswers):
        def decision_function(self, X):
            return np.full(len(X), np.inf)

    X, problem = two_clouds()
    with pytest.raises(ArgumentError, match="decision values are not finite"):
        train(Infinite(), X, problem)


def test_decision_values_of_the_wrong_shape_are_an_error_and_not_a_shortcoming():
    class TwoColumns(HardAnswers):
        def decision_function(self, X):
            return np.zeros((len(X), 2))

    X, problem = two_clouds()
    with pytest.raises(ArgumentError, match=r'of binary "p" returned .* \(7, 2\)'):
        train(TwoColumns(), X, problem)


def test_an_unknown_calibration_is_refused_before_training():
    X, problem = two_clouds()
    with pytest.raises(ArgumentError, match=r"^calibration must be .*; got 'platt'\.$"):
        train(LogisticRegression(), X, problem, calibration="platt")


def test_the_uncalibrated_map_is_the_same_as_no_calibration():
    X, problem = two_clouds()
    binary = train(SVC(), X, problem, calibration=UncalibratedMap())
    plain = train(SVC(), X, problem, calibration=None)
    np.testing.assert_array_equal(binary.decisions(X), plain.decisions(X))


@pytest.mark.parametrize(
    "estimator",
    [KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())],
)
def test_more_neighbours_than_samples_are_refused_at_training(estimator):
    X, problem = two_clouds(2, 2)
    with pytest.raises(ArgumentError) as caught:
        train(estimator, X, problem)
    assert str(caught.value) == (
        'Partition "p" has 4 samples, fewer than the n_neighbors=5 of KNeighborsClassifier. '
        "Use n_neighbors=4 or fewer."
    )


def test_a_precomputed_kernel_must_be_square():
    X, problem = two_clouds()
    with pytest.raises(ArgumentError, match=r"a square matrix; X has shape \(40, 3\)"):
        train(SVC(kernel="precomputed"), X, problem)


def test_balanced_sides_have_even_priors():
    X, problem = two_clouds(30, 10)
    weight = np.random.default_rng(4).uniform(0.5, 2.0, len(X))
    for sample_weight in None, weight:
        binary = train(
            GaussianNB(),
            X,
            problem,
            sample_weight=sample_weight,
            class_weight="balanced-per-partition",
        )
        np.testing.assert_allclose(binary.estimator.class_prior_, [0.5, 0.5])


def test_an_estimator_need_not_have_classes():
    class WithoutClasses(HardAnswers):
        def fit(self, X, y):
            super().fit(X, y)
            self.labels_ = self.__dict__.pop("classes_")
            return self

        def predict(self, X):
            distances = np.linalg.norm(X[:, np.newaxis] - self.centres_, axis=2)
            return self.labels_[distances.argmin(axis=1)]

    X, problem = two_clouds()
    for calibration in "auto", "sigmoid":
        binary = train(WithoutClasses(), X, problem, calibration=calibration, random_state=0)
        plain = train(HardAnswers(), X, problem, calibration=calibration, random_state=0)
        np.testing.assert_array_equal(binary.decisions(X), plain.decisions(X))


def test_workers_of_a_cluster_can_be_the_jobs_of_joblib(cluster_client):
    rng = np.random.default_rng(5)
    y = rng.integers(4, size=200)
    X = rng.normal(size=(200, 3)) + 2 * np.eye(4)[y][:, :3]
    classifier = pt.PolytomyClassifier(ProcessNB(), random_state=0)
    near = classifier.fit(X, y).predict_proba(X)
    with cluster_client.as_current(), joblib.parallel_config("dask"):
        far = classifier.fit(X, y)
    assert os.getpid() not in {estimator.process_ for estimator in far.estimators_}
    np.testing.assert_allclose(far.predict_proba(X), near, rtol=0, atol=1e-12)
