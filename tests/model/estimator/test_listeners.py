"""Progress reporting."""

import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from polytomy import PolytomyClassifier
from polytomy.learners.workload import TrainingListener
from polytomy.model.estimator import CallbackListener, progress_bar


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


class Recorder(TrainingListener):
    def __init__(self, heard):
        self.heard = heard

    def trained(self, partition):
        self.heard.append(("trained", partition))

    def note(self, text):
        self.heard.append(("note", text))


def test_a_listener_for_callbacks_passes_everything_on(iris):
    heard = []
    listener = CallbackListener(PolytomyClassifier(), 1, *iris, Recorder(heard))
    listener.note("small")
    listener.trained("a")
    assert heard == [("note", "small"), ("trained", "a")]


def test_a_progress_bar_is_on_standard_error_with_notes_as_they_are(capsys):
    with progress_bar(2) as listener:
        listener.note("[red]one[/red] matrix")
        listener.trained("first")
        listener.trained("second [3]")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "[red]one[/red] matrix" in captured.err
    assert "2/2" in captured.err
    assert "second [3]" in captured.err


def test_a_verbose_fit_shows_a_progress_bar(iris, capsys):
    PolytomyClassifier(GaussianNB(), "tree", verbose=1).fit(*iris)
    error = capsys.readouterr().err
    assert "training" in error
    assert "2/2" in error
