"""Tables in text give the same data and the same errors by pyarrow as line by line."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polytomy.datasets import read_data
from polytomy.datasets.delimited import DelimitedTable
from polytomy.errors import DataError

PLANTS = "height,width,kind\n1.5,2,oak\n0.5,3,corn\n7,-1e2,oak\n"


def read(path, *, with_arrow, **options):
    """Return what is read from a file, or the message of its error, and whether pyarrow read it."""
    parse, accepted = DelimitedTable._parse, []

    def spy(table, block):
        parsed = parse(table, block) if with_arrow else None
        accepted.append(parsed is not None)
        return parsed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DelimitedTable, "_parse", spy)
        try:
            data = read_data(path, **options)
        except DataError as error:
            return str(error), any(accepted)
    return data, bool(accepted) and all(accepted)


def assert_same(path, **options):
    """Assert that a file reads the same by pyarrow and line by line; return both answers."""
    with_arrow, is_read = read(path, with_arrow=True, **options)
    without, _ = read(path, with_arrow=False, **options)
    if isinstance(without, str):
        assert with_arrow == without
        return without, is_read
    assert not isinstance(with_arrow, str), with_arrow
    np.testing.assert_array_equal(with_arrow.X, without.X)
    assert np.array_equal(np.signbit(with_arrow.X), np.signbit(without.X))
    assert (with_arrow.y is None) == (without.y is None)
    if without.y is not None:
        np.testing.assert_array_equal(with_arrow.y, without.y)
        assert with_arrow.y.dtype == without.y.dtype
    np.testing.assert_array_equal(with_arrow.row_numbers, without.row_numbers)
    assert with_arrow.feature_names == without.feature_names
    assert with_arrow.categories == without.categories
    return without, is_read


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(
        ["1.", ".5", "1E3", "+2", " 3 ", '"4"', "1e-400", "-0", "0.1" + "0" * 40, "007"]
    ),
)
odd_numbers = st.one_of(
    st.sampled_from(["", " ", "NA", "nan", "-inf", "Infinity", "1e999", "1_0", "0x1", "1,5", "1e"]),
    st.sampled_from(["--1", "1 2", "e", "'1'", "True", "1d3", '"', '""', '"1""2"', '1"2"']),
    st.sampled_from(["\u0661", "\u00a01", "\ufeff1", "1\0"]),
)
labels = st.one_of(
    st.sampled_from(
        ["oak", "corn", "1", "1.0", "-2", "\u00e9", ' "oak" ', '"o""k"', '"a,b"', "o k"]
    ),
    st.text(max_size=4).filter(lambda text: not set(text) & set('\n\r",')),
)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(numbers, numbers, labels), min_size=1, max_size=6),
    odd=st.one_of(st.none(), st.tuples(st.integers(0, 5), st.integers(0, 1), odd_numbers)),
    header=st.sampled_from(["a,b,c", '"a","b","c"', None]),
    end=st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n \n"]),
    is_ended=st.booleans(),
)
def test_generated_tables(tmp_path_factory, rows, odd, header, end, is_ended):
    rows = [list(row) for row in rows]
    if odd is not None:
        rows[odd[0] % len(rows)][odd[1]] = odd[2]
    lines = [] if header is None else [header]
    lines += [",".join(row) for row in rows]
    text = end.join(lines) + (end if is_ended else "")
    path = tmp_path_factory.mktemp("d") / "t.csv"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert_same(path, header=header is not None)


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet='12.,"\n\r a#\t-e', min_size=1, max_size=40), st.sampled_from([-1, 0, None])
)
@example('1,2\n"3",4', -1)
@example('1,2\n"3,4\n', -1)
@example('1,2\n"3\n4",5', -1)
def test_any_text(tmp_path_factory, text, target):
    path = tmp_path_factory.mktemp("d") / "t.csv"
    path.write_text(text, newline="")
    assert_same(path, header=False, target=target)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (PLANTS, {}),
        (PLANTS, {"target": "height", "categories": "one-hot"}),
        (PLANTS, {"target": None, "categories": ["kind"]}),
        (PLANTS, {"features": ["width"]}),
        (PLANTS, {"features": ["width", "width", "height"]}),
        (PLANTS, {"features": ["kind", "width"], "target": "kind"}),
        (
            PLANTS,
            {
                "features": ["kind", "width", "kind"],
                "target": "height",
                "categories": {"kind": ["oak", "corn"]},
            },
        ),
        (PLANTS, {"classes": ["corn", "oak"]}),
        (PLANTS.replace(",", ";"), {}),
        (PLANTS.replace("oak", '"oak, old"'), {}),
        ("\ufeff" + PLANTS, {}),
        (PLANTS.replace("oak", "ch\u00eane"), {}),
        (PLANTS.rstrip(), {}),
    ],
)
def test_usual_tables_are_read_by_pyarrow(write_file, content, options):
    data, is_read = assert_same(write_file(content), **options)
    assert not isinstance(data, str)
    assert is_read


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (PLANTS + "1,,oak", {}, 'line 5, column 2 ("width"): the value is missing'),
        (PLANTS + "1,inf,oak", {}, 'line 5, column 2 ("width"): inf is not a finite number'),
        (PLANTS + "1,1e999,oak", {}, "1e999 is too large for a 64-bit number"),
        (PLANTS + "1,2", {}, "line 5: expected 3 fields; found 2"),
        (PLANTS + "1,2, ", {}, 'line 5, column 3 ("kind"): the label is missing'),
        (PLANTS + '1,"2,oak', {}, "line 5: a quoted field does not end on this line"),
        (PLANTS.encode() + b"1,2,\xff", {}, "line 5: byte 0xff is not UTF-8 text"),
        (PLANTS + "1,2,elm", {"classes": ["oak", "corn"]}, 'label "elm" is not one of the classes'),
        (
            PLANTS + "1,2,elm",
            {"target": 0, "categories": {"kind": ["oak", "corn"]}},
            '"elm" is not one of the known values oak, corn',
        ),
    ],
)
def test_errors_have_their_place(write_file, content, options, words):
    message, _ = assert_same(write_file(content), **options)
    assert words in message


def test_a_mark_at_the_start_of_a_later_line_is_not_left_out(write_file):
    message, _ = assert_same(write_file("a,b\n\ufeff1,2\n"))
    assert 'line 2, column 1 ("a"): "\ufeff1" is not a number' in message


def test_unused_columns_are_checked_for_their_text_only(write_file):
    path = write_file("a,b,c\n1,x,oak\n2,,elm\n")
    data, is_read = assert_same(path, features=["a"])
    assert is_read
    assert data.X.tolist() == [[1.0], [2.0]]
    path = write_file(b"a,b,c\n1,\xff,oak\n")
    assert "line 2: byte 0xff" in assert_same(path, features=["a"])[0]


@pytest.mark.parametrize("n_chunk", [2**12, 2**16])
def test_large_files_are_read_in_blocks(write_file, monkeypatch, n_chunk):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 30)), rng.integers(0, 700, 3000)
    lines = [",".join([*map(repr, row), f"k{k}"]) for row, k in zip(X.tolist(), y, strict=True)]
    path = write_file("\n".join(lines))
    monkeypatch.setattr("polytomy.datasets.sources._CHUNK", n_chunk)
    data, is_read = assert_same(path)
    assert is_read
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == [f"k{k}" for k in y]


def test_lines_longer_than_what_is_read_at_a_time(write_file, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.sources._CHUNK", 64)
    content = "\n".join(",".join(map(str, range(k, k + 500))) for k in range(3))
    data, is_read = assert_same(write_file(content), header=False)
    assert is_read
    assert data.X[:, 7].tolist() == [7.0, 8.0, 9.0]
