"""Models of partitions with more than two sides in saved files."""

import random
from contextlib import suppress

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from persistence.mutations import mutate
from persistence.round_trips import LABELS, X, assert_same_after_reload, reload
from polytomy import PolytomyClassifier
from polytomy.errors import PolytomyError
from polytomy.persistence import load, read_info

DIRECT = "m 0 / 1 / 2; n 1 / 2; {setosa versicolor virginica}"


@pytest.mark.parametrize("estimator", [LogisticRegression(max_iter=500), SVC(), "gaussian-nb"])
def test_a_model_of_several_sides_answers_the_same(estimator, tmp_path):
    classifier = PolytomyClassifier(estimator, DIRECT, random_state=0).fit(X, LABELS)
    again = assert_same_after_reload(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert len({id(each.estimator) for each in again.binaries_[:3]}) == 1
    info = read_info(tmp_path / "m.polytomy")
    assert info.kinds["model with several sides"] == 1


def test_a_loaded_model_can_be_composed_differently(tmp_path):
    classifier = PolytomyClassifier(LogisticRegression(max_iter=500), DIRECT, random_state=0).fit(
        X, LABELS
    )
    again = reload(classifier, tmp_path, out_of_fold=True)
    turned = "m {virginica setosa versicolor}"
    np.testing.assert_array_equal(
        again.with_scheme(turned).predict_proba(X), classifier.with_scheme(turned).predict_proba(X)
    )


def test_fitted_models_of_users_are_saved_once(tmp_path):
    model = LogisticRegression(max_iter=500).fit(X, LABELS)
    text = "m {setosa versicolor virginica}"
    classifier = PolytomyClassifier(SVC(), text, models={"m": model}).fit(X, LABELS)
    again = reload(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.models["m"] is again.estimators_[0]


@pytest.fixture(scope="module")
def sided_model(save_to_bytes):
    classifier = PolytomyClassifier(SVC(), DIRECT, random_state=0)
    return save_to_bytes(classifier.fit(X, LABELS), out_of_fold=True)


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_file_is_loaded_or_refused(sided_model, seed, tmp_path):
    source = random.Random(seed)
    path = tmp_path / "m.polytomy"
    n_loaded = 0
    for _ in range(60):
        path.write_bytes(mutate(sided_model, source))
        with suppress(PolytomyError):
            read_info(path)
        with suppress(PolytomyError):
            classifier = load(path)
            n_loaded += 1
            if classifier.n_features_in_ == 4:
                classifier.predict(X[::50])
    assert 0 < n_loaded < 60
