"""Options of training: which arguments each estimator gets."""

import dataclasses

import numpy as np
import pytest

from polytomy.learners.workload import FitArguments, TrainingListener, TrainingOptions

OWN = FitArguments(np.arange(3.0), {"depth": 2})


def test_an_estimator_without_arguments_of_its_own_gets_those_of_the_default():
    default = FitArguments(np.ones(3))
    options = TrainingOptions(arguments=default, arguments_by_model={"svm": OWN})
    assert options.arguments_for("svm") is OWN
    assert options.arguments_for("other") is default
    assert options.arguments_for(None) is default


def test_options_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainingOptions().cv = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        OWN.sample_weight = None


def test_a_listener_may_override_what_it_wants_to_hear():
    class Names(TrainingListener):
        def __init__(self):
            self.names = []

        def trained(self, partition):
            self.names.append(partition)

    listener = Names()
    listener.note("two binaries")
    listener.trained("p")
    assert listener.names == ["p"]
