"""Transformers that all binaries share, in a file."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from persistence.round_trips import LABELS, X, reload
from polytomy import PolytomyClassifier
from polytomy.persistence import read_info, save, saving


def fitted(*steps, data=X, **parameters):
    parameters = {"random_state": 0, "shared_preprocessing": True, **parameters}
    return PolytomyClassifier(make_pipeline(*steps), **parameters).fit(data, LABELS)


@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(), SVC()),
        (MinMaxScaler(), "passthrough", StandardScaler(), LinearSVC()),
        (StandardScaler(), PCA(2), SVC()),
    ],
    ids=str,
)
def test_a_loaded_classifier_gives_the_same_answers(steps, tmp_path):
    classifier = fitted(*steps)
    again = reload(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(again.decisions(X), classifier.decisions(X))
    assert repr(again) == repr(classifier)
    assert (again.n_features_in_, again.shared_preprocessing) == (4, True)
    refitted = again.fit(X[::2], LABELS[::2]).predict_proba(X)
    expected = classifier.fit(X[::2], LABELS[::2]).predict_proba(X)
    np.testing.assert_array_equal(refitted, expected)


def test_columns_of_a_frame_are_kept(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    columns = ColumnTransformer([("one", MinMaxScaler(), ["a", "c"]), ("two", PCA(1), ["b", "d"])])
    classifier = fitted(columns, SVC(), data=frame)
    again = reload(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(frame), classifier.predict_proba(frame))
    assert again.feature_names_in_.tolist() == ["a", "b", "c", "d"]


def test_the_transformers_are_described(tmp_path):
    save(fitted(StandardScaler(), PCA(2), SVC()), tmp_path / "m.polytomy")
    assert read_info(tmp_path / "m.polytomy").preprocessing == ("StandardScaler", "PCA")
    save(PolytomyClassifier().fit(X, LABELS), tmp_path / "m.polytomy")
    assert read_info(tmp_path / "m.polytomy").preprocessing == ()


def test_a_scaler_for_other_features_is_refused(save_to_bytes, refusal, monkeypatch):
    monkeypatch.setattr(saving, "_check_readable", lambda *parts: None)
    classifier = fitted(StandardScaler(), SVC())
    scaler = make_pipeline(StandardScaler().fit(X[:, :3]))
    classifier.composition_ = replace(classifier.composition_, preprocessing=scaler)
    words = "model.n_features is not that of the shared preprocessing"
    assert refusal(save_to_bytes(classifier)) == words
