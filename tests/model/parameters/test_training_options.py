"""From parameters and arguments of a classifier to training options."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB

from polytomy import PolytomyClassifier
from polytomy.calibration.folds import RoutedSplitter
from polytomy.errors import ArgumentError
from polytomy.learners.options import FitArguments, TrainingOptions
from polytomy.model.parameters import RoutedArguments, TrainingSource, training_source

CLASSES, INDICES = np.array(["a", "b"]), np.array([0, 1, 1, 1, 0, 1])
WEIGHT = np.arange(1.0, 7.0)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=4, cluster_std=2.5, random_state=3)
    return X, np.array(["corn", "oak", "pine", "wheat"])[y]


def source(class_weight=None, weight=None, parameters=None, by_model=None, **splitter):
    routed = RoutedArguments(FitArguments(weight), by_model or {}, splitter)
    parameters = TrainingOptions() if parameters is None else parameters
    return TrainingSource(parameters, class_weight, routed, CLASSES, INDICES)


def test_weights_of_samples_and_classes_are_multiplied():
    own = source({"a": 10.0}, WEIGHT).options().arguments.sample_weight
    assert own.tolist() == [10, 2, 3, 4, 50, 6]
    assert source().options().arguments.sample_weight is None


def test_class_weights_count_for_models_with_arguments_of_their_own():
    options = source({"a": 10.0}, by_model={"svm": FitArguments(WEIGHT)}).options()
    assert options.arguments_for("svm").sample_weight.tolist() == [10, 2, 3, 4, 50, 6]
    assert options.arguments_for(None).sample_weight.tolist() == [10, 1, 1, 1, 10, 1]


def test_only_balanced_per_partition_balances_the_sides():
    for class_weight in None, "balanced", {"a": 2.0}:
        assert not source(class_weight).options().balances_sides
    options = source("balanced-per-partition").options()
    assert options.balances_sides
    assert options.arguments.sample_weight is None


def test_the_options_for_some_rows_have_their_weights_and_splits():
    splits = [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])]
    parameters = TrainingOptions(cv=splits, n_jobs=2)
    options = source("balanced", WEIGHT, parameters).options(np.array([1, 4, 5]))
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
    groups, cv = np.arange(6), GroupKFold(2)
    options = source(parameters=TrainingOptions(cv=cv), groups=groups).options(np.array([1, 4, 5]))
    assert isinstance(options.cv, RoutedSplitter)
    assert options.cv.splitter is cv
    assert options.cv.parameters["groups"].tolist() == [1, 4, 5]
    assert source(parameters=TrainingOptions(cv=cv)).options().cv is cv


def test_a_classifier_gives_its_parameters_and_the_arguments_of_its_fit():
    classifier = PolytomyClassifier(
        calibration="isotonic", cv=3, random_state=5, n_jobs=2, memory_budget=1e6,
        class_weight={"a": 2.0},
    )  # fmt: skip
    found = training_source(classifier, "fit", WEIGHT, {"depth": 3}, CLASSES, INDICES)
    parameters = found.parameters
    assert (parameters.calibration, parameters.cv, parameters.random_state) == ("isotonic", 3, 5)
    assert (parameters.n_jobs, parameters.memory_budget) == (2, 1e6)
    options = found.options()
    assert options.arguments.sample_weight.tolist() == [2, 2, 3, 4, 10, 6]
    assert options.arguments.fit_params == {"depth": 3}


def test_weights_of_classes_that_do_not_exist_are_refused():
    with pytest.raises(ArgumentError, match="class_weight has 'elm'"):
        source({"elm": 2}).options()


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
