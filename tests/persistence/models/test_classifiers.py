"""Parameters of saved classifiers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from persistence.round_trips import LABELS, TREE, X, Y, assert_same_after_reload, reload
from polytomy import PolytomyClassifier
from polytomy.calibration import TemperatureCalibrator
from polytomy.errors import ArgumentError, PolytomyError, PolytomyWarning
from polytomy.persistence import save
from remade import remake, state_of


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "voting"},
        {"solver": "least-squares", "calibration": "temperature"},
        {"solver": "hamming", "cv": 3, "n_jobs": 1},
        {"solver": "divergence", "verbose": 0, "memory_budget": 1e9},
        {"class_weight": "balanced", "prediction_dtype": "float32"},
        {"class_weight": {"setosa": 2.0, "versicolor": 1, "virginica": 0.5}},
        {"scheme": "one-vs-rest", "calibration": None},
        {"calibration": TemperatureCalibrator()},
        {"final_calibration": "decoder", "keep_out_of_fold": True},
        {"final_calibration": None},
        {"scheme": "tree", "class_order": ["virginica", "setosa", "versicolor"]},
        {"scheme": "tree", "class_order": ("virginica", "setosa", "versicolor")},
    ],
    ids=str,
)
def test_parameters_are_kept(parameters, tmp_path):
    classifier = PolytomyClassifier(random_state=0, **parameters).fit(X, LABELS)
    assert_same_after_reload(classifier, tmp_path)


def test_an_array_of_ordered_classes_is_kept_as_a_list(tmp_path):
    order = ["virginica", "setosa", "versicolor"]
    classifier = PolytomyClassifier(scheme="tree", class_order=np.array(order)).fit(X, LABELS)
    assert reload(classifier, tmp_path).class_order == order


def test_the_order_of_categories_is_kept(tmp_path):
    order = ["virginica", "setosa", "versicolor"]
    labels = pd.Categorical(LABELS, order, ordered=True)
    classifier = PolytomyClassifier(scheme="tree", final_calibration=None).fit(X, labels)
    again = reload(classifier, tmp_path)
    assert again.class_order_ == order
    assert again.class_order is None
    assert again.with_scheme("tree").scheme_ == classifier.scheme_


def test_a_specification_of_an_estimator_is_kept_as_text(tmp_path):
    classifier = PolytomyClassifier("svc C=3", random_state=7).fit(X, LABELS)
    again = reload(classifier, tmp_path)
    assert again.estimator == "svc C=3"
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.fit(X, LABELS).score(X, LABELS) == classifier.score(X, LABELS)


def test_a_loaded_classifier_can_be_fitted_again(tmp_path):
    classifier = PolytomyClassifier(SVC(C=3), "one-vs-rest", cv=3, random_state=7).fit(X, LABELS)
    again = reload(classifier, tmp_path)
    np.testing.assert_array_equal(
        again.fit(X, LABELS).predict_proba(X), classifier.predict_proba(X)
    )


def test_parameters_that_cannot_be_saved_are_warned_of(tmp_path):
    classifier = PolytomyClassifier(cv=StratifiedKFold(3), random_state=0).fit(X, Y)
    with pytest.warns(PolytomyWarning, match=r"cv=StratifiedKFold.* cannot be saved\. A loaded"):
        again = reload(classifier, tmp_path)
    assert again.cv == "auto"
    np.testing.assert_array_equal(again.decisions(X), classifier.decisions(X))


def test_a_solver_that_is_a_function_is_refused(tmp_path):
    classifier = PolytomyClassifier(solver=lambda s, r: np.ones((len(r), 3)) / 3).fit(X, Y)
    with pytest.raises(ArgumentError, match=r'Save classifier.with_solver\("least-squares"\)'):
        save(classifier, tmp_path / "m.polytomy")


def test_fitted_models_are_the_estimators_of_their_binaries(tmp_path):
    first = LogisticRegression().fit(X, Y == 0)
    text = 'is-setosa { "svc C=10" {versicolor virginica} setosa }'
    models = {"is-setosa": first}
    classifier = PolytomyClassifier(scheme=text, models=models, random_state=0).fit(X, LABELS)
    again = assert_same_after_reload(classifier, tmp_path)
    assert again.models["is-setosa"] is again.binaries_[0].estimator


def test_unfitted_models_keep_their_parameters(tmp_path):
    models = {"a": LinearSVC(C=3), "b": make_pipeline(StandardScaler(), SVC())}
    classifier = PolytomyClassifier(scheme=TREE, models=models, random_state=0)
    assert_same_after_reload(classifier.fit(X, LABELS), tmp_path)


def test_a_callable_scheme_is_saved_as_the_scheme_it_made(tmp_path):
    def make(X, y):
        return TREE

    classifier = PolytomyClassifier(scheme=make, random_state=0).fit(X, LABELS)
    again = reload(classifier, tmp_path)
    assert again.scheme == classifier.scheme_
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


def test_a_scheme_in_a_file_is_saved_with_the_model(tmp_path):
    file = tmp_path / "tree.control"
    file.write_text(TREE)
    for argument in (file, str(file)):
        classifier = PolytomyClassifier(scheme=argument, random_state=0).fit(X, LABELS)
        assert reload(classifier, tmp_path).scheme == pt.parse(TREE)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("magic", 3, "it.parameters is not a dict of parameters of a classifier"),
        ("solver", "magic", "solver must be"),
        ("solver", 3, "solver must be"),
        ("prediction_dtype", "float16", "prediction_dtype must be"),
        ("calibration", "magic", 'calibration must be "auto", "sigmoid"'),
        ("calibration", 3, 'calibration must be "auto"'),
        ("final_calibration", "magic", "final_calibration must be"),
        ("keep_out_of_fold", 1, "keep_out_of_fold must be"),
        ("cv", "x", "cv"),
        ("n_jobs", 2**20, "it.parameters is not with n_jobs from -32768 to 32768"),
        ("estimator", "os.system", "estimator="),
        ("scheme", 3, "it.parameters is not a dict with a scheme that is text"),
        ("models", [], "models must be"),
    ],
)
def test_each_parameter_is_checked(name, value, words):
    classifier = PolytomyClassifier(random_state=0).fit(X, LABELS)
    parameters = {**state_of(classifier)["parameters"], name: value}
    with pytest.raises(PolytomyError, match=words):
        remake(classifier, parameters=parameters)
