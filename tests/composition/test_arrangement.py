"""Trained binaries that answer for other schemes."""

import numpy as np
import pytest
from sklearn.svm import SVC

from polytomy.composition import plan_training
from polytomy.composition.arrangement import arrange_trained
from polytomy.designs import one_vs_one, one_vs_rest
from polytomy.errors import SchemeError
from polytomy.scheme import parse

CLASSES = np.array(["a", "b", "c"])


def test_scores_are_in_the_order_of_the_classes_of_the_data():
    plan = plan_training([parse("m {c n {a b}}")], CLASSES, SVC())
    ((own,),) = plan.arrangements
    # P(a or b) = 1/4, all of it for b.
    found = own.solve(np.array([[-0.5, 1.0]]), "least-squares")
    np.testing.assert_allclose(found, [[0, 0.25, 0.75]])


def test_other_schemes_find_their_binaries():
    trained = plan_training([one_vs_one(CLASSES)], CLASSES, SVC()).dichotomies
    pairs = parse("x 1 / 0; y 2 / 0; z 1 / 2; {a b c}")
    again = arrange_trained(pairs, CLASSES, trained)
    assert again.columns.tolist() == [0, 1, 2]
    assert again.signs.tolist() == [-1, -1, 1]
    with pytest.raises(SchemeError, match=r"no binary was trained for .*one-vs-rest-00"):
        arrange_trained(one_vs_rest(CLASSES), CLASSES, trained)
