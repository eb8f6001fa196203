import pytest

from polytomy.errors import ArgumentError
from polytomy.learners.specification import estimator_from
from polytomy.scheme.reading import translate_letter


@pytest.mark.parametrize(("options", "n_neighbours"), [("", 11), ("-k 5", 5), ("  -k  3 -k 4 ", 4)])
def test_the_letter_of_nearest_neighbours_means_an_estimator(options, n_neighbours):
    estimator = estimator_from(translate_letter("K", options), None)
    assert type(estimator).__name__ == "KNeighborsClassifier"
    assert estimator.n_neighbors == n_neighbours


@pytest.mark.parametrize(
    ("letter", "options", "words"),
    [
        ("A", "", "A stands for adaptive Gaussian filtering of libAGF, which is not available"),
        ("G", "-k 5", "G stands for an external program of libAGF, which is not available"),
        ("K", "-k", "-k of K must be a positive whole number; got nothing"),
        ("K", "-k 0", "-k of K must be a positive whole number; got 0"),
        ("K", "-c 10", "K takes the option -k, the number of neighbours; got -c"),
    ],
)
def test_what_has_no_model_here_is_refused_by_name(letter, options, words):
    with pytest.raises(ArgumentError) as caught:
        translate_letter(letter, options)
    assert words in str(caught.value)
