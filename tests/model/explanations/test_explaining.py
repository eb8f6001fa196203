"""What each partition adds to the winner over the runner-up."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import polytomy as pt
from final_maps import with_decoder
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, PolytomyWarning

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]
SOME = X[[0, 50, 57, 70, 77, 83, 106, 119, 133, 149]]
NESTED = "a 0 / 1; b 0 / 2; c 1 / 2; {0 1 d {2 e {3 4}}}"


def fitted(scheme="one-vs-one", **options):
    options = {"random_state": 0, **options}
    return PolytomyClassifier(scheme=scheme, **options).fit(X, LABELS)


def total(explanation):
    """Return the sum of all that adds to the winner."""
    return sum(term.adds for term in explanation.terms) + sum(explanation.rest.values())


def check_sums(classifier, samples):
    """Assert that the terms sum to the difference between the two largest scores."""
    explained = classifier.explain(samples)
    assert len(explained) == len(samples)
    labels = classifier.classes_.tolist()
    if hasattr(classifier, "predict_proba"):
        scores = classifier.predict_proba(samples)
    else:
        scores = classifier.composition_.scores(samples)
    for each, row in zip(explained, scores, strict=True):
        first, second = labels.index(each.winner), labels.index(each.runner_up)
        assert row[first] == row.max()
        assert row[second] == np.delete(row, first).max()
        assert each.scores == pytest.approx((row[first], row[second]))
        expected = row[first] - row[second]
        if each.scale == "log-odds":
            logarithms = np.log(np.maximum(row, np.finfo(float).eps))
            expected = logarithms[first] - logarithms[second]
        # Along a path, every factor counts as 2e-16 or more, not only their product.
        is_tiny = each.method == "path" and row[second] < 1e-12
        assert is_tiny or each.difference == pytest.approx(expected, abs=1e-8)
        assert total(each) == pytest.approx(each.difference, abs=1e-8)
    return explained


@pytest.mark.parametrize("final", [None, "bias", "decoder"])
@pytest.mark.parametrize(
    ("scheme", "method"),
    [
        ("one-vs-one", "linear terms"),
        ("one-vs-rest", "linear terms"),
        ("orthogonal", "linear terms"),
        ("adjacent", "linear terms"),
        ("tree", "path"),
        ("a {setosa b {versicolor virginica}}", "path"),
        ("m 0 / 1 / 2; {setosa versicolor virginica}", "path"),
        ("m 0 / 1 / 2; n 0 / 1 2; {setosa versicolor virginica}", "linear terms"),
    ],
)
def test_terms_of_least_squares_and_trees_sum_to_the_difference(scheme, method, final):
    estimator = GaussianNB() if "/ 2" in scheme else SVC()
    classifier = fitted(
        scheme, estimator=estimator, solver="least-squares", final_calibration=final
    )
    for each in check_sums(classifier, SOME):
        is_probability = final is None and method == "linear terms"
        assert each.scale == ("probability" if is_probability else "log-odds")
        assert each.method == method


@pytest.mark.parametrize("scheme", ["one-vs-one", "tree"])
def test_what_a_decoder_weighs_belongs_to_the_partition(scheme):
    classifier = with_decoder(fitted(scheme, solver="least-squares"))
    check_sums(classifier, SOME)
    map_ = classifier.composition_.final.map
    weighed = np.abs(map_.weights).max()
    assert weighed > 0
    bias = map_.bias
    for each in classifier.explain(SOME):
        first, second = (np.flatnonzero(classifier.classes_ == label)[0]
                         for label in (each.winner, each.runner_up))  # fmt: skip
        # What remains is the bias, and in a tree also the floor.
        assert each.rest["final calibration"] == pytest.approx(
            bias[first] - bias[second], abs=1e-8 if scheme == "one-vs-one" else 0.5
        )


@pytest.mark.parametrize("solver", ["divergence", "wu-lin-weng-1", "voting", "hamming"])
def test_terms_of_other_solvers_are_what_is_lost_without_a_partition(solver):
    classifier = fitted(solver=solver, final_calibration=None)
    scheme, decisions = classifier.scheme_, classifier.decisions(SOME)
    explained = check_sums(classifier, SOME)
    labels = classifier.classes_.tolist()

    def difference(answers, winner, runner_up):
        scores = pt.decode(scheme, answers[None], solver)[0]
        if explained[0].scale == "log-odds":
            scores = np.log(np.maximum(scores, np.finfo(float).eps))
        return scores[labels.index(winner)] - scores[labels.index(runner_up)]

    for each, answers in zip(explained, decisions, strict=True):
        assert each.method == "leave one out"
        names = [str(partition.binary) for partition in scheme.partitions]
        for term in each.terms:
            without = answers.copy()
            without[names.index(term.name)] = np.nan
            classes = each.winner, each.runner_up
            lost = difference(answers, *classes) - difference(without, *classes)
            assert term.adds == pytest.approx(lost, abs=1e-6)


def test_linear_terms_are_what_changes_with_an_answer():
    # The answers of a strict code act linearly, as long as no probability is at its bound.
    classifier = fitted(
        "one-vs-rest",
        estimator=LogisticRegression(C=0.05, max_iter=1000),
        solver="least-squares",
        final_calibration=None,
    )
    decisions = classifier.decisions(X)
    code = classifier.scheme_.code
    names = [str(partition.binary) for partition in classifier.scheme_.partitions]
    labels = classifier.classes_.tolist()
    n_checked = 0
    for each, answers in zip(classifier.explain(X), decisions, strict=True):
        for term in each.terms:
            changed = answers.copy()
            changed[names.index(term.name)] = code.matrix[names.index(term.name)].mean()
            before, after = pt.solve(code, np.array([answers, changed]))
            if min(before.min(), after.min()) <= 0:
                continue
            n_checked += 1
            pair = labels.index(each.winner), labels.index(each.runner_up)
            lost = (before - after)[pair[0]] - (before - after)[pair[1]]
            assert term.adds == pytest.approx(lost, abs=1e-9)
    assert n_checked > 50


def test_the_answers_of_a_one_vs_one_code_that_agree_leave_nothing_to_interaction():
    # Binaries that know the probabilities: their answers contradict nothing.
    truth = np.random.default_rng(0).dirichlet(np.full(3, 3.0), 300)
    labels = np.array([np.random.default_rng(i).choice(3, p=row) for i, row in enumerate(truth)])

    class Oracle(LogisticRegression):
        """Divides the true probabilities of the two classes, which are its features."""

        def predict_proba(self, samples):
            pair = np.asarray(samples)[:, self.pair]
            return pair / pair.sum(axis=1, keepdims=True)

    models = {}
    for name, pair in {"a": [0, 1], "b": [0, 2], "c": [1, 2]}.items():
        models[name] = Oracle().fit(truth[np.isin(labels, pair)], labels[np.isin(labels, pair)])
        models[name].pair = pair
    classifier = PolytomyClassifier(
        scheme="a 0 / 1; b 0 / 2; c 1 / 2; {0 1 2}",
        models=models,
        solver="least-squares",
        final_calibration=None,
    ).fit(truth, labels)
    np.testing.assert_allclose(classifier.predict_proba(truth), truth, atol=1e-8)
    for each in check_sums(classifier, truth[:50]):
        assert each.method == "linear terms"
        assert each.rest["interaction"] == pytest.approx(0, abs=1e-8)


def test_a_path_has_the_logarithms_of_its_sides():
    digits, labels = load_digits(n_class=5, return_X_y=True)
    classifier = PolytomyClassifier(
        GaussianNB(), "a {b {0 1} c {2 d {3 4}}}", final_calibration=None
    ).fit(digits[::3], labels[::3])
    parents = {0: ["a", "b"], 1: ["a", "b"], 2: ["a", "c"], 3: ["a", "c", "d"], 4: ["a", "c", "d"]}
    for each in classifier.explain(digits[:40]):
        assert {term.name for term in each.terms} == {
            *parents[each.winner],
            *parents[each.runner_up],
        }
        for term in each.terms:
            chances = dict(zip(term.sides, term.answers, strict=True))
            of_class = [
                next(
                    (np.log(max(p, 2.22e-16)) for side, p in chances.items() if label in side), 0.0
                )
                for label in (each.winner, each.runner_up)
            ]
            assert term.adds == pytest.approx(of_class[0] - of_class[1], abs=1e-3)


@pytest.mark.parametrize("solver", ["least-squares", "divergence", "voting"])
def test_nested_schemes_that_are_not_trees_are_explained(solver):
    digits, labels = load_digits(n_class=5, return_X_y=True)
    classifier = PolytomyClassifier(SVC(), NESTED, solver=solver, random_state=0)
    for each in check_sums(classifier.fit(digits[::3], labels[::3]), digits[:10]):
        assert each.method == "leave one out"


def test_ensembles_and_solvers_of_the_user_are_explained():
    ensemble = pt.designs.tree_ensemble(["setosa", "versicolor", "virginica"], 3, random_state=0)
    for each in check_sums(fitted(ensemble), SOME):
        assert each.method == "leave one out"

    def softmax(scheme, decisions):
        scores = np.exp(2 * pt.decode(scheme, decisions, "voting"))
        return scores / scores.sum(axis=1, keepdims=True)

    for each in check_sums(fitted(solver=softmax), SOME):
        assert each.method == "leave one out"


def test_a_prior_adds_the_logarithm_of_its_ratio():
    classifier = fitted()
    prior = {"setosa": 0.2, "versicolor": 0.7, "virginica": 0.1}
    for each in check_sums(classifier.with_prior(prior), SOME):
        expected = np.log(prior[each.winner] / prior[each.runner_up])
        assert each.rest["prior"] == pytest.approx(expected)
    check_sums(fitted(final_calibration=None).with_prior(prior), SOME)
    for each in check_sums(classifier.with_prior([1.0, 0.0, 0.0]), SOME):
        assert abs(each.rest["final calibration"]) < 5
    check_sums(fitted("tree", final_calibration=None).with_prior(prior), SOME)


def test_partitions_the_other_way_round_and_classes_without_data_are_explained():
    swapped = "a 1 / 0; b 2 / 0; c 2 / 1; {setosa versicolor virginica}"
    check_sums(fitted().with_scheme(swapped), SOME)
    more = "a 0 / 1; b 0 / 2; c 1 / 2; d 0 1 2 / 3; {setosa versicolor virginica other}"
    with pytest.warns(PolytomyWarning):
        classifier = fitted(more, final_calibration=None)
    check_sums(classifier, SOME)


def test_two_classes_have_one_partition_that_decides():
    classifier = PolytomyClassifier(SVC(), random_state=0).fit(X[:100], LABELS[:100])
    for each in check_sums(classifier, X[:100:9]):
        assert len(each.terms) == 1


def test_costs_do_not_change_what_is_explained_but_the_text_says_so():
    classifier = fitted().with_cost(reject_cost=0.05)
    explained = classifier.explain(SOME)
    predicted = classifier.predict(SOME)
    assert [each.prediction for each in explained] == predicted.tolist()
    unsure = next(each for each in explained if each.prediction == "unknown")
    assert unsure.winner in LABELS
    assert "unknown is predicted, because of the costs" in str(unsure)


def test_shared_preprocessing_and_sparse_samples_are_explained():
    from scipy.sparse import csr_matrix
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    pipeline = make_pipeline(MaxAbsScaler(), SVC())
    shared = fitted(estimator=pipeline, shared_preprocessing=True)
    check_sums(shared, SOME)
    texts = [str(shared.explain(samples)) for samples in (SOME, csr_matrix(SOME))]
    assert texts[0] == texts[1]


def test_one_class_has_nothing_to_explain():
    with pytest.raises(ArgumentError, match="the classifier has only one class"):
        PolytomyClassifier().fit(X[:10], LABELS[:10]).explain(X[:1])
