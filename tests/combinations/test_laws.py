"""Laws for random combinations of everything; see `combination.py` and `laws.py`.

COMBINATIONS is how many, and FIRST_COMBINATION the number of the first. A combination that fails
says how to run it alone.
"""

import os
import warnings
from contextlib import contextmanager

import pytest

from combinations.combination import Combination
from combinations.laws import LAWS, LAWS_OF_REFITS, fit, is_refusal, two_jobs_give_the_same

FIRST = int(os.environ.get("FIRST_COMBINATION", "0"))
NUMBERS = range(FIRST, FIRST + int(os.environ.get("COMBINATIONS", "60")))


@contextmanager
def refusing(combination, *, may_refuse=True):
    """Let a combination be refused with a good error, and tell how to repeat any other."""
    try:
        yield
    except Exception as error:
        if may_refuse and is_refusal(error):
            return
        error.add_note(
            f"{combination}\nFIRST_COMBINATION={combination.number} COMBINATIONS=1 "
            "python -m pytest tests/combinations"
        )
        raise


def check(combination, laws, folder):
    """Fit a classifier and check laws."""
    case = None
    with refusing(combination, may_refuse=not combination.is_ordinary):
        case = fit(combination, folder)
    if case is None:
        return
    for law in laws:
        with refusing(combination), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            law(case)


@pytest.mark.parametrize("number", NUMBERS)
def test_laws_hold_or_the_combination_is_refused(number, tmp_path):
    refit = LAWS_OF_REFITS[number % len(LAWS_OF_REFITS)]
    check(Combination.draw(number), [refit, *LAWS], tmp_path)


# Processes take longer than everything else.
@pytest.mark.parametrize("number", NUMBERS[::30])
def test_two_jobs_give_the_same(number, tmp_path, joblib_processes):
    check(Combination.draw(number), [two_jobs_give_the_same], tmp_path)
