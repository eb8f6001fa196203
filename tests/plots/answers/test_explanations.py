"""Bars of explanations."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris

from plots.axes import check_needs_matplotlib
from polytomy import PolytomyClassifier, plots
from polytomy.errors import ArgumentError

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def explained():
    return PolytomyClassifier(random_state=0).fit(X, Y).explain(X[[77]])[0]


def test_bars_are_the_terms_and_their_sum(explained):
    axes = plots.explanation(explained)
    widths = [bar.get_width() for bar in axes.patches]
    expected = [term.adds for term in explained.terms] + list(explained.rest.values())
    np.testing.assert_allclose(widths, [*expected, explained.difference])
    assert sum(widths[:-1]) == pytest.approx(widths[-1])
    assert axes.get_title() == "2 over 1"


def test_partitions_beyond_the_most_share_a_bar(explained):
    axes = plots.explanation(explained, most=1)
    widths = [bar.get_width() for bar in axes.patches]
    assert widths[1] == pytest.approx(sum(term.adds for term in explained.terms[1:]))
    assert axes.get_yticklabels()[1].get_text() == "2 more partitions"


def test_given_axes_are_used(explained):
    axes = plt.subplots()[1]
    assert plots.explanation(explained, ax=axes) is axes


def test_several_explanations_are_refused():
    with pytest.raises(ArgumentError, match=r"explained must be one explanation, such as"):
        plots.explanation([])


def test_it_needs_matplotlib(monkeypatch, explained):
    check_needs_matplotlib(monkeypatch, lambda: plots.explanation(explained))
