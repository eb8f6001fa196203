"""Names and titles of measures."""

import pytest

from polytomy.errors import ArgumentError
from polytomy.trials import MEASURES
from polytomy.trials.results import find_measure


def test_measures_are_found_by_name():
    for name, measure in MEASURES.items():
        assert find_measure(name) == measure
        assert measure.name == name


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("accuracy", "largest"),
        ("uncertainty_coefficient", "largest"),
        ("log_loss", "smallest"),
        ("brier_score", "smallest"),
        ("fit_seconds", "smallest"),
        ("n_binaries", None),
        ("out_of_fold_log_loss", None),
    ],
)
def test_scores_are_maximised_and_losses_minimised(name, best):
    assert find_measure(name).best == best


def test_titles_are_distinct():
    assert len({measure.title for measure in MEASURES.values()}) == len(MEASURES)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("acuracy", "got 'acuracy'. Did you mean \"accuracy\"?"),
        ("xyz", 'measure must be "uncertainty_coefficient", "accuracy", "brier_score", '),
        (3, "got 3."),
    ],
)
def test_an_unknown_measure_is_an_error_with_a_suggestion(name, words):
    with pytest.raises(ArgumentError) as caught:
        find_measure(name)
    assert words in str(caught.value)
    assert caught.value.parameter == "measure"
