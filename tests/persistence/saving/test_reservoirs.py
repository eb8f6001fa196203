"""Reservoirs in model files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier

from persistence.round_trips import X, Y, assert_same, reload
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, ModelFileError
from polytomy.persistence import save
from remade import remake


def trained(data=X, **parameters):
    classifier = PolytomyClassifier(
        SGDClassifier(average=True), "one-vs-rest", random_state=0, **parameters
    )
    for rows in np.array_split(np.random.default_rng(0).permutation(len(Y)), 3):
        part = data.iloc[rows] if hasattr(data, "iloc") else data[rows]
        classifier.partial_fit(part, Y[rows], classes=np.unique(Y))
    return classifier


@pytest.mark.parametrize("data", [X, X.astype(np.float32), csr_matrix(X)])
def test_a_loaded_classifier_goes_on_as_the_saved_one(data, tmp_path):
    classifier = trained(data)
    again = reload(classifier, tmp_path, reservoir=True, out_of_fold=True)
    assert_same(classifier, again)
    for each in (classifier, again):
        each.partial_fit(data[:40], Y[:40]).begin_pass().partial_fit(data[40:80], Y[40:80])
    assert_same(classifier, again)
    assert again.reservoir_.positions.tolist() == classifier.reservoir_.positions.tolist()
    assert again.reservoir_.X.dtype == data.dtype


def test_without_its_reservoir_a_loaded_classifier_keeps_its_calibration(tmp_path):
    classifier = trained()
    again = reload(classifier, tmp_path)
    assert not hasattr(again, "reservoir_")
    assert_same(classifier, again)
    final = again.composition_.final
    again.partial_fit(X[:40], Y[:40])
    assert again.composition_.final is final
    assert again.reservoir_.starts_late


def test_rows_that_are_no_numbers_cannot_be_saved(tmp_path):
    classifier = trained(pd.DataFrame(X, columns=["a", "b", "c", "d"]))
    with pytest.raises(ArgumentError, match=r"needs rows of floating-point numbers; .* DataFrame"):
        save(classifier, tmp_path / "m.polytomy", reservoir=True)


def test_only_partial_fit_has_rows_to_save(tmp_path):
    classifier = PolytomyClassifier(SGDClassifier(), random_state=0).fit(X, Y)
    with pytest.raises(ArgumentError, match="holds out no rows; only partial_fit does"):
        save(classifier, tmp_path / "m.polytomy", reservoir=True)


def test_a_reservoir_of_other_features_or_classes_is_refused():
    classifier = trained()
    held = classifier.reservoir_
    for wrong in (replace(held, X=held.X[:, :3]), replace(held, n_of_class=held.n_of_class[:2])):
        with pytest.raises(ModelFileError, match=r"it\.reservoir is not for the features and cl"):
            remake(classifier, reservoir=wrong)
