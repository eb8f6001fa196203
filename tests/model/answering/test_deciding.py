"""Prediction sets, priors and costs of a fitted classifier."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import polytomy as pt
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]
LEVELS = [0.8, 0.9, 0.95]
PRIOR = {"setosa": 0.1, "versicolor": 0.7, "virginica": 0.2}
COSTS = [[0, 1, 1], [1, 0, 1], [9, 9, 0]]


@pytest.fixture(scope="module")
def classifier():
    return PolytomyClassifier(random_state=0).fit(X, LABELS)


def blobs(n_samples, seed, weights=(0.5, 0.3, 0.15, 0.05)):
    """Return samples of four classes that overlap."""
    random = np.random.default_rng(seed)
    classes = random.choice(4, n_samples, p=weights)
    centres = np.array([[0, 0], [2, 0], [0, 2], [2, 2]])
    return centres[classes] + random.normal(size=(n_samples, 2)), classes


# -- prediction sets -------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**16),
    estimator=st.sampled_from([SVC(), LogisticRegression(), GaussianNB()]),
    magnitude=st.sampled_from([-9, -3, 0, 4]),
    dtype=st.sampled_from(["float64", "float32"]),
    score=st.sampled_from(["lac", "aps", "raps", "interval"]),
    per_class=st.booleans(),
    change=st.sampled_from(["nothing", "prior", "costs"]),
)
def test_every_set_has_the_predicted_class(
    seed, estimator, magnitude, dtype, score, per_class, change
):
    random = np.random.default_rng(seed)
    n_classes = random.integers(2, 6)
    rare = random.choice(n_classes, 30, p=random.dirichlet(np.ones(n_classes)))
    labels = np.concatenate([np.repeat(np.arange(n_classes), 3), rare])
    centres = random.normal(size=(n_classes, 3))
    samples = (centres[labels] + random.normal(size=(len(labels), 3))) * 10.0**magnitude
    fitted = PolytomyClassifier(
        estimator,
        prediction_dtype=dtype,
        class_order=random.permutation(n_classes).tolist(),
        random_state=0,
    )
    fitted.fit(samples, labels)
    if change == "prior":
        fitted = fitted.with_prior(random.dirichlet(np.ones(n_classes)))
    if change == "costs":
        fitted = fitted.with_cost(random.uniform(size=(n_classes, n_classes)))
    new = samples[::2] + random.normal(size=(len(samples[::2]), 3)) * 10.0**magnitude
    sets = fitted.predict_set(new, [0.3, 0.6, 0.9], score, per_class=per_class)
    assert sets[np.arange(len(new)), fitted.predict(new)].all()


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
@pytest.mark.parametrize(
    "options",
    [
        {"estimator": SVC(), "scheme": "one-vs-one"},
        {"estimator": LogisticRegression(), "scheme": "one-vs-rest"},
        {"estimator": DecisionTreeClassifier(min_samples_leaf=10), "scheme": "tree"},
        {"estimator": SVC(), "scheme": "one-vs-one", "calibration": "isotonic"},
        {"estimator": SVC(), "scheme": "one-vs-rest", "class_weight": "balanced"},
        {"estimator": SVC(), "scheme": "ordered"},
    ],
    ids=["svc", "logistic", "trees", "isotonic", "balanced", "ordered"],
)
def test_sets_contain_the_true_class_of_held_out_samples(score, options):
    samples, labels = blobs(600, 0)
    fitted = PolytomyClassifier(random_state=0, **options).fit(samples, labels)
    new, truth = blobs(5000, 1)
    sets = fitted.predict_set(new, LEVELS, score)
    assert sets.shape == (5000, 4, 3)
    levels = np.array(LEVELS)
    error = np.sqrt(levels * (1 - levels) * (1 / 600 + 1 / 5000))
    coverage = pt.metrics.set_coverage(truth, sets)
    assert (coverage > levels - 3 * error).all()
    # They are not right because they are large.
    assert (coverage < np.maximum(levels, fitted.score(new, truth)) + 0.06).all()


def test_sets_of_each_class_contain_it(classifier):
    samples, labels = blobs(1500, 2)
    fitted = PolytomyClassifier(SVC(), random_state=0).fit(samples, labels)
    new, truth = blobs(8000, 3)
    levels = np.array(LEVELS)
    by_class = pt.metrics.class_coverage(truth, fitted.predict_set(new, LEVELS, per_class=True))
    counts = np.array([[(labels == k).sum(), (truth == k).sum()] for k in range(4)])
    error = np.sqrt(levels * (1 - levels) * (1 / counts).sum(axis=1, keepdims=True))
    assert (by_class > levels - 3.5 * error).all()
    # The rare class is often missing without it.
    plain = pt.metrics.class_coverage(truth, fitted.predict_set(new, LEVELS))
    assert plain[3, 1] < 0.8


def test_sets_are_right_after_the_frequencies_of_the_classes_have_changed():
    samples, labels = blobs(3000, 4)
    # "auto" would compare with 600 samples alone.
    fitted = PolytomyClassifier(
        LogisticRegression(), random_state=0, final_calibration="decoder"
    ).fit(samples, labels)
    shifted = (0.05, 0.15, 0.3, 0.5)
    new, truth = blobs(6000, 5, shifted)
    levels = np.array(LEVELS)
    assert (pt.metrics.set_coverage(truth, fitted.predict_set(new, LEVELS)) < levels).all()
    for known in (shifted, fitted.estimate_prior(new)):
        adapted = fitted.with_prior(known)
        for score in ("lac", "aps", "raps"):
            coverage = pt.metrics.set_coverage(truth, adapted.predict_set(new, LEVELS, score))
            assert (coverage > levels - 0.03).all()


def test_a_single_level_is_one_of_a_list(classifier):
    every = classifier.predict_set(X, LEVELS)
    assert every.dtype == np.bool_
    for number, level in enumerate(LEVELS):
        np.testing.assert_array_equal(classifier.predict_set(X, level), every[:, :, number])
    assert every.any(axis=1).all()
    assert (np.diff(every.astype(int), axis=2) >= 0).all()


def test_the_winner_is_in_every_set(classifier):
    winners = classifier.predict_proba(X).argmax(axis=1)
    for score in ("lac", "aps", "raps"):
        assert classifier.predict_set(X, 0.5, score)[np.arange(len(X)), winners].all()


def test_sets_may_be_empty_if_that_is_asked_for(classifier):
    sets = classifier.predict_set(X, 0.3, allow_empty=True)
    assert (~sets.any(axis=1)).any()


def test_a_class_with_the_prior_zero_is_in_no_set(classifier):
    never = classifier.with_prior([0.0, 0.5, 0.5])
    for per_class in (False, True):
        assert not never.predict_set(X, 0.999, per_class=per_class)[:, 0].any()


def places_on_a_line(n_samples, seed):
    """Return samples of five classes on a line, too noisy to tell neighbours apart."""
    random = np.random.default_rng(seed)
    classes = random.integers(0, 5, n_samples)
    return (classes[:, None] + random.normal(scale=1.2, size=(n_samples, 3))), classes


WORDS = np.array(["none", "few", "some", "many", "all"])
CHANGES = {
    "nothing": lambda fitted: fitted,
    "prior": lambda fitted: fitted.with_prior([0.3, 0.0, 0.1, 0.5, 0.1]),
    "costs": lambda fitted: fitted.with_cost(np.random.default_rng(0).uniform(size=(5, 5))),
}


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_sets_of_ordered_classes_have_no_gaps(change, per_class):
    samples, labels = places_on_a_line(300, 0)
    options = {"class_order": WORDS.tolist(), "random_state": 0}
    fitted = PolytomyClassifier(GaussianNB(), **options).fit(samples, WORDS[labels])
    fitted = CHANGES[change](fitted)
    new = 3 * np.random.default_rng(1).normal(size=(2000, 3)) + 2
    sets = fitted.predict_set(new, np.linspace(0.05, 0.95, 10), per_class=per_class)
    order = np.searchsorted(fitted.classes_, WORDS)
    possible = order[fitted.prior_[order] > 0]  # a class that cannot occur is in no set
    assert not sets[:, np.setdiff1d(order, possible)].any()
    in_order = sets[:, possible].astype(int)
    # A set begins at most once, and ends at most once.
    edges = np.diff(np.pad(in_order, ((0, 0), (1, 1), (0, 0))), axis=1)
    assert ((edges == 1).sum(axis=1) == 1).all()
    assert (np.diff(in_order, axis=2) >= 0).all()
    predicted = np.searchsorted(fitted.classes_, fitted.predict(new))
    assert sets[np.arange(len(new)), predicted].all()
    with_gaps = fitted.predict_set(new, np.linspace(0.05, 0.95, 10), "lac")[:, possible]
    edges = np.diff(np.pad(with_gaps.astype(int), ((0, 0), (1, 1), (0, 0))), axis=1)
    assert ((edges == 1).sum(axis=1) > 1).any()


@pytest.mark.parametrize("scheme", ["ordered", "adjacent", "chain", "chain-backward"])
def test_sets_of_numbers_are_intervals_if_the_scheme_is_for_ordered_classes(scheme):
    samples, labels = places_on_a_line(300, 0)
    new, truth = places_on_a_line(4000, 1)
    fitted = PolytomyClassifier(GaussianNB(), scheme, random_state=0).fit(samples, labels)
    assert fitted.class_order_ == [0, 1, 2, 3, 4]
    levels = np.array(LEVELS)
    sets = fitted.predict_set(new, LEVELS)
    np.testing.assert_array_equal(sets, fitted.predict_set(new, LEVELS, "interval"))
    error = np.sqrt(levels * (1 - levels) * (1 / 300 + 1 / 4000))
    assert (pt.metrics.set_coverage(truth, sets) > levels - 3 * error).all()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_set(new, LEVELS), sets)


def test_a_tree_of_numbers_does_not_say_that_they_are_ordered(classifier):
    samples, labels = places_on_a_line(200, 0)
    fitted = PolytomyClassifier(GaussianNB(), "tree", random_state=0).fit(samples, labels)
    assert fitted.class_order_ is None
    lac = fitted.predict_set(samples, LEVELS, "lac")
    np.testing.assert_array_equal(fitted.predict_set(samples, LEVELS), lac)
    message = (
        'score="interval" needs the order of the classes, which this model does not know. Fit it '
        'with class_order, or use score="lac".'
    )
    with pytest.raises(ArgumentError) as caught:
        fitted.predict_set(samples, LEVELS, "interval")
    assert str(caught.value) == message


def test_one_class_is_in_every_set():
    single = PolytomyClassifier().fit(X[:9], LABELS[:9])
    np.testing.assert_array_equal(single.predict_set(X[:2], 0.9), [[True], [True]])
    assert single.predict_set(X[:2], LEVELS).shape == (2, 1, 3)


def test_models_without_out_of_fold_probabilities_say_how_to_get_them():
    plain = PolytomyClassifier(final_calibration=None, random_state=0).fit(X, LABELS)
    words = (
        'this model has none. Fit it with final_calibration="bias"; models that are given another'
    )
    with pytest.raises(ArgumentError, match=words):
        plain.predict_set(X)


def test_a_solver_of_scores_has_no_sets(classifier):
    votes = classifier.with_solver("voting")
    for name in ("predict_set", "with_prior", "estimate_prior", "with_cost", "predict_cost"):
        assert not hasattr(votes, name)
    with pytest.raises(AttributeError, match=r'solver="voting" gives scores, not probabilities'):
        votes.predict_set(X)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"confidence_level": 1.0}, "confidence_level=1.0 is not between 0 and 1"),
        ({"confidence_level": None}, "confidence_level=nan is not between 0 and 1"),
        ({"confidence_level": [0.9, 90]}, "confidence_level=90.0 is not between 0 and 1"),
        ({"confidence_level": "high"}, "confidence_level cannot be read as an array of numbers"),
        ({"confidence_level": []}, "confidence_level must be a number, or a list of numbers"),
        ({"confidence_level": [[0.9]]}, "confidence_level must be a number, or a list of numbers"),
        (
            {"score": "las"},
            """score must be "auto", "lac", "aps", "raps" or "interval"; got 'las'""",
        ),
    ],
)
def test_wrong_arguments_of_sets_are_refused(classifier, arguments, words):
    with pytest.raises(ArgumentError, match=words):
        classifier.predict_set(X, **arguments)


def test_another_solver_has_its_own_out_of_fold_probabilities(classifier):
    other = classifier.with_solver("divergence")
    ready = [each.composition_.with_conformity() for each in (classifier, other)]
    ours, theirs = (each.final.conformity for each in ready)
    assert not np.array_equal(ours.log_proba, theirs.log_proba)
    fresh = PolytomyClassifier(solver="divergence", random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(
        other.predict_set(X, LEVELS, "aps"), fresh.predict_set(X, LEVELS, "aps")
    )


# -- priors ----------------------------------------------------------------------------------------


def test_the_prior_of_training_changes_nothing(classifier):
    same = classifier.with_prior(classifier.prior_)
    np.testing.assert_allclose(same.predict_proba(X), classifier.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(classifier.prior_, [1 / 3] * 3)


def test_a_second_prior_replaces_the_first(classifier):
    once = classifier.with_prior(PRIOR)
    twice = classifier.with_prior([0.8, 0.1, 0.1]).with_prior(PRIOR)
    np.testing.assert_array_equal(twice.predict_proba(X), once.predict_proba(X))
    np.testing.assert_allclose(once.prior_, list(PRIOR.values()))
    back = once.with_prior(None)
    np.testing.assert_array_equal(back.predict_proba(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(once.estimate_prior(X), classifier.estimate_prior(X))


def test_the_prior_of_training_has_sample_weights_and_class_weights():
    weight = np.where(Y == 0, 3.0, 1.0)
    plain = PolytomyClassifier(random_state=0).fit(X, LABELS, weight)
    np.testing.assert_allclose(plain.prior_, [0.6, 0.2, 0.2])
    for option in ("balanced", "balanced-per-partition"):
        even = PolytomyClassifier(class_weight=option, random_state=0).fit(X, LABELS, weight)
        np.testing.assert_allclose(even.prior_, [1 / 3] * 3)
        np.testing.assert_allclose(even.composition_.frequencies.data, [0.6, 0.2, 0.2])


def test_a_shifted_prior_is_estimated_and_predicts_better():
    samples, labels = make_classification(
        9000, n_features=6, n_informative=4, n_redundant=0, n_classes=3, class_sep=0.8,
        random_state=0,
    )  # fmt: skip
    random = np.random.default_rng(0)
    chosen = random.random(6000) < np.array([1.0, 0.3, 0.1])[labels[3000:]]
    new, truth = samples[3000:][chosen], labels[3000:][chosen]
    fitted = PolytomyClassifier(SVC(), random_state=0).fit(samples[:3000], labels[:3000])
    actual = np.bincount(truth) / len(truth)
    estimate = fitted.estimate_prior(new)
    np.testing.assert_allclose(estimate, actual, atol=0.04)
    adapted = fitted.with_prior(estimate)
    assert adapted.score(new, truth) > fitted.score(new, truth)
    losses = [pt.metrics.log_loss(truth, each.predict_proba(new)) for each in (adapted, fitted)]
    assert losses[0] < losses[1] - 0.05


def test_weights_count_as_copies_in_an_estimate(classifier):
    weight = np.arange(150) % 3
    np.testing.assert_allclose(
        classifier.estimate_prior(X, sample_weight=weight),
        classifier.estimate_prior(np.repeat(X, weight, axis=0)),
        atol=1e-6,
    )


def test_a_prior_of_training_that_is_not_known_is_asked_for():
    models = {
        name: SVC().fit(X[mask], LABELS[mask])
        for name, mask in {"a": Y != 2, "b": Y != 1, "c": Y != 0}.items()
    }
    scheme = "a 0 / 1; b 0 / 2; c 1 / 2; {setosa versicolor virginica}"
    fitted = PolytomyClassifier(scheme=scheme, models=models).fit(X, LABELS)
    fitted.composition_ = fitted.composition_.with_binaries(fitted.binaries_)
    with pytest.raises(ArgumentError, match="Pass them as training_prior, or fit the model again"):
        fitted.with_prior(PRIOR)
    with pytest.raises(ArgumentError, match="Pass them as training_prior"):
        fitted.estimate_prior(X)
    with pytest.raises(AttributeError, match="the class frequencies of its training data are not"):
        fitted.prior_  # noqa: B018
    shifted = fitted.with_prior(PRIOR, training_prior=[1 / 3] * 3)
    np.testing.assert_allclose(shifted.prior_, list(PRIOR.values()))
    with pytest.raises(ArgumentError, match="training_prior has no effect without prior"):
        fitted.with_prior(None, training_prior=PRIOR)


# -- costs -----------------------------------------------------------------------------------------


def test_predictions_have_the_least_expected_cost(classifier):
    careful = classifier.with_cost(COSTS)
    proba = classifier.predict_proba(X)
    np.testing.assert_array_equal(careful.predict_proba(X), proba)
    np.testing.assert_array_equal(careful.decision_function(X), classifier.decision_function(X))
    np.testing.assert_allclose(careful.predict_cost(X), proba @ np.array(COSTS))
    chosen = careful.predict_cost(X).argmin(axis=1)
    np.testing.assert_array_equal(careful.predict(X), careful.classes_[chosen])


def test_a_costly_error_is_made_less_often(classifier):
    plain, careful = classifier.predict(X), classifier.with_cost(COSTS).predict(X)
    is_virginica = LABELS == "virginica"
    assert (careful[is_virginica] != "virginica").sum() <= (
        plain[is_virginica] != "virginica"
    ).sum()
    assert (careful == "virginica").sum() > (plain == "virginica").sum()
    assert pt.metrics.mean_cost(LABELS, careful, COSTS) < pt.metrics.mean_cost(LABELS, plain, COSTS)


def test_unsure_samples_get_the_label_for_no_prediction(classifier):
    careful = classifier.with_cost(reject_cost=0.1, reject_label="?")
    predicted = careful.predict(X)
    is_sure = classifier.predict_proba(X).max(axis=1) >= 0.9
    np.testing.assert_array_equal(predicted == "?", ~is_sure)
    np.testing.assert_array_equal(predicted[is_sure], classifier.predict(X)[is_sure])
    assert careful.predict_cost(X).shape == (150, 4)


def test_costs_and_priors_go_together(classifier):
    both = classifier.with_prior(PRIOR).with_cost(COSTS)
    other = classifier.with_cost(COSTS).with_prior(PRIOR)
    np.testing.assert_array_equal(both.predict(X), other.predict(X))
    proba = classifier.with_prior(PRIOR).predict_proba(X)
    np.testing.assert_allclose(both.predict_cost(X), proba @ np.array(COSTS))
    np.testing.assert_array_equal(both.with_cost().predict(X), classifier.classes_[proba.argmax(1)])


def test_without_costs_every_error_costs_one(classifier):
    np.testing.assert_allclose(classifier.predict_cost(X), 1 - classifier.predict_proba(X))


# -- scikit-learn ----------------------------------------------------------------------------------


def test_copies_leave_the_original_alone(classifier):
    before = classifier.predict_proba(X)
    classifier.with_prior(PRIOR).with_cost(COSTS)
    np.testing.assert_array_equal(classifier.predict_proba(X), before)
    assert classifier.composition_.costs is None


def test_pickles_and_copies_keep_prior_and_costs(classifier):
    careful = classifier.with_prior(PRIOR).with_cost(COSTS, 0.3, "?")
    for again in (pickle.loads(pickle.dumps(careful)), copy.deepcopy(careful)):
        np.testing.assert_array_equal(again.predict(X), careful.predict(X))
        np.testing.assert_array_equal(again.predict_set(X), careful.predict_set(X))


def test_a_new_fit_starts_afresh(classifier):
    careful = classifier.with_prior(PRIOR).with_cost(COSTS)
    fresh = clone(careful).fit(X, LABELS)
    np.testing.assert_array_equal(fresh.predict(X), classifier.predict(X))
    careful.fit(X, LABELS)
    np.testing.assert_array_equal(careful.predict_proba(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(careful.predict(X), classifier.predict(X))


def test_another_solver_or_scheme_keeps_prior_and_costs(classifier):
    careful = classifier.with_prior(PRIOR).with_cost(COSTS)
    other = careful.with_solver("divergence")
    expected = classifier.with_solver("divergence").with_prior(PRIOR).with_cost(COSTS)
    np.testing.assert_array_equal(other.predict_cost(X), expected.predict_cost(X))
    with pytest.raises(ArgumentError, match=r'solver="voting" gives scores, and the costs of the'):
        careful.with_solver("voting")


def test_a_step_of_a_pipeline_can_be_exchanged():
    pipeline = make_pipeline(StandardScaler(), PolytomyClassifier(random_state=0)).fit(X, LABELS)
    last = pipeline[-1]
    pipeline.set_params(polytomyclassifier=last.with_cost(COSTS))
    scaled = pipeline[:-1].transform(X)
    np.testing.assert_array_equal(pipeline.predict(X), last.with_cost(COSTS).predict(scaled))
    assert pipeline[-1].predict_set(scaled).shape == (150, 3)


def test_searches_can_score_sets_and_costs():
    def cost(model, samples, labels):
        predicted = model.with_cost(COSTS).predict(samples)
        return -pt.metrics.mean_cost(labels, predicted, COSTS, model.classes_)

    def size(model, samples, labels):
        return -pt.metrics.mean_set_size(model.predict_set(samples, 0.95))

    search = GridSearchCV(
        PolytomyClassifier(SVC(), random_state=0),
        {"estimator__C": [0.01, 1.0]},
        scoring={"cost": cost, "size": size},
        refit="cost",
        cv=3,
    ).fit(X, LABELS)
    assert np.isfinite(search.cv_results_["mean_test_cost"]).all()
    assert search.cv_results_["mean_test_size"].max() > -2
    assert search.best_params_ == {"estimator__C": 1.0}
    assert search.best_estimator_.predict_set(X).shape == (150, 3)


def test_partial_fit_keeps_prior_and_costs():
    first = PolytomyClassifier(SGDClassifier(random_state=0), calibration="sigmoid", random_state=0)
    careful = first.fit(X, LABELS).with_cost(COSTS).with_prior(PRIOR)
    careful.partial_fit(X, LABELS)
    assert careful.composition_.costs is not None
    np.testing.assert_allclose(careful.prior_, list(PRIOR.values()))


def test_a_stream_has_sets_and_priors_if_it_holds_rows_out():
    labels = np.unique(LABELS)
    for reservoir_size in 0, 500:
        stream = PolytomyClassifier(
            SGDClassifier(random_state=0), random_state=0, reservoir_size=reservoir_size
        )
        for _ in range(20):
            stream.partial_fit(X, LABELS, classes=labels)
        if reservoir_size:
            assert stream.predict_set(X).any(axis=1).all()
            counts = np.unique(LABELS, return_counts=True)[1]
            np.testing.assert_allclose(stream.prior_, counts / counts.sum())
        else:
            with pytest.raises(ArgumentError, match="prediction sets need out-of-fold"):
                stream.predict_set(X)


def test_an_unfitted_classifier_says_so():
    from sklearn.exceptions import NotFittedError

    unfitted = PolytomyClassifier()
    for call in (
        lambda: unfitted.predict_set(X),
        lambda: unfitted.with_prior(PRIOR),
        lambda: unfitted.with_cost(COSTS),
        lambda: unfitted.predict_cost(X),
        lambda: unfitted.estimate_prior(X),
        lambda: unfitted.explain(X),
    ):
        with pytest.raises(NotFittedError):
            call()
    assert not hasattr(unfitted, "prior_")
