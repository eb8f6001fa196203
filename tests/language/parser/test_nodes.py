import pytest

from polytomy.errors import ControlError
from polytomy.language.parser import Word
from polytomy.scheme import parse


def test_a_word_is_shown_with_its_quotes():
    assert Word("red soil", True, 0, 0).shown == '"red soil"'
    assert Word("corn", False, 0, 0).shown == "corn"


def test_a_very_long_word_is_shown_in_part():
    assert Word("a" * 40, False, 0, 0).shown == "a" * 40
    assert Word("a" * 41, True, 0, 0).shown == '"' + "a" * 39 + '…"'


@pytest.mark.parametrize(
    "text",
    ["{w} {{a}}", "m {{{w} {w}}}", "@{w} {{a b}}", "m 0/1; {w} {{a b}}", "m 0/1; {{a b {w}}}"],
)
def test_no_message_prints_a_very_long_word(text):
    with pytest.raises(ControlError) as caught:
        parse(text.format(w="w" * 100_000))
    assert all(len(problem.message) < 300 for problem in caught.value.problems)
    assert len(str(caught.value)) < 2000
