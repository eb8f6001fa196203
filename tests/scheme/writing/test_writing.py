import warnings

import pytest
from hypothesis import given

from polytomy.errors import ControlWarning
from polytomy.scheme import parse
from polytomy.scheme.codes import SHORT_FORMS
from strategies import schemes


def parse_quietly(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ControlWarning)
        return parse(text)


@given(schemes(max_sides=4))
def test_printing_then_parsing_returns_the_same_scheme(scheme):
    again = parse_quietly(str(scheme))
    assert again == scheme
    assert hash(again) == hash(scheme)
    assert [type(label) for label in again.classes] == [type(label) for label in scheme.classes]
    assert parse_quietly(scheme.compact()) == scheme


def test_codes_are_written_as_designs_if_rows_and_names_match():
    designs = '  @adjacent {a b c}\n  @orthogonal "svc" {d e f g}\n  @one-vs-rest x {h i j}\n'
    text = "@one-vs-one {\n" + designs + "}"
    assert parse(text).compact() == text
    scheme = parse("m 0/1; n 0/2; o 1/2; {a b c}")
    assert scheme.compact() == str(scheme)


def test_a_class_and_a_model_that_look_like_a_code_letter_are_kept_apart():
    scheme = parse('m {"-k 5" K 0 / 1; {a b}}')
    assert str(scheme) == 'm {\n  "-k 5"\n  K 0 / 1;\n  {a b}\n}'
    assert parse(str(scheme)) == parse(scheme.compact()) == scheme


@pytest.mark.parametrize("name", [name for name in SHORT_FORMS if name not in ("blocks", "cover")])
@pytest.mark.parametrize("n_classes", [3, 4, 7, 9])
def test_every_design_has_a_short_form(name, n_classes):
    text = f"@{name} {{{' '.join(map(str, range(n_classes)))}}}"
    scheme = parse_quietly(text)
    assert parse_quietly(scheme.compact()) == scheme
    assert scheme.compact().startswith("@")
