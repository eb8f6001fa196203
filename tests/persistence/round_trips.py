"""Classifiers that are saved, loaded and compared."""

import numpy as np
from sklearn.datasets import load_iris

from polytomy.persistence import load, save

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]
TREE = "a {setosa b {versicolor virginica}}"


def reload(classifier, folder, *, out_of_fold=False, reservoir=False, **options):
    """Return the classifier after saving it in a folder and loading it."""
    save(classifier, folder / "m.polytomy", out_of_fold=out_of_fold, reservoir=reservoir)
    return load(folder / "m.polytomy", **options)


def assert_same(first, second, samples=X):
    """Assert that two classifiers give the same answers and have the same parameters."""
    np.testing.assert_array_equal(second.decisions(samples), first.decisions(samples))
    np.testing.assert_array_equal(second.predict(samples), first.predict(samples))
    np.testing.assert_array_equal(
        second.decision_function(samples), first.decision_function(samples)
    )
    for one, other in zip(first.binaries_, second.binaries_, strict=True):
        np.testing.assert_array_equal(other.decisions(samples), one.decisions(samples))
        assert (other.name, other.output, other.classes) == (one.name, one.output, one.classes)
    assert second.classes_.dtype == first.classes_.dtype
    assert second.scheme_ == first.scheme_
    assert repr(second) == repr(first)
    assert repr(second.get_params()) == repr(first.get_params())


def assert_same_after_reload(classifier, folder, samples=X):
    """Assert that a classifier is the same after saving and loading, and return the new one."""
    again = reload(classifier, folder)
    assert_same(classifier, again, samples)
    return again
