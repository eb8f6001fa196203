"""Pictures of schemes."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from polytomy import PolytomyClassifier, parse
from polytomy.designs import one_vs_one, one_vs_rest
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.scheme.nodes import number_binaries
from polytomy.scheme.pictures import draw_scheme, scheme_as_html
from report.pages import parse_page
from strategies import coding_matrices, schemes


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


@given(schemes())
def test_a_picture_has_every_class_and_every_row_of_the_codes_once(scheme):
    links = {row: f"#row-{row}" for row in range(scheme.n_rows)}
    picture = draw_scheme(scheme, links)
    if not scheme.nodes:
        assert picture is None
        return
    page = parse_page(picture)
    assert [each.text for each in page.find("text")] == [
        label if len(label) <= 24 else f"{label[:23]}…" for label in map(str, scheme.classes)
    ]
    # A node of one model is one dot, which leads to its first row.
    firsts, row = [], 0
    for node in scheme.nodes:
        n_shown = 1 if node.code.n_partitions == 1 else node.code.n_rows
        firsts += range(row, row + n_shown)
        row += node.code.n_rows
    assert [each.attributes["href"] for each in page.find("a")] == [links[k] for k in firsts]


def test_a_wide_matrix_has_its_classes_on_both_sides():
    def positions(scheme):
        texts = parse_page(draw_scheme(scheme)).find("text")
        return [(each.text, float(each.attributes["x"])) for each in texts]

    wide = one_vs_one(list("abcdefghijklmnopqrstuvwxyz"))
    right, left = positions(wide)[::2], positions(wide)[1::2]
    assert [text for text, _ in left] == [text for text, _ in right] == list(wide.classes)
    assert max(x for _, x in left) < 30
    assert len(positions(one_vs_one(list("abcd")))) == 4


def test_wide_letters_fit_into_the_picture():
    widths = [
        float(parse_page(draw_scheme(parse(f"m {{a {label}}}"))).find("svg")[0].attributes["width"])
        for label in ("bbbbbbbb", "漢漢漢漢")
    ]
    assert widths[0] == widths[1]


@given(st.integers(3, 8).flatmap(coding_matrices))
def test_a_column_has_the_signs_of_its_row(code):
    assume(code.n_partitions > 1)
    names = number_binaries("p", code.n_partitions)
    scheme = Scheme.from_code(code, range(code.matrix.shape[1]), names)
    page = parse_page(draw_scheme(scheme))
    columns = [each.find("path") for each in page.find("g")]
    counts = [[path.attributes["d"].count("M") for path in paths] for paths in columns]
    assert counts == [[int((row == sign).sum()) for sign in (-1, 1)] for row in code.matrix]


def test_a_large_scheme_is_not_drawn():
    scheme = one_vs_one(200)
    assert draw_scheme(scheme) is None
    assert scheme._repr_html_().startswith("<details open>")


def test_a_scheme_shows_a_picture_in_a_notebook():
    assert "<svg" in parse("m {a n {b c}}")._repr_html_()


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
