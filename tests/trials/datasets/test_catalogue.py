"""The datasets of the experiments."""

import pytest
from sklearn.svm import SVC

from polytomy.learners.specification import estimator_from
from polytomy.trials import CATALOGUE


def test_the_catalogue_has_the_sizes_of_the_published_table():
    # Mills 2019, table of datasets; usps as published elsewhere; the table has 9292.
    published = {
        "letter": (16, 26, 20000),
        "pendigits": (16, 10, 10992),
        "usps": (256, 10, 9298),
        "segment": (19, 7, 2310),
        "sat": (36, 6, 6435),
        "urban": (147, 9, 675),
        "shuttle": (9, 7, 58000),
        "humidity": (7, 8, 8600),
    }
    for name, sizes in published.items():
        known = CATALOGUE[name]
        assert (known.n_features, len(known.classes), known.n_samples) == sizes
        assert len(known.classes) == len(known.counts)
    assert CATALOGUE["shuttle"].counts == (45586, 50, 171, 8903, 3267, 10, 13)


@pytest.mark.parametrize("name", CATALOGUE)
def test_labels_are_distinct_and_the_estimator_is_a_support_vector_machine(name):
    known = CATALOGUE[name]
    assert known.name == name
    assert len(set(known.classes)) == len(known.classes)
    assert isinstance(estimator_from(known.estimator, default=None), SVC)


def test_the_number_of_samples_is_the_sum_over_the_classes():
    known = CATALOGUE["shuttle"]
    assert known.n_samples == 45586 + 50 + 171 + 8903 + 3267 + 10 + 13
