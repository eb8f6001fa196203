"""Saved models for the tests that damage them, and the samples of LIBSVM's models."""

import re

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from final_maps import with_decoder
from persistence.libsvm.libsvm_files import FOLDER
from persistence.round_trips import X, Y
from persistence.saved_archives import pack, replace_field, unpack
from polytomy import PolytomyClassifier
from polytomy.datasets import read_data
from polytomy.errors import ModelFileError
from polytomy.persistence import load, save

SCHEME = "a {0 b {1 2}}"


@pytest.fixture(scope="session")
def save_to_bytes(tmp_path_factory):
    """Return a function that returns a classifier as the content of its file."""
    path = tmp_path_factory.mktemp("models") / "m.polytomy"

    def content_of(classifier, **options):
        save(classifier, path, **options)
        return path.read_bytes()

    return content_of


@pytest.fixture(scope="session")
def svm_model(save_to_bytes):
    """Return a saved tree of two SVCs that LIBSVM trained, the second of a kind of its own."""
    classifier = PolytomyClassifier(
        SVC(gamma=0.5), SCHEME, models={"b": SVC(kernel="poly")}, memory_budget=0
    )
    return save_to_bytes(classifier.fit(X, Y))


@pytest.fixture(scope="session")
def scaled_model(save_to_bytes):
    """Return a saved tree of linear machines after scalers, calibrated by isotonic regression."""
    estimator = make_pipeline(StandardScaler(), LinearSVC())
    return save_to_bytes(PolytomyClassifier(estimator, SCHEME, calibration="isotonic").fit(X, Y))


@pytest.fixture(scope="session")
def piped_model(save_to_bytes):
    """Return a saved pipeline of a scaler and a classifier."""
    return save_to_bytes(make_pipeline(StandardScaler(), PolytomyClassifier()).fit(X, Y))


@pytest.fixture(scope="session")
def skops_model(save_to_bytes):
    """Return a saved model whose binaries skops wrote."""

    return save_to_bytes(PolytomyClassifier(GaussianNB()).fit(X, Y))


@pytest.fixture(scope="session")
def decoder_model(save_to_bytes):
    """Return a saved model with a decoder as its final calibration, and out-of-fold scores."""
    classifier = PolytomyClassifier(SVC(gamma=0.5), SCHEME, keep_out_of_fold=True, random_state=0)
    return save_to_bytes(with_decoder(classifier.fit(X, Y)), out_of_fold=True)


@pytest.fixture(scope="session")
def provided_model(save_to_bytes):
    """Return a saved model whose final calibration is scikit-learn's, with out-of-fold scores."""

    classifier = PolytomyClassifier(
        SVC(gamma=0.5), SCHEME, final_calibration=LogisticRegression(C=5.0), random_state=0
    )
    return save_to_bytes(classifier.fit(X, Y), out_of_fold=True)


@pytest.fixture
def refusal(tmp_path):
    """Return a function that returns why a file is refused, without the name of the file."""

    def message_of(content, name="m.polytomy"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ModelFileError) as caught:
            load(path)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        return message.removeprefix(f"{path}: ")

    return message_of


@pytest.fixture
def assert_field_is_checked(refusal):
    """Return a function that asserts why a model is refused once one of its fields is changed."""

    def check(content, path, value, words):
        description, members = unpack(content)
        replace_field(description, path, value)
        assert re.search(words, refusal(pack(description, members)))

    return check


@pytest.fixture(scope="session")
def flowers():
    """Return the samples of flowers.svm and their labels."""
    data = read_data(FOLDER / "flowers.svm")
    return data.X.toarray(), data.y
