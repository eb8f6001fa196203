"""Classifiers with a final calibration that was not learnt from data."""

import copy
from dataclasses import replace

import numpy as np

from polytomy.calibration.final import DecoderMap


def with_decoder(classifier):
    """Return a fitted classifier whose final calibration is a decoder of random numbers."""
    composition = classifier.composition_
    n_binaries, n_classes = len(composition.binaries), len(composition.classes)
    rng = np.random.default_rng(0)
    weights = rng.normal(scale=0.3, size=(n_binaries, n_classes))
    decoder = DecoderMap(1.2, 0.003, rng.normal(size=n_classes), weights)
    other = copy.copy(classifier)
    other.composition_ = replace(composition, final=replace(composition.final, map=decoder))
    return other
