"""Markup: text never becomes markup."""

from hypothesis import example, given
from hypothesis import strategies as st

from polytomy.markup import Markup, join, tag
from report.pages import parse_page

# HTML has no null character, and reads a carriage return as a line break.
TEXTS = st.text(st.characters(exclude_characters="\x00\r", codec="utf-8"))


@given(TEXTS)
@example('"><script>alert(1)</script>')
@example("&lt;' onload='x")
def test_text_survives_a_round_trip(text):
    (element,) = parse_page(tag("p", text, title=text)).children
    assert element.text == text
    assert element.attributes == {"title": text}


@given(st.lists(TEXTS))
def test_children_keep_their_order(texts):
    page = parse_page(tag("ul", [tag("li", text) for text in texts]))
    assert [item.text for item in page.find("li")] == texts


def test_markup_is_not_escaped_again():
    assert join([tag("b", "<"), None, Markup("<br>"), 7]) == "<b>&lt;</b><br>7"


def test_none_and_false_omit_an_attribute():
    assert tag("td", hidden=True, class_=None, open=False, data_value=0.25) == (
        '<td hidden data-value="0.25"></td>'
    )
