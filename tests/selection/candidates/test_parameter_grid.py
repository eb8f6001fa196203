"""Candidates with every point of a grid of parameters."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy.errors import ArgumentError
from polytomy.selection.candidates import (
    Candidate,
    describe_params,
    expand_candidates,
    set_grid_params,
)

PAIRS, TREE = Candidate("pairs", "one-vs-one", "hamming"), Candidate("tree", "tree")


@pytest.mark.parametrize(
    "grid",
    [
        {"gamma": [0.1, "scale"], "C": np.array([1.0, 10.0])},
        [{"C": (1, 2)}, {"kernel": ["linear"], "C": [5]}],
        {"C": range(1, 4)},
        {},
    ],
)
def test_points_are_those_of_scikit_learn_in_its_order(grid):
    found = expand_candidates([PAIRS, TREE], grid, SVC(tol=0.01))
    points = list(ParameterGrid(grid))
    assert [each.params for each in found] == points * 2
    for each, params in zip(found, points * 2, strict=True):
        assert each.estimator.get_params() == SVC(tol=0.01, **params).get_params()
    assert [each.scheme_name for each in found] == ["pairs"] * len(points) + ["tree"] * len(points)
    assert [each.solver for each in found[: len(points)]] == ["hamming"] * len(points)


def test_candidates_with_the_same_parameters_have_the_same_estimator():
    found = expand_candidates([PAIRS, TREE], {"C": [1, 10]}, SVC())
    assert found[0].estimator is found[2].estimator
    assert found[0].estimator is not found[1].estimator
    assert [each.name for each in found] == [
        *("pairs, C=1", "pairs, C=10", "tree, C=1", "tree, C=10"),
    ]


def test_names_may_have_the_prefix_of_a_pipeline_or_of_a_classifier():
    pipeline = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": [3], "standardscaler__with_mean": [False]}
    (found,) = expand_candidates([TREE], grid, pipeline)
    assert (found.estimator[-1].C, found.estimator[0].with_mean) == (3, False)
    (found,) = expand_candidates([TREE], {"estimator__svc__C": [4]}, pipeline)
    assert found.estimator[-1].C == 4
    assert found.params == {"estimator__svc__C": 4}
    assert pipeline[-1].C == 1.0


def test_a_step_of_a_pipeline_can_be_replaced():
    pipeline = make_pipeline(StandardScaler(), SVC())
    first, second = expand_candidates([TREE], {"svc": [SVC(C=2), LogisticRegression()]}, pipeline)
    assert isinstance(second.estimator[-1], LogisticRegression)
    assert first.estimator[-1] is not first.params["svc"]


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"gama": [1]}, r"param_grid: SVC has no parameter 'gama'\. Did you mean \"gamma\"\?"),
        ({"svc__C": [1]}, r"SVC has no parameter 'svc__C'"),
        ({"xyzzy": [1]}, r"has no parameter 'xyzzy'\. It has C, break_ties"),
        ({1: [1]}, r"param_grid has the parameter 1\. A name must be a string"),
        ({"C": 1}, r"param_grid: .*'C' needs to be a list or a numpy array, but got 1"),
        ({"kernel": "rbf"}, r"'kernel' needs to be a list or a numpy array, but got 'rbf'"),
        ({"C": []}, r"param_grid: .*'C' need to be a non-empty sequence"),
        ({"C": np.ones((2, 2))}, r"param_grid: .*'C' should be one-dimensional"),
        ([], r"param_grid is empty"),
        ("C", r"param_grid: .* is not a dict \('C'\)"),
        (3, r"param_grid: .* should be a dict or a list, got: 3"),
        ([{"C": [1]}, "C"], r"param_grid: .* is not a dict \('C'\)"),
        ({"C": [1, -1]}, r"param_grid has C=-1: The 'C' parameter of SVC must be"),
    ],
)
def test_mistakes_are_explained(grid, words):
    with pytest.raises(ArgumentError, match=words):
        expand_candidates([TREE], grid, SVC())


def test_a_parameter_of_a_step_is_suggested():
    pipeline = make_pipeline(StandardScaler(), SVC())
    with pytest.raises(ArgumentError, match=r'Did you mean "svc__C"\?'):
        expand_candidates([TREE], {"C": [1]}, pipeline)


def test_a_description_sets_the_same_parameters():
    params = {"C": 0.1, "gamma": "scale", "class_weight": None}
    assert describe_params(params) == "C=0.1 gamma=scale class_weight=None"
    assert set_grid_params(SVC(), params).get_params() == SVC(**params).get_params()
