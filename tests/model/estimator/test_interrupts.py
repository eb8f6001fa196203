import pytest
from sklearn.base import BaseEstimator

from polytomy.model.estimator import undone_if_interrupted


class Counter(BaseEstimator):
    def __init__(self, error=None):
        self.error = error

    @undone_if_interrupted
    def fit(self, X, y=None):
        """Count rows."""
        self.__dict__.pop("total_", None)
        self.n_rows_ = len(X)
        if self.error is not None:
            raise self.error
        self.total_ = sum(X)
        return self


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupted_fit_leaves_the_earlier_one(error):
    counter = Counter().fit([1, 2])
    counter.error = error
    with pytest.raises(type(error)):
        counter.fit([1, 2, 3])
    assert (counter.n_rows_, counter.total_) == (2, 3)


def test_an_interrupted_first_fit_leaves_nothing():
    counter = Counter(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        counter.fit([1])
    assert vars(counter) == {"error": counter.error}


def test_a_fit_that_fails_does_not_leave_the_earlier_one():
    counter = Counter().fit([1, 2])
    counter.error = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        counter.fit([1, 2, 3])
    assert not hasattr(counter, "total_")


def test_the_method_keeps_its_name_and_help():
    assert Counter.fit.__name__ == "fit"
    assert Counter.fit.__doc__ == "Count rows."
