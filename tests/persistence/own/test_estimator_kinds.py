"""Estimators that are saved as plain arrays: every listed type is, with all that it learns."""

import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from persistence.own.round_trips import X, Y, assert_same_after_reload
from polytomy import PolytomyClassifier, save
from polytomy.persistence.own.estimator_kinds import (
    DEEPEST_PIPELINE,
    LINEAR,
    SCALER_NAMES,
    SCALERS,
)
from polytomy.persistence.own.saving import SKOPS_OBJECTS


def needs_skops(classifier, folder):
    save(classifier, folder / "model.polytomy")
    with zipfile.ZipFile(folder / "model.polytomy") as archive:
        return SKOPS_OBJECTS in archive.namelist()


@pytest.mark.parametrize("kind", LINEAR)
def test_every_linear_model_is_saved_without_skops_and_answers_the_same(kind, tmp_path):
    classifier = PolytomyClassifier(kind(), random_state=0).fit(X, Y)
    assert not needs_skops(classifier, tmp_path)
    assert_same_after_reload(classifier, tmp_path)


@pytest.mark.parametrize("kind", SCALERS)
def test_every_scaler_is_saved_without_skops_and_answers_the_same(kind, tmp_path):
    pipeline = make_pipeline(kind(), LogisticRegression())
    classifier = PolytomyClassifier(pipeline, random_state=0).fit(X, Y)
    assert not needs_skops(classifier, tmp_path)
    assert_same_after_reload(classifier, tmp_path)


@pytest.mark.parametrize("kind", SCALERS)
def test_all_arrays_that_a_scaler_learns_are_listed(kind):
    learnt = vars(kind().fit(X))
    arrays = {name for name, value in learnt.items() if isinstance(value, np.ndarray)}
    assert arrays == set(SCALERS[kind])


def test_scalers_are_found_by_the_names_of_their_types():
    assert {name: kind.__name__ for name, kind in SCALER_NAMES.items()} == {
        kind.__name__: kind.__name__ for kind in SCALERS
    }


@pytest.mark.parametrize(
    ("depth", "is_plain"), [(DEEPEST_PIPELINE, True), (DEEPEST_PIPELINE + 1, False)]
)
def test_pipelines_are_plain_up_to_the_deepest(depth, is_plain, tmp_path):
    if not is_plain:
        pytest.importorskip("skops")
    nested = LogisticRegression()
    for _ in range(depth):
        nested = make_pipeline(StandardScaler(), nested)
    classifier = PolytomyClassifier(nested, "one-vs-rest", random_state=0).fit(X, Y)
    assert needs_skops(classifier, tmp_path) != is_plain
