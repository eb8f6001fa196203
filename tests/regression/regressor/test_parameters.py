"""The parameters of a regressor."""

import pytest

from polytomy import PolytomyClassifier, PolytomyRegressor
from polytomy.errors import ArgumentError
from polytomy.regression.regressor import CLASSIFIER_PARAMETERS, check_regressor


def test_all_parameters_but_those_of_bins_go_to_the_classifier():
    own = set(PolytomyRegressor().get_params(deep=False)) - {"n_bins", "statistic"}
    assert set(CLASSIFIER_PARAMETERS) == own
    classes = set(PolytomyClassifier().get_params(deep=False)) - own
    assert classes == {
        "class_weight", "class_order", "keep_out_of_fold", "max_sides", "reservoir_size"
    }  # fmt: skip


def test_defaults_are_those_of_the_classifier_but_for_the_scheme_and_its_decoder():
    ours, theirs = PolytomyRegressor(), PolytomyClassifier()
    differing = [k for k in CLASSIFIER_PARAMETERS if getattr(ours, k) != getattr(theirs, k)]
    assert sorted(differing) == ["final_calibration", "scheme"]


@pytest.mark.parametrize(("name", "value"), [("n_jobs", 0), ("verbose", -1), ("n_bins", 0)])
def test_every_parameter_is_checked(name, value):
    check_regressor(PolytomyRegressor())
    with pytest.raises(ArgumentError, match=name):
        check_regressor(PolytomyRegressor(**{name: value}))
