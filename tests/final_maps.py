"""Classifiers with a final calibration that was not learnt from data."""

import copy
from dataclasses import replace

import numpy as np

from polytomy.calibration.final import DecoderMap
from polytomy.calibration.pooling import PoolMap


def with_decoder(classifier):
    """Return a fitted classifier with a decoder of random numbers, or a pool of such decoders."""
    composition = classifier.composition_
    n_binaries, n_classes = len(composition.binaries), len(composition.classes)
    rng = np.random.default_rng(0)
    maps = []
    for own in composition.member_answers(np.empty((1, n_binaries))):
        weights = rng.normal(scale=0.3, size=(own.shape[1], n_classes))
        maps.append(DecoderMap(1.2, 0.003, rng.normal(size=n_classes), weights))
    map_ = maps[0]
    if len(maps) > 1:
        map_ = PoolMap(maps, rng.uniform(size=len(maps)))
    other = copy.copy(classifier)
    other.composition_ = replace(composition, final=replace(composition.final, map=map_))
    return other
