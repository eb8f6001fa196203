import numpy as np
import pytest
from sklearn.svm import SVC

import polytomy as pt
from polytomy.errors import DataError
from polytomy.inputs.rows import refuse_masked

X = np.array([[0.0], [0.1], [0.9], [1.0]])
Y = np.array([0, 0, 1, 1])
MASKED = np.ma.array(X, mask=[[False], [True], [True], [False]])


@pytest.mark.parametrize(
    "values", [X, X.tolist(), None, np.ma.array(X), np.ma.array(X, mask=False)]
)
def test_values_that_are_all_shown_pass(values):
    refuse_masked(values, "X")


def test_masked_values_are_refused_with_the_way_out():
    with pytest.raises(DataError) as error:
        refuse_masked(MASKED, "X")
    message = "X has 2 masked values. Remove them, or fill them with X.filled()."
    assert str(error.value) == message


@pytest.mark.parametrize(
    "entrance",
    [
        lambda X: pt.PolytomyClassifier(SVC()).fit(X, Y),
        lambda X: pt.PolytomyClassifier(SVC(), cv=2).fit(MASKED.data, Y).predict(X),
        lambda X: pt.PolytomyClassifier(SVC(), cv=2).fit(MASKED.data, Y).composition_.decisions(X),
        lambda X: pt.PolytomyClassifier(SVC()).fit(MASKED.data, np.ma.array(Y, mask=X.mask[:, 0])),
        lambda X: pt.distances.centroid(X, Y),
        lambda X: pt.designs.empirical_tree(MASKED.data, np.ma.array(Y, mask=X.mask[:, 0])),
    ],
)
def test_no_entrance_takes_hidden_values_for_data(entrance):
    with pytest.raises(DataError, match="2 masked values"):
        entrance(MASKED)
