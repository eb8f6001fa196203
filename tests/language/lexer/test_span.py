import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ControlError
from polytomy.language.lexer import MAX_PROBLEMS, Report, Source, Span, printable


@given(st.text(alphabet="ab\n"), st.data())
def test_lines_and_columns_lead_back_to_the_offset(text, data):
    offset = data.draw(st.integers(0, len(text)))
    line, column = Source(text).place(offset)
    lines = text.split("\n")
    assert sum(len(before) + 1 for before in lines[: line - 1]) + column - 1 == offset
    assert 1 <= column <= len(lines[line - 1]) + 1
    assert Source(text).place_text(offset) == f"{line}:{column}"


def test_a_problem_shows_its_line_with_a_caret():
    problem = Source("m {\n  b c}", "land.control").problem(Span(6, 7), "class b is not known")
    assert str(problem).splitlines() == [
        "land.control:2:3: class b is not known",
        "    b c}",
        "    ^",
    ]


def test_a_tab_keeps_the_caret_below_its_character():
    problem = Source("\tm 0 / x;").problem(Span(7, 8), "wrong")
    assert str(problem).splitlines()[1:] == ["  \tm 0 / x;", "  \t      ^"]


def test_windows_line_ends_are_not_part_of_the_line():
    assert Source("a\r\nb").problem(Span(0, 1), "wrong").excerpt == "a"


def test_a_long_line_is_shown_in_part():
    text = "a " * 5000 + "/ b"
    excerpt, caret = str(Source(text).problem(Span(10_000, 10_001), "wrong")).splitlines()[1:]
    assert len(excerpt) < 140
    assert excerpt[len(caret) - 1] == "/"


def test_characters_that_could_change_a_terminal_are_replaced():
    problem = Source("a \x1b[2J").problem(Span(0, 1), "not \x1b[2J")
    assert str(problem).splitlines() == ["<text>:1:1: not \ufffd[2J", "  a \ufffd[2J", "  ^"]
    assert printable("é\t漢\x07") == "é\t漢\ufffd"


def test_problems_are_raised_together_in_the_order_of_the_text():
    report = Report(Source("a\nb c"))
    for offset, message in ((4, "third"), (0, "first"), (2, "second")):
        report.add(Span(offset, offset + 1), message)
    with pytest.raises(ControlError) as caught:
        report.raise_if_any()
    assert [problem.message for problem in caught.value.problems] == ["first", "second", "third"]
    assert (caught.value.line, caught.value.column, caught.value.message) == (1, 1, "first")


def test_a_report_without_problems_raises_nothing():
    report = Report(Source("a"))
    report.raise_if_any()
    assert report.problems == []


def test_a_report_is_raised_when_it_is_full():
    report = Report(Source("a" * 100))
    for offset in range(MAX_PROBLEMS - 1):
        report.add(Span(offset, offset + 1), "wrong")
    with pytest.raises(ControlError, match="50 problems found; the rest is not read") as caught:
        report.add(Span(60, 61), "wrong")
    assert len(caught.value.problems) == MAX_PROBLEMS + 1
