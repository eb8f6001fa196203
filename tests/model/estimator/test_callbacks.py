"""scikit-learn's callbacks."""

import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from polytomy import PolytomyClassifier
from polytomy.learners.workload import TrainingListener
from polytomy.model.estimator import CallbackListener


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_callbacks_hear_of_the_fit_and_of_each_binary(iris):
    callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9 or later")

    class Names:
        def __init__(self):
            self.names = []

        def setup(self, estimator, context):
            self.names.append("setup")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.names.append(context.task_name)

        def teardown(self, estimator, context):
            self.names.append("teardown")

    names = Names()
    assert isinstance(names, callback.FitCallback)
    PolytomyClassifier(GaussianNB(), "tree").set_callbacks(names).fit(*iris)
    assert names.names == ["setup", "tree", "tree.01", "fit", "teardown"]


def test_an_estimator_without_callbacks_is_trained_without_them(iris):
    listener = CallbackListener(PolytomyClassifier(), 3, *iris, TrainingListener())
    listener.trained("tree")
    listener.end(*iris)
