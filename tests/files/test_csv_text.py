"""CSV text whose cells no spreadsheet runs, and from which every text can be restored."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.files import escape_formula, to_csv

SIGNS = "=+-@\t\r\n＝＋－＠"
TEXTS = st.text(st.sampled_from([*SIGNS, "'", '"', ",", "a", "1", " "]), max_size=6)


def restore(text):
    """Undo the escape, as docs/files.md says."""
    return text[1:] if re.match(f"'+[{re.escape(SIGNS)}].", text, re.DOTALL) else text


@given(TEXTS)
def test_escaped_text_is_not_a_formula_and_can_be_restored(text):
    escaped = escape_formula(text)
    is_number = re.fullmatch(r"[+-][0-9.]+", escaped) is not None
    assert len(escaped) < 2 or escaped[0] not in SIGNS or is_number
    assert restore(escaped) == text


@pytest.mark.parametrize("value", [-1, -0.5, 1e-9, True, None, "-1", "+2.5", "-1e-5", "-", "oak"])
def test_numbers_and_single_signs_and_words_stay_as_they_are(value):
    assert escape_formula(value) == value


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-2+3", "-1-1", "@SUM(A1)", "\t=1", "\r=1", "--", "-.", "＝1"]
)
def test_formulas_have_an_apostrophe(text):
    assert escape_formula(text) == f"'{text}"


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1))
def test_rows_are_read_back(rows):
    for escape, restored in ((True, restore), (False, str)):
        text = to_csv(rows, escape=escape)
        found = list(csv.reader(io.StringIO(text, newline="")))
        assert [[restored(cell) for cell in row] for row in found] == rows
