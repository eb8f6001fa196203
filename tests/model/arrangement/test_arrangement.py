"""Arrangements: which trained binaries answer for the partitions of a scheme."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from polytomy import PolytomyClassifier
from polytomy.designs import one_vs_one, one_vs_rest
from polytomy.errors import ControlWarning, SchemeError
from polytomy.model.arrangement import ClassTranslation, arrange_trained
from polytomy.model.fitting import plan_training
from polytomy.scheme import parse

CLASSES = np.array(["a", "b", "c"])


def test_scores_are_in_the_order_of_the_classes_of_the_data():
    plan = plan_training([parse("m {c n {a b}}")], CLASSES, SVC())
    ((own,),) = plan.arrangements
    # P(a or b) = 1/4, all of it for b.
    found = own.solve(np.array([[-0.5, 1.0]]), "least-squares")
    np.testing.assert_allclose(found, [[0, 0.25, 0.75]])


def test_partitions_of_another_scheme_have_binaries_with_sides_in_either_order():
    trained = plan_training([one_vs_one(CLASSES)], CLASSES, SVC()).dichotomies
    pairs = parse("x 1 / 0; y 2 / 0; z 1 / 2; {a b c}")
    again = arrange_trained(pairs, CLASSES, trained)
    assert again.columns.tolist() == [0, 1, 2]
    assert again.signs.tolist() == [-1, -1, 1]
    with pytest.raises(SchemeError, match=r"no binary was trained for .*one-vs-rest-00"):
        arrange_trained(one_vs_rest(CLASSES), CLASSES, trained)


def test_a_specification_in_another_scheme_must_be_one_that_was_trained():
    X, y = load_iris(return_X_y=True)
    text = '"logistic-regression" 0 / 1 2; "svc" 1 2 / 0; x 1 / 2; {0 1 2}'
    classifier = PolytomyClassifier(SVC(), text, random_state=0).fit(X, y)
    other = classifier.with_scheme('"svc" 0 / 1 2; x 1 / 2; {0 1 2}')
    np.testing.assert_array_equal(other.decisions(X)[:, 0], -classifier.decisions(X)[:, 1])
    with pytest.raises(SchemeError, match="no binary was trained for"):
        classifier.with_scheme('"svc C=10" 0 / 1 2; x 1 / 2; {0 1 2}')


def test_all_binaries_in_order_need_no_copy_of_the_answers():
    ((own,),) = plan_training([one_vs_one(CLASSES)], CLASSES, SVC()).arrangements
    answers = np.array([[0.1, 0.2, 0.3]])
    assert own.uses_all_in_order(3)
    assert own.decisions(answers) is answers
    swapped = own._replace(signs=np.array([1.0, -1.0, 1.0]))
    assert not swapped.uses_all_in_order(3)
    assert swapped.decisions(answers).tolist() == [[0.1, -0.2, 0.3]]


def test_the_probability_of_a_class_without_samples_is_divided_among_the_others():
    with pytest.warns(ControlWarning, match="class 'b' of the scheme has no samples"):
        plan = plan_training([parse("m {a n {b c}}")], CLASSES[[0, 2]], SVC())
    ((own,),) = plan.arrangements
    # P(a) = 1/4 and P(b) = P(c) = 3/8, so that a and c share 5/8.
    found = own.solve(np.array([[0.5, 0.0]]), "least-squares")
    np.testing.assert_allclose(found, [[0.4, 0.6]])


def test_positions_of_a_scheme_translate_to_class_indices_without_absent_classes():
    translate = ClassTranslation(np.array([2, 0]), 4)
    assert translate([0, 1, 2, 3]) == (1, 0)
    assert translate([3]) == ()


def test_sides_of_another_scheme_may_be_in_any_order():
    trained = plan_training([parse("m 0 / 1 / 2; n 1 / 2; {a b c}")], CLASSES, SVC()).dichotomies
    again = arrange_trained(parse("k 2 / 0 / 1; l 2 / 1; {a b c}"), CLASSES, trained)
    assert again.columns.tolist() == [2, 0, 1, 3]
    assert again.signs.tolist() == [1, 1, 1, -1]


def test_a_side_of_a_wide_partition_does_not_answer_for_a_binary_one():
    trained = plan_training([parse("m {a b c}")], CLASSES, SVC()).dichotomies
    with pytest.raises(SchemeError, match="no binary was trained for <Partition x: a / b c>"):
        arrange_trained(parse("x {a y {b c}}"), CLASSES, trained)
    with pytest.raises(SchemeError, match="no binary was trained for <Partition m: a / b / c / d>"):
        arrange_trained(parse("m {a b c d}"), np.array(["a", "b", "c", "d"]), trained)
