"""Schemes as HTML."""

import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from polytomy import PolytomyClassifier, parse
from polytomy.designs import one_vs_rest
from polytomy.model.answering import scheme_as_html
from polytomy.scheme import SchemeEnsemble


@pytest.mark.parametrize(
    "show",
    [lambda shown: shown._repr_html_(), lambda shown: shown._repr_mimebundle_()["text/html"]],
)
def test_only_a_fitted_classifier_shows_its_scheme(show):
    classifier = PolytomyClassifier(GaussianNB(), "one-vs-rest")
    assert "@one-vs-rest" not in show(classifier)
    page = show(classifier.fit(*load_iris(return_X_y=True)))
    assert page.count("@one-vs-rest {0 1 2}") == 1
    assert "Scheme: code, 3 classes, 3 partitions" in page


def test_a_classifier_that_is_displayed_as_text_has_no_html():
    classifier = PolytomyClassifier(GaussianNB()).fit(*load_iris(return_X_y=True))
    with config_context(display="text"):
        assert list(classifier._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(classifier, "_repr_html_")


def test_labels_are_escaped():
    html = scheme_as_html(one_vs_rest(["<b>", "a & b"]))
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert "a &amp; b" in html


def test_an_ensemble_shows_all_its_members():
    members = [parse("m {a n {b c}}"), parse("k {b l {a c}}")]
    text = "\n\n".join(member.compact() for member in members)
    assert f"<pre>{text}</pre>" in scheme_as_html(SchemeEnsemble(members))


def test_a_long_text_is_cut_after_forty_lines():
    partitions = "".join(f"p{k} {k} / {k + 1};" for k in range(50))
    scheme = parse(f"{partitions} {{{' '.join(map(str, range(51)))}}}")
    n_lines = len(scheme.compact().splitlines())
    assert n_lines > 40
    html = scheme_as_html(scheme)
    assert f"… {n_lines - 40} more lines" in html
    assert len(html.splitlines()) == 41
