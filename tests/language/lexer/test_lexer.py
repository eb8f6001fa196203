import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.language.lexer import (
    MAX_PROBLEMS,
    Report,
    Source,
    TokenKind,
    escape_quoted,
    is_bare_word,
    is_name,
    tokenize,
)


def tokens(text):
    report = Report(Source(text))
    found = [(token.kind.name, token.text) for token in tokenize(report)]
    return found[:-1], [problem.message for problem in report.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "m{0 1}",
            [("WORD", "m"), ("OPEN", "{"), ("INTEGER", "0"), ("INTEGER", "1"), ("CLOSE", "}")],
        ),
        ("0/1;", [("INTEGER", "0"), ("SLASH", "/"), ("INTEGER", "1"), ("SEMICOLON", ";")]),
        ("0 1/ 2", [("INTEGER", "0"), ("INTEGER", "1"), ("SLASH", "/"), ("INTEGER", "2")]),
        ("0 /1", [("INTEGER", "0"), ("SLASH", "/"), ("INTEGER", "1")]),
        ("a/b.model", [("WORD", "a/b.model")]),
        ("../run/0/m", [("WORD", "../run/0/m")]),
        ("@one-vs-one", [("DESIGN", "one-vs-one")]),
        ("a@b", [("WORD", "a@b")]),
        ("-1", [("WORD", "-1")]),
        ('"a b"c', [("QUOTED", "a b"), ("WORD", "c")]),
        (r'"\"\\\n\t\r"', [("QUOTED", '"\\\n\t\r')]),
        ("a # b { \n c", [("WORD", "a"), ("WORD", "c")]),
        ("a#b", [("WORD", "a")]),
        ('"a # b"', [("QUOTED", "a # b")]),
        ("1" * 18, [("INTEGER", "1" * 18)]),
        ("1" * 19, [("WORD", "1" * 19)]),
        ("٣", [("WORD", "٣")]),
        ("a\u00a0b\u3000c", [("WORD", "a"), ("WORD", "b"), ("WORD", "c")]),
    ],
)
def test_a_text_is_split_into_tokens(text, expected):
    assert tokens(text) == (expected, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"a\nb', "a quote is not closed on its line"),
        ('"a\\', "a quote is not closed on its line"),
        (r'"\q"', r"\q is not an escape; write \\ for a backslash"),
        ("a \x00 b", r"character '\x00' is not allowed in a word"),
        ("\x7f", r"character '\x7f' is not allowed in a word"),
    ],
)
def test_invalid_text_is_reported(text, words):
    (message,) = tokens(text)[1]
    assert words in message


def test_a_token_knows_its_place():
    text = ' ab {\n "c d" }'
    for token in tokenize(Report(Source(text))):
        piece = text[token.start : token.end]
        assert piece == (f'"{token.text}"' if token.kind is TokenKind.QUOTED else token.text)


def test_reading_stops_after_too_many_problems():
    with pytest.raises(Exception, match="the rest is not read") as caught:
        list(tokenize(Report(Source("\x00 " * 10_000))))
    assert len(caught.value.problems) == MAX_PROBLEMS + 1


@given(st.text())
def test_every_text_in_quotes_reads_back_as_itself(text):
    assert tokens(escape_quoted(text)) == ([("QUOTED", text)], [])


@given(st.text(min_size=1))
def test_a_bare_word_is_one_word_token(text):
    one_word = tokens(text) in (([("WORD", text)], []), ([("INTEGER", text)], []))
    assert is_bare_word(text) == one_word
    assert is_name(text) == (tokens(text) == ([("WORD", text)], []))


@given(st.text())
def test_tokens_are_in_order_and_do_not_overlap(text):
    end = 0
    for token in tokenize(Report(Source(text))):
        assert end <= token.start <= token.end <= len(text)
        end = token.end
