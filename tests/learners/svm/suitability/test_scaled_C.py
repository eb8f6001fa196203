"""C="scale" of linear classifiers: 3 over the median squared distance of rows from their mean."""

import math
import statistics
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from polytomy.errors import ArgumentError, PolytomyWarning
from polytomy.learners.specification import estimator_from, specification_of
from polytomy.learners.svm.suitability import fix_C


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, 3, centers=4, cluster_std=4.0, random_state=1)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array, np.ndarray.tolist])
def test_it_is_three_over_the_median_squared_distance_of_rows_from_their_mean(kind, convert, blobs):
    X, _ = blobs
    shared, other = kind(C="scale"), kind(C=2.0)
    first, second, third = fix_C([shared, other, shared], convert(X), n_classes=4)
    mean = [statistics.fmean(column) for column in X.T.tolist()]
    squares = [math.dist(row, mean) ** 2 for row in X.tolist()]
    np.testing.assert_allclose(first.C, 3 / statistics.median(squares), rtol=1e-12)
    assert first is third
    assert second is other
    assert shared.C == "scale"


@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array])
def test_equal_rows_have_the_usual_C(convert):
    (fixed,) = fix_C([LinearSVC(C="scale")], convert(np.full((7, 2), 0.1)), n_classes=2)
    assert fixed.C == 1.0


@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array])
def test_it_is_three_over_the_mean_if_most_rows_equal_their_mean(convert):
    X = np.full((8, 1), 3.0)
    X[:2] = [[1.0], [5.0]]
    (fixed,) = fix_C([LinearSVC(C="scale")], convert(X), n_classes=2)
    np.testing.assert_allclose(fixed.C, 3 / (8 / 8))


def _spread(X):
    return 3 / fix_C([LinearSVC(C="scale")], X, n_classes=4)[0].C


def test_it_does_not_depend_on_the_origin(blobs):
    X, _ = blobs
    np.testing.assert_allclose(_spread(X + 1e6), _spread(X), rtol=1e-9)


def test_a_long_row_only_moves_the_mean(blobs):
    X, _ = blobs
    longer = X.copy()
    longer[np.linalg.norm(X - X.mean(axis=0), axis=1).argmax()] *= 20
    shift = np.linalg.norm(longer.mean(axis=0) - X.mean(axis=0))
    assert abs(_spread(longer) ** 0.5 - _spread(X) ** 0.5) <= shift


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_answers_do_not_depend_on_the_units_of_the_rows(kind, blobs):
    X, y = blobs
    found = []
    for unit in (1.0, 1000.0):
        estimator = kind(C="scale", fit_intercept=False, tol=1e-10)
        classifier = pt.PolytomyClassifier(estimator, "one-vs-rest", random_state=0)
        found.append(classifier.fit(unit * X, y).predict_proba(unit * X))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-6)


def test_it_can_be_written_as_text(blobs):
    X, y = blobs
    estimator = estimator_from("linear-svc C=scale", default=SVC())
    assert specification_of(estimator) == "linear-svc C=scale"
    text = pt.PolytomyClassifier(
        scheme='"linear-svc C=scale" 0 / 1 / 2 / 3; {0 1 2 3}', random_state=0
    )
    given = pt.PolytomyClassifier(
        fix_C([estimator], X, 4)[0], '"" 0 / 1 / 2 / 3; {0 1 2 3}', random_state=0
    )
    np.testing.assert_array_equal(text.fit(X, y).predict_proba(X), given.fit(X, y).predict_proba(X))


def test_other_estimators_have_no_such_C():
    with pytest.raises(ArgumentError, match="'C' parameter of SVC must be a float"):
        estimator_from("svc C=scale", default=SVC())


def test_a_model_is_saved_and_loaded(blobs, tmp_path):
    X, y = blobs
    classifier = pt.PolytomyClassifier(LinearSVC(C="scale"), random_state=0).fit(X, y)
    pt.save(classifier, tmp_path / "model.polytomy")
    loaded = pt.load(tmp_path / "model.polytomy")
    assert loaded.estimator.C == "scale"
    np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))


def test_it_is_a_value_of_a_grid(blobs):
    X, y = blobs
    grid = {"C": ["scale", 1e-6]}
    search = pt.SchemeSearchCV(LinearSVC(), ["one-vs-rest"], param_grid=grid, random_state=0)
    assert search.fit(X, y).best_params_["C"] == "scale"


def test_pipelines_need_shared_preprocessing(blobs):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), LinearSVC(C="scale"))
    message = r'^C="scale" depends on the rows .* Use shared_preprocessing=True, or transform'
    with pytest.raises(ArgumentError, match=message):
        pt.PolytomyClassifier(pipeline, random_state=0).fit(X, y)
    shared = pt.PolytomyClassifier(pipeline, shared_preprocessing=True, random_state=0).fit(X, y)
    squares = (((X - X.mean(axis=0)) / X.std(axis=0)) ** 2).sum(axis=1)
    np.testing.assert_allclose(shared.estimators_[0].C, 3 / np.median(squares))


def test_a_large_C_for_many_small_classes_is_warned_of():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(50), 4)
    X = rng.normal(size=(50, 10))[y] + rng.normal(scale=0.1, size=(200, 10))
    spread = np.median(((X - X.mean(axis=0)) ** 2).sum(axis=1))
    message = (
        rf"^LogisticRegression with C=400 hardly regularises: the median squared distance of the "
        rf"rows from their mean is {spread:.3g}, and there are fewer than 30 rows for each of 50 "
        rf'classes\. C="scale", which is {3 / spread:.2g} for these rows, is often faster'
    )
    with pytest.warns(PolytomyWarning, match=message):
        fix_C([LogisticRegression(C=400)], X, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fix_C([LogisticRegression(C=5)], X, 50)
        fix_C([LogisticRegression(C=400)], X, 49)
        fix_C([LogisticRegression(C=400)], np.tile(X, (8, 1)), 50)
        fix_C([LogisticRegression(C="scale"), SVC(C=400)], X, 50)
