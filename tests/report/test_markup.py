"""Markup: whatever the text is, it stays text."""

from hypothesis import example, given
from hypothesis import strategies as st

from pages import parse_page
from polytomy.report.markup import Markup, joined, tag

# HTML itself knows no null character, and reads a carriage return as a line break.
TEXTS = st.text(st.characters(exclude_characters="\x00\r", codec="utf-8"))


@given(TEXTS)
@example('"><script>alert(1)</script>')
@example("&lt;' onload='x")
def test_text_is_read_back_as_text(text):
    (element,) = parse_page(tag("p", text, title=text)).children
    assert element.text == text
    assert element.attributes == {"title": text}


@given(st.lists(TEXTS))
def test_children_stand_in_their_order(texts):
    page = parse_page(tag("ul", [tag("li", text) for text in texts]))
    assert [item.text for item in page.find("li")] == texts


def test_markup_is_not_escaped_again():
    assert joined([tag("b", "<"), None, Markup("<br>"), 7]) == "<b>&lt;</b><br>7"


def test_attributes_without_meaning_are_left_out():
    assert tag("td", hidden=True, class_=None, open=False, data_value=0.25) == (
        '<td hidden data-value="0.25"></td>'
    )
