"""From parameters and arguments of a classifier to training options."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from polytomy import PolytomyClassifier
from polytomy.calibration.folds import RoutedSplitter
from polytomy.errors import ArgumentError
from polytomy.model.estimator import make_training_options

CLASSES, INDICES = np.array(["a", "b"]), np.array([0, 1, 1, 1, 0, 1])
WEIGHT = np.arange(1.0, 7.0)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=4, cluster_std=2.5, random_state=3)
    return X, np.array(["corn", "oak", "pine", "wheat"])[y]


def make(class_weight=None, weight=None, fit_params=None, **parameters):
    classifier = PolytomyClassifier(class_weight=class_weight, **parameters)
    return make_training_options(classifier, "fit", weight, fit_params or {}, CLASSES, INDICES)


def test_weights_of_samples_and_classes_are_multiplied():
    arguments = make({"a": 10.0}, WEIGHT).arguments
    assert arguments.sample_weight.tolist() == [10, 2, 3, 4, 50, 6]
    assert arguments.given_weight is WEIGHT
    assert make().arguments.sample_weight is None


def test_class_weights_count_for_models_with_arguments_of_their_own():
    with config_context(enable_metadata_routing=True):
        models = {"svm": SVC().set_fit_request(sample_weight=True)}
        estimator = SVC().set_fit_request(sample_weight=False)
        options = make({"a": 10.0}, WEIGHT, estimator=estimator, models=models)
    assert options.arguments_for("svm").sample_weight.tolist() == [10, 2, 3, 4, 50, 6]
    assert options.arguments_for(None).sample_weight.tolist() == [10, 1, 1, 1, 10, 1]


def test_only_balanced_per_partition_balances_the_sides():
    for class_weight in None, "balanced", {"a": 2.0}:
        assert not make(class_weight).balances_sides
    options = make("balanced-per-partition")
    assert options.balances_sides
    assert options.arguments.sample_weight is None


def test_the_options_for_some_rows_have_their_weights_and_splits():
    splits = [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])]
    options = make("balanced", WEIGHT, cv=splits, n_jobs=2).take(np.array([1, 4, 5]))
    # Among these rows, class a has weight 5 and class b weight 8; balanced, each has half of 13.
    np.testing.assert_allclose(
        options.arguments.sample_weight, [2 * 13 / 16, 5 * 13 / 10, 6 * 13 / 16]
    )
    assert [[part.tolist() for part in split] for split in options.cv] == [
        [[0], [1, 2]],
        [[1, 2], [0]],
    ]
    assert options.n_jobs == 2


def test_groups_go_to_the_splitter():
    cv = GroupKFold(2)
    options = make(fit_params={"groups": np.arange(6), "depth": 2}, cv=cv)
    assert options.arguments.fit_params == {"depth": 2}
    options = options.take(np.array([1, 4, 5]))
    assert isinstance(options.cv, RoutedSplitter)
    assert options.cv.splitter is cv
    assert options.cv.parameters["groups"].tolist() == [1, 4, 5]


def test_groups_are_an_argument_of_the_estimator_if_there_is_no_splitter():
    assert make(fit_params={"groups": 7}, cv=3).arguments.fit_params == {"groups": 7}


def test_a_classifier_gives_its_parameters_and_the_arguments_of_its_fit():
    options = make(
        {"a": 2.0}, WEIGHT, {"depth": 3}, calibration="isotonic", cv=3, random_state=5, n_jobs=2,
        memory_budget=1e6,
    )  # fmt: skip
    assert (options.calibration, options.cv, options.random_state) == ("isotonic", 3, 5)
    assert (options.n_jobs, options.memory_budget) == (2, 1e6)
    assert options.arguments.sample_weight.tolist() == [2, 2, 3, 4, 10, 6]
    assert options.arguments.fit_params == {"depth": 3}


def test_arguments_with_a_value_a_row_are_cut_to_rows():
    tags = list("abcdef")
    options = make(weight=WEIGHT, fit_params={"tags": tags, "depth": 3}).take(np.array([0, 3]))
    assert options.arguments.sample_weight.tolist() == [1, 4]
    assert options.arguments.fit_params == {"tags": ["a", "d"], "depth": 3}


def test_options_without_rows_keep_the_parameters_alone():
    options = make({"a": 2.0}, WEIGHT, calibration="isotonic").without_rows()
    assert options.calibration == "isotonic"
    assert options.arguments.sample_weight is None
    assert len(options.class_indices) == 0


def test_weights_of_classes_that_do_not_exist_are_refused():
    with pytest.raises(ArgumentError, match="class_weight has 'elm'"):
        make({"elm": 2})


def test_class_weights_are_weights_of_the_samples(blobs):
    X, y = blobs
    keep = (y != "oak") | (np.arange(len(y)) % 4 == 0)
    X, y = X[keep], y[keep]
    of_class = {"oak": 3.0, "corn": 0.5}
    by_class = PolytomyClassifier(GaussianNB(), class_weight=of_class).fit(X, y)
    weights = np.array([of_class.get(label, 1.0) for label in y])
    by_sample = PolytomyClassifier(GaussianNB()).fit(X, y, sample_weight=weights)
    assert (by_class.decisions(X) == by_sample.decisions(X)).all()
    balanced = PolytomyClassifier(GaussianNB(), class_weight="balanced").fit(X, y)
    counts = {label: np.sum(y == label) for label in set(y)}
    even = np.array([len(y) / (4 * counts[label]) for label in y])
    by_hand = PolytomyClassifier(GaussianNB()).fit(X, y, sample_weight=even)
    np.testing.assert_allclose(balanced.decisions(X), by_hand.decisions(X), atol=1e-9)


def test_balancing_each_partition_gives_its_sides_even_priors(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(
        GaussianNB(), "one-vs-rest", class_weight="balanced-per-partition"
    ).fit(X, y)
    for binary in classifier.binaries_:
        np.testing.assert_allclose(binary.estimator.class_prior_, [0.5, 0.5])


def test_balanced_classes_count_weights_as_repetitions(blobs):
    X, y = blobs
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    balanced = PolytomyClassifier(GaussianNB(), "one-vs-rest", class_weight="balanced")
    weighted = clone(balanced).fit(X, y, sample_weight=weights)
    repeated = clone(balanced).fit(X.repeat(weights, 0), y.repeat(weights))
    np.testing.assert_allclose(weighted.decisions(X), repeated.decisions(X), atol=1e-6)


@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced-per-partition"])
@pytest.mark.parametrize("weights", [np.ones(3), 1.0, np.ones((150, 1))])
def test_weights_of_the_wrong_shape_are_refused(weights, class_weight, iris):
    with pytest.raises(ArgumentError, match="sample_weight has shape"):
        PolytomyClassifier(GaussianNB(), class_weight=class_weight).fit(*iris, weights)
