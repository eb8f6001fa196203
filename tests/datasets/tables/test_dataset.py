"""Samples and labels of a data file."""

import numpy as np

from polytomy.datasets import Data


def test_data_shows_its_size_and_whether_it_has_labels():
    data = Data(np.zeros((3, 2)), np.arange(3), None, np.arange(3))
    assert (data.n_samples, data.n_features) == (3, 2)
    assert repr(data) == "<Data: 3 samples of 2 features>"
    data = Data(np.zeros((3, 2)), None, None, np.arange(3))
    assert repr(data) == "<Data: 3 samples of 2 features, no labels>"
