"""The samples that LIBSVM's models were trained on."""

import pytest

from persistence.libsvm.libsvm_files import FOLDER
from polytomy.datasets import read_data


@pytest.fixture(scope="session")
def flowers():
    """Return the samples of flowers.svm and their labels."""
    data = read_data(FOLDER / "flowers.svm")
    return data.X.toarray(), data.y
