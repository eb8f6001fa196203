import pytest
from hypothesis import given

from polytomy.language import Source, parse_text, print_branch
from polytomy.language.parser import Word, print_word
from strategies import schemes


@given(schemes(max_sides=4))
def test_printing_the_syntax_tree_of_a_printed_text_changes_nothing(scheme):
    text = str(scheme)
    assert print_branch(parse_text(Source(text))) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (" corn ", "corn"),
        ("m{a   b}", "m {a b}"),
        ("m{a n{b c}}", "m {\n  a\n  n {b c}\n}"),
        ("m 0/1 ; n 0 1/2;{a b c}", "m 0 / 1;\nn 0 1 / 2;\n{a b c}"),
        ("@one-vs-one{a b}", "@one-vs-one {a b}"),
        ('@adjacent "svc C=1"{a b}', '@adjacent "svc C=1" {a b}'),
        ("m {a m 0/1; {b c}}", "m {\n  a\n  m 0 / 1;\n  {b c}\n}"),
    ],
)
def test_a_text_has_one_canonical_form(text, printed):
    assert print_branch(parse_text(Source(text))) == printed


def test_words_keep_their_quotes():
    assert print_word(Word("corn", False, 0, 0)) == "corn"
    assert print_word(Word('a "b"\n', True, 0, 0)) == '"a \\"b\\"\\n"'


def test_levels_deeper_than_twenty_are_not_indented_further():
    text = "m {a " * 30 + "b" + "}" * 30
    lines = print_branch(parse_text(Source(text))).split("\n")
    assert max(len(line) - len(line.lstrip()) for line in lines) == 2 * 20
