"""Binaries shared by several schemes, and put together to others."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from polytomy.composition import arrange, rearrange
from polytomy.designs import one_vs_one, one_vs_rest
from polytomy.errors import SchemeError
from polytomy.scheme import parse

CLASSES = ["a", "b", "c"]


def sides(dichotomy):
    return dichotomy.negative, dichotomy.positive


def test_dichotomies_that_schemes_share_are_wanted_once():
    tree, other = parse("m {a n {b c}}"), parse("k {l {c b} a}")
    wanted, (first, second) = arrange([tree, other], CLASSES, SVC())
    assert [sides(each) for each in wanted] == [((0,), (1, 2)), ((1,), (2,))]
    assert first.columns.tolist() == [0, 1]
    assert first.signs.tolist() == [1, 1]
    # The second tree has both the other way round.
    assert second.columns.tolist() == [0, 1]
    assert second.signs.tolist() == [-1, -1]
    answers = np.array([[0.5, -0.2]])
    assert second.decisions(answers).tolist() == [[-0.5, 0.2]]
    assert first.decisions(answers) is answers


def test_one_scheme_has_a_binary_for_each_place():
    twice = parse("m 0 / 1 2; m 1 2 / 0; n 1 / 2; {a b c}")
    wanted, (own,) = arrange([twice], CLASSES, SVC())
    assert len(wanted) == 3
    wanted, (_, again) = arrange([twice, twice], CLASSES, SVC())
    assert len(wanted) == 3
    assert again.columns.tolist() == own.columns.tolist() == [0, 1, 2]
    assert again.signs.tolist() == [1, 1, 1]


def test_dichotomies_of_different_estimators_differ():
    plain, other = parse("m {a n {b c}}"), parse('m {a "svc C=2" {b c}}')
    wanted, _ = arrange([plain, other, other], CLASSES, SVC())
    assert len(wanted) == 3
    logistic = LogisticRegression()
    wanted, _ = arrange([plain, plain], CLASSES, SVC(), {"n": logistic})
    assert [each.estimator is logistic for each in wanted] == [False, True]


def test_sides_are_positions_among_the_classes_of_the_data():
    scheme = parse("m {c n {a b}}")
    wanted, (own,) = arrange([scheme], CLASSES, SVC())
    assert [sides(each) for each in wanted] == [((2,), (0, 1)), ((0,), (1,))]
    np.testing.assert_allclose(
        own.solve(np.array([[-0.5, 1.0]]), "least-squares"), [[0, 0.25, 0.75]]
    )


def test_other_schemes_find_their_binaries():
    wanted, _ = arrange([one_vs_one(CLASSES)], CLASSES, SVC())
    pairs = parse("x 1 / 0; y 2 / 0; z 1 / 2; {a b c}")
    again = rearrange(pairs, CLASSES, wanted)
    assert again.columns.tolist() == [0, 1, 2]
    assert again.signs.tolist() == [-1, -1, 1]
    with pytest.raises(SchemeError, match=r"no binary was trained for .*one-vs-rest-00"):
        rearrange(one_vs_rest(CLASSES), CLASSES, wanted)
