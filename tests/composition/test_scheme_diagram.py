"""Schemes as HTML."""

from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from polytomy import PolytomyClassifier, parse
from polytomy.composition.scheme_diagram import scheme_as_html
from polytomy.designs import one_vs_rest
from polytomy.scheme.ensemble import SchemeEnsemble


def test_only_a_fitted_classifier_shows_its_scheme():
    classifier = PolytomyClassifier(GaussianNB(), "one-vs-rest")
    assert "@one-vs-rest" not in classifier._repr_html_()
    page = classifier.fit(*load_iris(return_X_y=True))._repr_html_()
    assert "@one-vs-rest {0 1 2}" in page
    assert "Scheme: code, 3 classes, 3 partitions" in page


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
