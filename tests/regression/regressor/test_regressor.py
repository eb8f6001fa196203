"""The regressor: its answers, its coverage, odd targets, and scikit-learn's tools around it."""

import math
import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy import PolytomyRegressor, metrics
from polytomy.errors import ArgumentError, DataError

LINEAR = LogisticRegression()


def make_line(n, seed=0, noise=0.3):
    """A target that is linear in the first feature, with noise that grows with the second."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, 2 * X[:, 0] + noise * (1 + X[:, 1]) * rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    X, y = make_line(400)
    return PolytomyRegressor(LINEAR, random_state=0).fit(X, y)


X_NEW, Y_NEW = make_line(1000, seed=1)


class TestAnswers:
    @pytest.mark.parametrize("spread", [5.0, 10.0])
    def test_low_means_of_a_target_of_many_magnitudes_are_right(self, spread):
        X, y = make_line(400)
        regressor = PolytomyRegressor(LINEAR, random_state=0).fit(X, np.exp(spread * y))
        distribution = regressor.predict_distribution(X_NEW[:50])
        middles = [(a + b) / 2 for a, b in pairwise(distribution.edges.tolist())]
        expected = [
            math.fsum(m * x for m, x in zip(row, middles, strict=True))
            for row in distribution.masses.tolist()
        ]
        np.testing.assert_allclose(regressor.predict(X_NEW[:50]), expected, rtol=1e-14)

    def test_mean_and_median_are_those_of_the_distribution(self, fitted):
        distribution = fitted.predict_distribution(X_NEW)
        np.testing.assert_array_equal(fitted.predict(X_NEW), distribution.mean())
        np.testing.assert_array_equal(fitted.predict(X_NEW, "median"), distribution.ppf(0.5))
        median = clone(fitted).set_params(statistic="median").fit(*make_line(400))
        np.testing.assert_allclose(median.predict(X_NEW), distribution.median(), atol=1e-9)

    def test_masses_are_the_probabilities_of_the_bins(self, fitted):
        distribution = fitted.predict_distribution(X_NEW)
        proba = fitted.cumulative_scaling_.apply(fitted.classifier_.predict_proba(X_NEW))
        for each in range(fitted.n_bins_):
            own = distribution.masses[:, fitted.bins_.bin_of == each].sum(axis=1)
            np.testing.assert_allclose(own, proba[:, each], atol=1e-12)

    def test_blocks_of_rows_do_not_change_the_answers(self, fitted, monkeypatch):
        answers = (
            lambda: fitted.predict(X_NEW),
            lambda: fitted.predict_quantiles(X_NEW, [0.2, 0.7]),
            lambda: fitted.predict_interval(X_NEW, [0.5, 0.9]),
            lambda: list(clone(fitted).fit(*make_line(400)).out_of_fold_score_.values()),
        )
        whole = [answer() for answer in answers]
        monkeypatch.setattr("polytomy.regression.regressor._BLOCK_ROWS", 70)
        for answer, expected in zip(answers, whole, strict=True):
            np.testing.assert_allclose(answer(), expected, rtol=1e-12)

    def test_quantiles_are_in_order_whatever_the_levels(self, fitted):
        levels = np.linspace(0, 1, 21)
        quantiles = fitted.predict_quantiles(X_NEW, levels)
        assert quantiles.shape == (1000, 21)
        assert (np.diff(quantiles, axis=1) >= 0).all()
        shuffled = np.random.default_rng(0).permutation(21)
        other = fitted.predict_quantiles(X_NEW, levels[shuffled])
        np.testing.assert_array_equal(other, quantiles[:, shuffled])
        np.testing.assert_array_equal(fitted.predict_quantiles(X_NEW, 0.5), quantiles[:, 10])

    def test_intervals_contain_one_another(self, fitted):
        intervals = fitted.predict_interval(X_NEW, [0.5, 0.8, 0.95])
        assert intervals.shape == (1000, 2, 3)
        assert (np.diff(intervals[:, 0], axis=1) <= 0).all()
        assert (np.diff(intervals[:, 1], axis=1) >= 0).all()
        np.testing.assert_array_equal(fitted.predict_interval(X_NEW, 0.8), intervals[:, :, 1])

    def test_noise_that_grows_makes_wider_intervals(self, fitted):
        ends = fitted.predict_interval(X_NEW, 0.8)
        is_inner = np.abs(X_NEW[:, 0]) < 0.5
        width = np.diff(ends, axis=1)[:, 0]
        quiet, loud = (width[is_inner & (side * X_NEW[:, 1] > 0.5)].mean() for side in (-1, 1))
        assert loud > quiet

    def test_the_expected_score_is_about_that_on_new_samples(self, fitted):
        measured = {
            "crps": metrics.crps(Y_NEW, fitted.predict_distribution(X_NEW)),
            "rmse": np.sqrt(np.mean((Y_NEW - fitted.predict(X_NEW)) ** 2)),
            "mae": np.mean(np.abs(Y_NEW - fitted.predict(X_NEW))),
        }
        assert fitted.out_of_fold_score_ == pytest.approx(measured, rel=0.15)

    def test_the_number_of_jobs_does_not_change_the_answers(self, fitted):
        other = clone(fitted).set_params(n_jobs=2).fit(*make_line(400))
        np.testing.assert_array_equal(other.predict(X_NEW), fitted.predict(X_NEW))


def test_the_coverage_is_the_confidence_level_within_sampling_error():
    levels = np.array([0.5, 0.8, 0.95])
    covered = []
    for seed in range(12):
        X, y = make_line(150, seed=seed)
        regressor = PolytomyRegressor(LINEAR, random_state=seed).fit(X, y)
        X_test, y_test = make_line(2000, seed=1000 + seed)
        intervals = regressor.predict_interval(X_test, levels)
        covered.append([metrics.interval_coverage(y_test, intervals[:, :, k]) for k in range(3)])
    # The width is that of an order statistic of 150 values, whose share of new values varies.
    error = np.sqrt(levels * (1 - levels) / 150 / 12)
    assert (np.mean(covered, axis=0) > levels - 3 * error).all()
    assert (np.mean(covered, axis=0) < levels + 3 * error + 0.03).all()


class TestTargets:
    def test_a_constant_is_predicted_for_certain(self):
        X = np.random.default_rng(0).normal(size=(20, 2))
        regressor = PolytomyRegressor(LINEAR).fit(X, np.full(20, 7.5))
        np.testing.assert_array_equal(regressor.predict(X), np.full(20, 7.5))
        np.testing.assert_array_equal(regressor.predict_interval(X, 0.9), np.full((20, 2), 7.5))
        np.testing.assert_array_equal(regressor.predict_distribution(X).std(), np.zeros(20))
        assert regressor.out_of_fold_score_ == {"crps": 0.0, "rmse": 0.0, "mae": 0.0}

    def test_two_values_have_the_probabilities_of_a_classifier(self):
        X, y = make_line(200)
        y = np.where(y > 0, 10.0, -10.0)
        regressor = PolytomyRegressor(LINEAR, random_state=0).fit(X, y)
        distribution = regressor.predict_distribution(X)
        proba = regressor.classifier_.predict_proba(X)
        np.testing.assert_allclose(distribution.cdf(0.0), proba[:, 0])
        np.testing.assert_allclose(distribution.mean(), 10 * (proba[:, 1] - proba[:, 0]))
        assert set(np.unique(regressor.predict_quantiles(X))) <= {-10.0, 10.0}

    def test_zeros_keep_their_probability(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(600, 2))
        is_zero = rng.random(600) < X[:, 0]
        y = np.where(is_zero, 0.0, rng.exponential(size=600))
        regressor = PolytomyRegressor(LINEAR, random_state=0).fit(X, y)
        distribution = regressor.predict_distribution([[0.2, 0.5], [0.8, 0.5]])
        np.testing.assert_allclose(distribution.cdf(0.0), [0.2, 0.8], atol=0.1)
        np.testing.assert_array_equal(distribution.cdf_before(0.0), 0.0)

    @pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
    def test_the_unit_of_the_target_does_not_matter(self, scale, fitted):
        X, y = make_line(400)
        other = PolytomyRegressor(LINEAR, random_state=0).fit(X, scale * y)
        np.testing.assert_allclose(other.predict(X_NEW) / scale, fitted.predict(X_NEW), rtol=1e-6)
        np.testing.assert_allclose(
            other.predict_interval(X_NEW) / scale, fitted.predict_interval(X_NEW), rtol=1e-6
        )
        for name, value in fitted.out_of_fold_score_.items():
            assert other.out_of_fold_score_[name] / scale == pytest.approx(value, rel=1e-6)

    def test_single_precision_gives_nearly_the_same(self, fitted):
        X, y = make_line(400)
        other = PolytomyRegressor(LINEAR, random_state=0)
        other.fit(X.astype(np.float32), y.astype(np.float32))
        np.testing.assert_allclose(other.predict(X_NEW), fitted.predict(X_NEW), atol=0.02)

    def test_an_outlier_does_not_spoil_the_median(self, fitted):
        X, y = make_line(400)
        y[0] = 1e12
        other = PolytomyRegressor(LINEAR, random_state=0).fit(X, y)
        difference = other.predict(X_NEW, "median") - fitted.predict(X_NEW, "median")
        assert np.median(np.abs(difference)) < 0.1

    @pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
    def test_few_rows_are_enough(self, n):
        X, y = make_line(n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            regressor = PolytomyRegressor(LINEAR, random_state=0).fit(X, y)
        answer = regressor.predict(X_NEW)
        assert ((answer >= y.min() - 1e-9) & (answer <= y.max() + 1e-9)).all()
        assert regressor.n_bins_ <= n

    @pytest.mark.parametrize(
        ("y", "error", "message"),
        [
            ([1.0, np.nan, 2.0], ValueError, "Input y contains NaN"),
            ([1.0, np.inf, 2.0], ValueError, "Input y contains infinity"),
            (["a", "b", "c"], ArgumentError, "y has the text 'a'; .* Use PolytomyClassifier"),
            ([[1, 2], [3, 4], [5, 6]], ArgumentError, "y has 2 columns; .*MultiOutputRegressor"),
            (
                np.array(["2020-01-01"] * 3, dtype="datetime64[D]"),
                DataError,
                "y has values of type datetime64",
            ),
            ([-1.7e308, 0.0, 1.7e308], ArgumentError, "too far apart"),
            (np.ma.array([1.0, 2, 3], mask=[0, 1, 0]), DataError, "1 masked value"),
        ],
    )
    def test_targets_that_are_not_finite_numbers_are_refused(self, y, error, message):
        with pytest.raises(error, match=message):
            PolytomyRegressor(LINEAR).fit([[0.0], [1.0], [2.0]], y)

    def test_several_targets_can_have_a_regressor_each(self):
        X, y = make_line(100)
        both = MultiOutputRegressor(PolytomyRegressor(LINEAR, random_state=0))
        both.fit(X, np.column_stack([y, -y]))
        assert both.predict(X).shape == (100, 2)


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_bins": 1}, 'n_bins must be "auto" or an integer of at least 2; got 1'),
            ({"n_bins": "many"}, 'n_bins must be "auto" or an integer'),
            ({"n_bins": True}, 'n_bins must be "auto" or an integer'),
            ({"statistic": "mode"}, 'statistic must be "mean" or "median"; got \'mode\''),
            ({"solver": "voting"}, 'solver="voting" gives scores, not probabilities'),
            ({"cv": 1}, "cv=1"),
            ({"estimator": "nothing"}, "nothing"),
        ],
    )
    def test_bad_parameters_are_refused_before_any_work(self, parameters, message):
        with pytest.raises(ArgumentError, match=message):
            PolytomyRegressor(**parameters).fit(*make_line(30))

    def test_bad_levels_are_refused(self, fitted):
        for level in (0.0, 1.0, 90, -0.5, np.nan):
            with pytest.raises(ArgumentError, match=r"confidence_level=.* is not between 0 and 1"):
                fitted.predict_interval(X_NEW, level)
        with pytest.raises(ArgumentError, match=r"levels=1\.1 is not a probability"):
            fitted.predict_quantiles(X_NEW, [0.5, 1.1])
        with pytest.raises(ArgumentError, match="statistic must be"):
            fitted.predict(X_NEW, "mode")
        with pytest.raises(ArgumentError, match="confidence_level must be a number, or a list"):
            fitted.predict_interval(X_NEW, [[0.5]])

    def test_intervals_without_out_of_fold_predictions_are_refused(self):
        regressor = PolytomyRegressor(LINEAR, final_calibration=None).fit(*make_line(60))
        assert regressor.out_of_fold_score_ is None
        assert regressor.cumulative_scaling_.slope == 1.0
        with pytest.raises(ArgumentError, match='Fit it with final_calibration="auto", or use'):
            regressor.predict_interval(X_NEW)
        assert (np.diff(regressor.predict_quantiles(X_NEW), axis=1) >= 0).all()

    @pytest.mark.parametrize("scheme", ["one-vs-one", "tree", "one-vs-rest"])
    def test_other_schemes_predict_too(self, scheme):
        X, y = make_line(200)
        regressor = PolytomyRegressor(LINEAR, 6, scheme, random_state=0).fit(X, y)
        assert regressor.score(X_NEW, Y_NEW) > 0.5

    def test_a_failed_fit_leaves_no_earlier_one(self):
        X, y = make_line(60)
        regressor = PolytomyRegressor(LINEAR).fit(X, y)
        with pytest.raises(ValueError, match="NaN"):
            regressor.fit(X, np.full(60, np.nan))
        with pytest.raises(sklearn.exceptions.NotFittedError):
            regressor.predict(X)


class TestScikitLearn:
    def test_works_in_a_pipeline_a_search_and_a_cross_validation(self):
        X, y = make_line(150)
        pipeline = make_pipeline(StandardScaler(), PolytomyRegressor(SVC(), random_state=0))
        grid = {"polytomyregressor__estimator__C": [0.1, 1.0], "polytomyregressor__n_bins": [4]}
        search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
        assert search.best_score_ > 0.5
        assert search.best_estimator_[-1].n_bins_ == 4
        assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.5

    def test_a_transformed_target_has_nearly_the_same_quantiles(self):
        X, y = make_line(200)
        logs = TransformedTargetRegressor(
            PolytomyRegressor(LINEAR, statistic="median", random_state=0),
            func=np.exp,
            inverse_func=np.log,
        ).fit(X, y)
        plain = PolytomyRegressor(LINEAR, statistic="median", random_state=0).fit(X, y)
        np.testing.assert_allclose(logs.predict(X_NEW), plain.predict(X_NEW), atol=0.1)

    def test_pickling_keeps_the_answers(self, fitted):
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(X_NEW), fitted.predict(X_NEW))
        np.testing.assert_array_equal(again.predict_interval(X_NEW), fitted.predict_interval(X_NEW))

    def test_feature_names_are_kept_and_compared(self):
        pandas = pytest.importorskip("pandas")
        X, y = make_line(80)
        frame = pandas.DataFrame(X, columns=["a", "b", "c"])
        regressor = PolytomyRegressor(LINEAR, random_state=0).fit(frame, pandas.Series(y))
        assert regressor.feature_names_in_.tolist() == ["a", "b", "c"]
        regressor.predict_interval(frame)
        with pytest.raises(ValueError, match="feature names should match"):
            regressor.predict(frame[["b", "a", "c"]])

    def test_sparse_features_give_the_same_answers(self, fitted):
        X, y = make_line(400)
        other = PolytomyRegressor(LINEAR, random_state=0).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(
            other.predict(sparse.csr_array(X_NEW)), fitted.predict(X_NEW), atol=1e-3
        )

    def test_weights_count_as_copies(self):
        X, y = make_line(120)
        rng = np.random.default_rng(0)
        weight = rng.integers(1, 4, 120)
        fold = rng.integers(3, size=120)
        splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
        copies = fold.repeat(weight)
        repeated = [(np.flatnonzero(copies != k), np.flatnonzero(copies == k)) for k in range(3)]
        exact = LogisticRegression(tol=1e-10)
        one = PolytomyRegressor(exact, 5, final_calibration="bias", cv=splits)
        two = PolytomyRegressor(exact, 5, final_calibration="bias", cv=repeated)
        one.fit(X, y, sample_weight=weight)
        two.fit(X.repeat(weight, axis=0), y.repeat(weight))
        np.testing.assert_allclose(one.predict(X_NEW), two.predict(X_NEW), atol=1e-4)
        assert one.out_of_fold_score_ == pytest.approx(two.out_of_fold_score_, abs=1e-4)

    def test_samples_without_weight_do_not_matter(self):
        X, y = make_line(100)
        weight = np.ones(100)
        weight[::4] = 0.0
        wild = np.where(weight > 0, y, 1e6)
        fold = np.random.default_rng(0).integers(3, size=100)
        splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
        regressor = PolytomyRegressor(LINEAR, cv=splits, random_state=0)
        assert regressor.fit(X, wild, weight).predict(X_NEW).max() < 10
        assert regressor.bins_.edges[-1] == y[weight > 0].max()

    def test_bad_weights_are_refused(self):
        X, y = make_line(30)
        with pytest.raises(ArgumentError, match="zero for all samples"):
            PolytomyRegressor(LINEAR).fit(X, y, np.zeros(30))

    def test_groups_go_to_the_splitter(self):
        X, y = make_line(90)
        groups = np.arange(90) // 10
        regressor = PolytomyRegressor(LINEAR, cv=GroupKFold(3), random_state=0)
        assert regressor.fit(X, y, groups=groups).out_of_fold_score_ is not None
        with pytest.raises(ArgumentError, match="needs groups"):
            regressor.fit(X, y)

    def test_metadata_is_routed(self):
        X, y = make_line(90)
        weight = np.linspace(0.1, 2, 90)
        plain = PolytomyRegressor(LINEAR, random_state=0).fit(X, y, weight)
        with sklearn.config_context(enable_metadata_routing=True):
            requesting = LogisticRegression().set_fit_request(sample_weight=True)
            regressor = PolytomyRegressor(requesting, random_state=0)
            pipeline = make_pipeline(regressor.set_fit_request(sample_weight=True))
            pipeline.fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(pipeline.predict(X_NEW), plain.predict(X_NEW), atol=1e-9)

    def test_predicts_better_than_the_mean_on_a_known_problem(self):
        X, y = make_friedman1(600, noise=1.0, random_state=0)
        machine = make_pipeline(StandardScaler(), SVC(C=3))
        regressor = PolytomyRegressor(machine, random_state=0, shared_preprocessing=True)
        assert regressor.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.8
