"""The dichotomies that schemes need: each once, whatever the order of its sides."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from polytomy.model.fitting import plan_training
from polytomy.scheme import parse

CLASSES = np.array(["a", "b", "c"])


def sides(dichotomy):
    return dichotomy.negative, dichotomy.positive


def test_dichotomies_that_schemes_share_are_trained_once():
    tree, other = parse("m {a n {b c}}"), parse("k {l {c b} a}")
    plan = plan_training([tree, other], CLASSES, SVC())
    (first,), (second,) = plan.arrangements
    assert [sides(each) for each in plan.dichotomies] == [((0,), (1, 2)), ((1,), (2,))]
    assert first.columns.tolist() == [0, 1]
    assert first.signs.tolist() == [1, 1]
    # The second tree has both with their sides swapped.
    assert second.columns.tolist() == [0, 1]
    assert second.signs.tolist() == [-1, -1]
    answers = np.array([[0.5, -0.2]])
    assert second.decisions(answers).tolist() == [[-0.5, 0.2]]
    assert first.decisions(answers) is answers


def test_a_partition_that_occurs_twice_in_a_scheme_has_two_binaries():
    twice = parse("m 0 / 1 2; m 1 2 / 0; n 1 / 2; {a b c}")
    plan = plan_training([twice], CLASSES, SVC())
    assert len(plan.dichotomies) == 3
    both = plan_training([twice, twice], CLASSES, SVC())
    assert len(both.dichotomies) == 3
    ((own,), (again,)) = both.arrangements
    assert again.columns.tolist() == own.columns.tolist() == [0, 1, 2]
    assert again.signs.tolist() == [1, 1, 1]


def test_dichotomies_of_different_estimators_differ():
    plain, other = parse("m {a n {b c}}"), parse('m {a "svc C=2" {b c}}')
    assert len(plan_training([plain, other, other], CLASSES, SVC()).dichotomies) == 3
    logistic = LogisticRegression()
    plan = plan_training([plain, plain], CLASSES, SVC(), {"n": logistic})
    assert [each.estimator is logistic for each in plan.dichotomies] == [False, True]


def test_sides_are_indices_of_the_classes_of_the_data():
    plan = plan_training([parse("m {c n {a b}}")], CLASSES, SVC())
    assert [sides(each) for each in plan.dichotomies] == [((2,), (0, 1)), ((0,), (1,))]


def test_the_plan_of_one_scheme_has_its_own_dichotomies_in_the_order_of_its_partitions():
    tree, pairs = parse("m {a n {b c}}"), parse("x 1 / 2; y 0 / 2; z 0 / 1; {a b c}")
    plan = plan_training([tree, pairs], CLASSES, SVC())
    assert plan.columns_of(1) == [1, 2, 3]
    alone = plan.only(1)
    assert [sides(each) for each in alone.dichotomies] == [((1,), (2,)), ((0,), (2,)), ((0,), (1,))]
    assert alone.arrangements[0][0].columns.tolist() == [0, 1, 2]


def test_each_side_of_a_wide_partition_has_a_dichotomy_against_the_others():
    plan = plan_training([parse("m {a b c}")], CLASSES, SVC())
    assert [each.positive for each in plan.dichotomies] == [(0,), (1,), (2,)]
    assert [each.negative for each in plan.dichotomies] == [(1, 2), (0, 2), (0, 1)]
    assert [each.side for each in plan.dichotomies] == [0, 1, 2]
    (whole,) = {each.whole for each in plan.dichotomies}
    assert whole.sides == ((0,), (1,), (2,))


def test_the_order_of_sides_does_not_make_another_model():
    plan = plan_training([parse("m {a b c}"), parse("n {c a b}")], CLASSES, SVC())
    assert len(plan.dichotomies) == 3
    (_,), (second,) = plan.arrangements
    assert second.columns.tolist() == [2, 0, 1]


def test_one_side_of_three_is_not_one_class_against_the_rest():
    plan = plan_training([parse("@direct {a b c}"), parse("@one-vs-rest {a b c}")], CLASSES, SVC())
    assert len(plan.dichotomies) == 6
