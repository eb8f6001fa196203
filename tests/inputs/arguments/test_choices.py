"""Every declared name is accepted where it is used, and near misses are suggested."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from polytomy.calibration import CALIBRATORS, FINAL_CALIBRATIONS
from polytomy.calibration.calibrators import make_calibrator
from polytomy.classifier import PolytomyClassifier
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import CLASS_WEIGHTS, PRECISIONS
from polytomy.learners.bank import Bank
from polytomy.model.estimator import CLASSIFIER_CHECKS

CALIBRATIONS = ["auto", *CALIBRATORS]
CHOICES = {
    "calibration": CALIBRATIONS,
    "final_calibration": ["auto", *FINAL_CALIBRATIONS],
    "class_weight": CLASS_WEIGHTS,
    "prediction_dtype": PRECISIONS,
}
EVERY = [(option, name) for option, names in CHOICES.items() for name in names]


@pytest.mark.parametrize(("option", "name"), EVERY)
def test_a_classifier_fits_with_each_name(option, name):
    X, y = load_iris(return_X_y=True)
    classifier = PolytomyClassifier(random_state=0, **{option: name}).fit(X, y)
    assert classifier.score(X, y) > 0.9


@pytest.mark.parametrize(("option", "name"), EVERY)
def test_a_name_without_its_last_letter_is_refused_with_a_suggestion(option, name):
    with pytest.raises(ArgumentError) as error:
        CLASSIFIER_CHECKS[option](name[:-1])
    assert option in str(error.value)
    assert 'Did you mean "' in str(error.value)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_each_calibration_makes_a_calibrator_that_learns(name):
    calibrator = make_calibrator(name).fit([-2.0, -1.0, 1.0, 2.0], [False, False, True, True])
    low, high = calibrator.predict(np.array([-1.5, 1.5]))
    assert low < 0.5 < high


@pytest.mark.parametrize("name", PRECISIONS)
def test_a_bank_has_each_precision(name):
    assert Bank([], name).dtype == np.dtype(name)
