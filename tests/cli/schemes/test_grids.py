"""The option --grid of search."""

import json

import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from polytomy.cli.schemes import parse_grids
from polytomy.datasets import read_data
from polytomy.errors import ArgumentError


@pytest.fixture
def iris(here):
    data = read_data("iris.csv")
    return StandardScaler().fit_transform(data.X), data.y


def test_a_grid_is_a_dict_of_lists():
    assert parse_grids(["C=0.1,1,10 gamma=0.01,scale"]) == [
        {"C": [0.1, 1, 10], "gamma": [0.01, "scale"]}
    ]
    assert parse_grids(["C=1", "kernel=linear,poly degree=2"]) == [
        {"C": [1]},
        {"kernel": ["linear", "poly"], "degree": [2]},
    ]


def test_commas_inside_brackets_belong_to_the_value():
    (grid,) = parse_grids(["'class_weight=None,{0: 1, 1: 2}' hidden=(1,2),(3,)"])
    assert grid == {"class_weight": [None, {0: 1, 1: 2}], "hidden": [(1, 2), (3,)]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "--grid is empty. Write it like"),
        ("C", '--grid "C": "C" does not have the form parameter=value,value.'),
        ("C=1 gamma 0.1", '"gamma" does not have the form parameter=value,value.'),
        ("=1", '"=1" does not have the form parameter=value,value.'),
        ("C=", '--grid "C=": C has an empty value.'),
        ("C=1,,10", '--grid "C=1,,10": C has an empty value.'),
        ("C=1 C=2", "C occurs twice. List all its values once: C=1,10."),
        ("C='1", "No closing quotation. Close the quotes."),
        ("C=1,2)", "C must be a literal (10, 0.1, None, True, (1, 2)) or a word; got 2)"),
    ],
)
def test_mistakes_are_explained(text, words):
    with pytest.raises(ArgumentError) as error:
        parse_grids([text])
    assert words in str(error.value)


def test_a_search_over_a_grid_is_that_of_the_library(polytomy, iris):
    line = "search iris.csv --folds 2 -c one-vs-one,hamming --score accuracy"
    outcome = polytomy(*line.split(), "--grid", "C=0.01,1,10 gamma=0.1,1", "--json")
    answer = json.loads(outcome.out)
    search = pt.SchemeSearchCV(
        SVC(),
        [("one-vs-one", "hamming")],
        param_grid={"C": [0.01, 1, 10], "gamma": [0.1, 1]},
        scoring="accuracy",
        cv=2,
        random_state=0,
    ).fit(*iris)
    assert answer["params"] == search.best_params_
    assert answer["results"]["params"] == search.cv_results_["params"]
    assert answer["results"]["mean_test_score"] == pytest.approx(
        search.cv_results_["mean_test_score"]
    )


def test_the_table_has_the_parameters_and_says_how_to_train_with_them(polytomy, iris):
    line = "search iris.csv --folds 2 -c one-vs-one,hamming --score accuracy"
    outcome = polytomy(*line.split(), "--grid", "C=0.001,10 gamma=0.1", "--plot", "grid.png")
    assert (outcome.code, outcome.err) == (0, "")
    assert "one-vs-one, hamming, C=10 gamma=0.1" in outcome.out
    assert "--estimator 'svc C=10 gamma=0.1'" in outcome.out
    assert "test score" not in outcome.out
    with open("grid.png", "rb") as file:
        assert file.read(4) == b"\x89PNG"


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ("gama=1", "--grid: SVC has no parameter 'gama'. Did you mean \"gamma\"?"),
        ("C=-1", "--grid has C=-1: The 'C' parameter of SVC must be a float"),
        ("C", "does not have the form parameter=value,value."),
    ],
)
def test_mistakes_name_the_option(polytomy, iris, grid, words):
    outcome = polytomy("search", "iris.csv", "--grid", grid)
    assert outcome.code == 2
    assert words in outcome.err
    assert outcome.out == ""
