"""Messages of errors and warnings: their parts, their wording, and that they survive copies."""

import ast
import copy
import pickle
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy import errors
from polytomy.errors import (
    Argument,
    ArgumentError,
    CalibrationWarning,
    CodeError,
    CodeProblem,
    ControlError,
    DataError,
    ModelFileError,
    PolytomyError,
    PolytomyWarning,
    Problem,
    PythonOnly,
    RoutineWarning,
    SchemeError,
    warn_caller,
)

MADE_OF_PARTS = [
    ArgumentError,
    CalibrationWarning,
    DataError,
    ModelFileError,
    RoutineWarning,
    SchemeError,
]
NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(), max_size=3)
ARGUMENTS = st.builds(Argument, NAMES) | st.builds(Argument, NAMES, VALUES)
TEXTS = st.text(max_size=20)
EVERYWHERE = st.lists(TEXTS | ARGUMENTS, min_size=1, max_size=6)
PARTS = st.lists(TEXTS | ARGUMENTS | st.builds(PythonOnly, TEXTS), min_size=1, max_size=6)
KINDS = st.sampled_from(MADE_OF_PARTS)


@given(KINDS, PARTS)
def test_a_message_is_its_parts_in_order(kind, parts):
    assert str(kind(*parts)) == "".join(str(part) for part in parts)


@given(KINDS, EVERYWHERE)
def test_shown_as_in_python_a_message_is_the_same(kind, parts):
    error = kind(*parts)
    assert error.worded(str) == str(error)


@given(KINDS, PARTS)
def test_only_arguments_are_shown_in_another_way_and_python_parts_are_left_out(kind, parts):
    expected = ""
    for part in parts:
        if isinstance(part, Argument):
            expected += f"<{part.name}>"
        elif not isinstance(part, PythonOnly):
            expected += part
    assert kind(*parts).worded(lambda argument: f"<{argument.name}>") == expected


@given(KINDS, PARTS)
def test_the_parameter_is_the_first_argument_mentioned(kind, parts):
    names = [part.name for part in parts if isinstance(part, Argument)]
    assert kind(*parts).parameter == (names[0] if names else None)


@given(KINDS, PARTS)
def test_copies_and_pickles_keep_the_message_and_its_parts(kind, parts):
    error = kind(*parts)
    for again in (
        copy.copy(error),
        copy.deepcopy(error),
        *(pickle.loads(pickle.dumps(error, protocol)) for protocol in range(2, 6)),
    ):
        assert type(again) is kind
        assert str(again) == str(error)
        assert again.worded(repr) == error.worded(repr)
        assert again.parameter == error.parameter


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (Argument("solver", "price"), 'solver="price"'),
        (Argument("cv", 5), "cv=5"),
        (Argument("target", None), "target=None"),
        (Argument("target"), "target"),
        (Argument("name", 'a "b"'), "name='a \"b\"'"),
        (Argument("name", "it's"), 'name="it\'s"'),
        (Argument("name", "a\nb"), 'name="a\\nb"'),
        (Argument("trusted", ["a.B"]), "trusted=['a.B']"),
    ],
)
def test_an_argument_is_written_as_in_python(argument, text):
    assert str(argument) == text


@given(NAMES, st.text())
def test_a_text_argument_is_a_python_literal(name, value):
    shown = str(Argument(name, value)).removeprefix(f"{name}=")
    assert ast.literal_eval(shown) == value


def test_an_argument_whose_value_is_none_has_a_value():
    assert Argument("target", None).has_value
    assert not Argument("target").has_value


CONTROL = ControlError(
    (
        Problem("a.control", 2, 4, "class b is missing", "m {a}", 3),
        Problem("a.control", 3, 1, "a brace is missing"),
    )
)
CODE = CodeError((CodeProblem("row 0 has one side", rows=(0,)),))


@pytest.mark.parametrize("error", [CONTROL, CODE])
def test_lists_of_problems_are_worded_and_copied_alike(error):
    assert error.worded(repr) == str(error)
    assert error.parameter is None
    again = pickle.loads(pickle.dumps(error))
    assert again.problems == error.problems
    assert str(again) == str(error)


def test_a_control_error_shows_every_problem_and_its_position():
    assert str(CONTROL) == (
        "a.control:2:4: class b is missing\n  m {a}\n     ^\na.control:3:1: a brace is missing"
    )
    assert (CONTROL.file, CONTROL.line, CONTROL.column) == ("a.control", 2, 4)
    assert CONTROL.message == "class b is missing"


def test_the_caret_stays_below_its_character_after_a_tab():
    problem = Problem("a.control", 1, 3, "class b is missing", "\tm b", 3)
    assert str(problem).splitlines()[1:] == ["  \tm b", "  \t  ^"]


def test_a_code_error_shows_ten_problems_and_counts_the_rest():
    error = CodeError(tuple(CodeProblem(f"problem {i}") for i in range(13)))
    assert str(error).startswith("problem 0; problem 1; ")
    assert str(error).endswith("problem 9; and 3 more")


def test_every_error_and_warning_is_under_its_base_class_and_listed():
    own = {name: kind for name, kind in vars(errors).items() if name.endswith(("Error", "Warning"))}
    assert {"ArgumentError", "CalibrationWarning"} <= own.keys()
    for name, kind in own.items():
        assert name in errors.__doc__
        if name.endswith("Error"):
            assert issubclass(kind, PolytomyError)
            assert kind is PolytomyError or issubclass(kind, ValueError | RuntimeError)
        if name.endswith("Warning"):
            assert issubclass(kind, PolytomyWarning)


def test_a_warning_is_given_at_the_line_of_the_caller():
    with warnings.catch_warnings(record=True, action="always") as caught:
        warn_caller(RoutineWarning(Argument("n_jobs", 2), " is ignored"), RoutineWarning)
        warn_caller("plain", CalibrationWarning)
    assert [str(each.message) for each in caught] == ["n_jobs=2 is ignored", "plain"]
    assert [each.category for each in caught] == [RoutineWarning, CalibrationWarning]
    assert {each.filename for each in caught} == {__file__}
