"""Regressors in saved models."""

import random
from contextlib import suppress

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from persistence.mutations import mutate
from polytomy import PolytomyClassifier, PolytomyRegressor
from polytomy.errors import ArgumentError, ModelFileError, PolytomyError
from polytomy.persistence import load, read_info, save, write_libsvm
from polytomy.regression import CumulativeScaling
from remade import remake

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.maximum(X[:, 0] + 0.3 * RNG.normal(size=120), -0.5)  # with an atom


def reload(regressor, folder, **options):
    save(regressor, folder / "m.polytomy", **options)
    return load(folder / "m.polytomy")


def assert_same(first, second):
    np.testing.assert_array_equal(second.predict(X), first.predict(X))
    one, other = (each.predict_distribution(X) for each in (first, second))
    np.testing.assert_array_equal(other.edges, one.edges)
    np.testing.assert_array_equal(other.masses, one.masses)
    levels = [0.5, 0.9, 0.999]
    np.testing.assert_array_equal(
        second.predict_interval(X, levels), first.predict_interval(X, levels)
    )
    assert second.out_of_fold_score_ == first.out_of_fold_score_
    assert second.n_bins_ == first.n_bins_
    assert repr(second.get_params()) == repr(first.get_params())


@pytest.mark.parametrize(
    "parameters",
    [
        {"estimator": SVC(C=2)},
        {"estimator": "svc C=3", "n_bins": 5, "statistic": "median"},
        {"estimator": LogisticRegression(), "scheme": "one-vs-one", "n_bins": 4},
        {"estimator": LogisticRegression(), "solver": "divergence", "prediction_dtype": "float32"},
    ],
)
def test_a_regressor_gives_the_same_answers_after_loading(parameters, tmp_path):
    regressor = PolytomyRegressor(**parameters, random_state=0).fit(X, Y)
    again = reload(regressor, tmp_path)
    assert_same(regressor, again)
    refitted = again.fit(X, Y)
    assert_same(regressor, refitted)


def test_a_regressor_in_a_pipeline_is_kept(tmp_path):
    pipeline = make_pipeline(StandardScaler(), PolytomyRegressor(SVC(), random_state=0))
    again = reload(pipeline.fit(X, Y), tmp_path)
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))
    np.testing.assert_array_equal(again[-1].predict_interval(X), pipeline[-1].predict_interval(X))


def test_feature_names_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    regressor = PolytomyRegressor(LogisticRegression(), random_state=0).fit(frame, Y)
    again = reload(regressor, tmp_path)
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame[["b", "a", "c"]])


def test_a_constant_target_is_kept(tmp_path):
    regressor = PolytomyRegressor(LogisticRegression()).fit(X, np.full(120, 2.5))
    again = reload(regressor, tmp_path)
    np.testing.assert_array_equal(again.predict(X), np.full(120, 2.5))


def test_without_a_final_calibration_there_are_no_intervals(tmp_path):
    regressor = PolytomyRegressor(LogisticRegression(), final_calibration=None).fit(X, Y)
    again = reload(regressor, tmp_path)
    np.testing.assert_array_equal(again.predict(X), regressor.predict(X))
    with pytest.raises(ArgumentError, match="out-of-fold predictions"):
        again.predict_interval(X)


def test_out_of_fold_scores_can_be_saved(tmp_path):
    regressor = PolytomyRegressor(SVC(), random_state=0).fit(X, Y)
    again = reload(regressor, tmp_path, out_of_fold=True)
    assert_same(regressor, again)
    assert again.classifier_.composition_.out_of_fold is not None


def test_the_description_has_the_range_and_the_score(tmp_path):
    regressor = PolytomyRegressor(SVC(), random_state=0).fit(X, Y)
    save(regressor, tmp_path / "m.polytomy", metadata={"unit": "K"})
    info = read_info(tmp_path / "m.polytomy")
    assert info.target_range == {"lower": Y.min(), "upper": Y.max()}
    assert info.out_of_fold_score == regressor.out_of_fold_score_
    assert info.classes.tolist() == list(range(regressor.n_bins_))
    assert info.metadata == {"unit": "K"}


def test_a_regressor_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="the regressor is not fitted"):
        save(PolytomyRegressor(), tmp_path / "m.polytomy")


def test_other_formats_refuse_a_regressor(tmp_path):
    regressor = PolytomyRegressor(SVC(), random_state=0).fit(X, Y)
    with pytest.raises(ArgumentError, match="PolytomyRegressor cannot be written as a LIBSVM"):
        write_libsvm(regressor, tmp_path / "m.model")
    pytest.importorskip("onnx")
    with pytest.raises(ArgumentError, match="PolytomyRegressor cannot be exported"):
        pt.to_onnx(regressor)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("regressor") / "m.polytomy"
    save(PolytomyRegressor(SVC(), 4, random_state=0).fit(X, Y), path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n_bins", "many", "n_bins must be"),
        ("n_bins", None, "n_bins must be"),
        ("statistic", "mode", "statistic must be"),
        ("statistic", 3, "it.statistic is not text"),
        ("classifier", SVC(), "it.classifier is not a classifier"),
        ("bins", CumulativeScaling(), "it.bins is not a kind of bins"),
        ("scaling", None, "it.scaling is not a kind of cumulative scaling"),
        ("correction", CumulativeScaling(), "it.correction is not a kind of interval correction"),
        ("score", {"rmse": "low"}, "it.score.rmse is not a number from"),
    ],
)
def test_each_value_is_checked(name, value, words):
    regressor = PolytomyRegressor(SVC(), 4, random_state=0).fit(X, Y)
    with pytest.raises(PolytomyError, match=words):
        remake(regressor, **{name: value})


def test_a_classifier_of_other_labels_is_not_a_regressor():
    regressor = PolytomyRegressor(SVC(), 4, random_state=0).fit(X, Y)
    bins = regressor.bins_.assign(Y)
    other = PolytomyClassifier(SVC(), "ordered", random_state=0).fit(X, bins + 1)
    with pytest.raises(ModelFileError, match=r"it\.bins is not those of the classifier"):
        remake(regressor, classifier=other)


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_is_loaded_or_refused_and_nothing_else(saved, seed, tmp_path):
    """Whatever is not a PolytomyError is a value that was used before it was checked."""
    source = random.Random(seed)
    path = tmp_path / "m.polytomy"
    n_loaded = 0
    for _ in range(50):
        path.write_bytes(mutate(saved, source))
        with suppress(PolytomyError):
            read_info(path)
        with suppress(PolytomyError):
            model = load(path)
            n_loaded += 1
            if getattr(model, "n_features_in_", 3) == 3 and isinstance(model, PolytomyRegressor):
                model.predict_interval(X[:2], 0.9)
                model.predict_quantiles(X[:2])
                model.predict_distribution(X[:2]).std()
    assert 0 < n_loaded < 50
