"""What a classifier takes over from its two-class estimator."""

import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC
from sklearn.utils import get_tags

from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError
from polytomy.model.streaming import why_no_partial_fit


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"estimator": SGDClassifier()}, ""),
        ({"estimator": SGDClassifier(), "class_weight": {0: 2.0}}, ""),
        ({"estimator": SGDClassifier(), "class_weight": "balanced"}, "needs all the data at once"),
        ({"estimator": SVC()}, "'SVC' object has no attribute 'partial_fit'"),
        ({}, "'SVC' object has no attribute 'partial_fit'"),
    ],
)
def test_batches_need_an_estimator_that_takes_them_and_fixed_class_weights(parameters, reason):
    found = why_no_partial_fit(PolytomyClassifier(**parameters))
    assert reason in found if reason else found == ""


@pytest.mark.parametrize(("kernel", "expected"), [("rbf", False), ("precomputed", True)])
def test_a_precomputed_kernel_makes_the_classifier_pairwise(kernel, expected):
    assert get_tags(PolytomyClassifier(SVC(kernel=kernel))).input_tags.pairwise == expected


def test_parameters_of_the_estimator_can_be_set_through_the_classifier():
    classifier = PolytomyClassifier(SVC()).set_params(estimator__C=7)
    assert classifier.estimator.C == 7
    with pytest.raises(ArgumentError, match="estimator__C"):
        PolytomyClassifier("svc C=1").set_params(estimator__C=7)
