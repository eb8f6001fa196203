import pytest

from polytomy.errors import ControlError
from polytomy.language import MAX_CHARACTERS
from polytomy.scheme import parse, read
from polytomy.scheme.reading import decode_text


def problem_of(call):
    with pytest.raises(ControlError) as caught:
        call()
    (problem,) = caught.value.problems
    return problem.file, problem.line, problem.column, problem.message


def test_a_file_is_named_in_its_problems(tmp_path):
    path = tmp_path / "land.control"
    path.write_text("m {a b}\nn")
    file, line, column, _ = problem_of(lambda: read(path))
    assert (file, line, column) == (str(path), 2, 1)


def test_a_file_may_start_with_a_byte_order_mark_and_have_any_line_ends(tmp_path):
    path = tmp_path / "land.control"
    path.write_bytes("\ufeffm { # kind\r\n é b\r\n}\r\n".encode())
    assert read(path) == read(str(path)) == parse("m {é b}")


def test_bytes_that_are_not_utf8_have_a_position(tmp_path):
    path = tmp_path / "land.control"
    path.write_bytes("m {é\n é".encode() + b"\xff}")
    assert problem_of(lambda: read(path))[1:] == (
        2,
        3,
        "byte 0xff is not UTF-8 text; save the file as UTF-8",
    )


@pytest.mark.parametrize("text", ["m {\n \ud800 b}", 'm {\n"\udfff" b}'])
def test_a_lone_surrogate_is_a_problem_with_its_position(text):
    _, line, column, message = problem_of(lambda: parse(text))
    assert (line, column) == (2, 2)
    assert message == "a lone surrogate is not a character; decode the file as UTF-8"


def test_a_file_over_the_limit_is_refused():
    data = bytes(4 * MAX_CHARACTERS + 1)
    words = "the file is larger than the limit of 67,108,864 bytes"
    assert problem_of(lambda: decode_text(data, "f")) == ("f", 1, 1, words)


def test_a_file_that_is_not_there_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing.control")


@pytest.mark.parametrize("text", [None, b"m {a b}", 7])
def test_values_that_are_not_text_are_a_type_error(text):
    with pytest.raises(
        TypeError, match=r"a control text must be a str; got .*\. Use pt\.read to read a file"
    ):
        parse(text)
