"""Candidates of a comparison."""

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from polytomy.designs import one_vs_one
from polytomy.errors import ArgumentError
from polytomy.selection.candidates import (
    Candidate,
    automatic_candidates,
    candidates_from,
    default_candidates,
    separates_many_classes,
)


def test_schemes_pairs_and_dicts_are_candidates():
    scheme = one_vs_one(["a", "b", "c"])
    found = candidates_from({"mine": scheme, "votes": ("tree", "voting")}, 3, "divergence")
    assert found == [Candidate("mine", scheme, "divergence"), Candidate("votes", "tree", "voting")]
    assert candidates_from(["a {x y}", scheme], 3)[0].name == "a {x y}"
    assert candidates_from([found[0]], 3) == [found[0]]
    many = [each.name for each in candidates_from("default", 500)]
    assert "one-vs-one" not in many
    assert "one-vs-one" in [each.name for each in candidates_from("default", 50)]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("one-vs-one", 'must be "default", a list'),
        (7, 'must be "default", a list'),
        ([], "candidates is empty"),
        (["tree", "tree"], "two candidates are called 'tree'"),
    ],
)
def test_anything_else_is_refused(argument, words):
    with pytest.raises(ArgumentError, match=words):
        candidates_from(argument, 3)


def test_the_default_candidates_include_a_solver_without_zeros():
    found = candidates_from("default", 5, "least-squares")
    assert {(each.scheme, each.solver) for each in found} >= {
        ("one-vs-rest", "least-squares"),
        ("one-vs-rest", "divergence"),
    }
    assert {each.solver for each in candidates_from("default", 5, "hamming")} == {"hamming"}
    assert {each.solver for each in default_candidates(5)} == {"auto"}


def test_a_long_scheme_has_a_short_name():
    text = "a {x b {y c {z d {u e {v f {w g {s t}}}}}}}"
    (found,) = candidates_from([text], 8)
    assert found.scheme == text
    assert found.name == text[:39] + "…"


def test_a_function_is_named_by_its_name():
    def mine(scheme, decisions):
        return decisions

    (found,) = candidates_from([("tree", mine)], 4)
    assert found == Candidate("tree, mine", "tree", mine)


def test_the_solver_auto_suits_each_scheme_so_none_is_tried_twice():
    by_auto, by_name = (
        candidates_from("default", 5, solver) for solver in ("auto", "least-squares")
    )
    names = [each.name for each in by_name if each.solver == "least-squares"]
    assert [each.name for each in by_auto] == names
    assert {each.solver for each in by_auto} == {"auto"}
    assert {each.solver for each in by_name} == {"least-squares", "divergence"}


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (RandomForestClassifier(), True),
        (HistGradientBoostingClassifier(), True),
        (LogisticRegression(), True),
        (KNeighborsClassifier(), True),
        (GaussianNB(), True),
        (MLPClassifier(), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), True),
        (SVC(), False),
        (LinearSVC(), False),
        (make_pipeline(StandardScaler(), LinearSVC()), False),
        (RidgeClassifier(), False),
    ],
)
def test_estimators_with_probabilities_for_many_classes_are_known(estimator, expected):
    assert separates_many_classes(estimator) == expected


def test_a_calibration_of_two_sides_is_not_for_many_classes():
    assert separates_many_classes(GaussianNB(), "sigmoid")
    assert separates_many_classes(GaussianNB(), None)
    assert not separates_many_classes(GaussianNB(), "isotonic")


@pytest.mark.parametrize("is_multi_class", [False, True])
@pytest.mark.parametrize("has_order", [False, True])
def test_the_work_of_automatic_candidates_is_bounded(is_multi_class, has_order):
    of_size = {
        n: [
            each.name
            for each in automatic_candidates(n, has_order=has_order, is_multi_class=is_multi_class)
        ]
        for n in (3, 20, 21, 100, 101, 5000)
    }
    assert all(names[0] == "one-vs-one" for n, names in of_size.items() if n <= 100)
    assert of_size[101] == of_size[5000]
    assert not {"one-vs-one", "orthogonal", "adjacent"} & set(of_size[101])
    assert ("adjacent" in of_size[100]) == has_order
