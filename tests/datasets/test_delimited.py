"""CSV and TSV: what is read, and where each kind of mistake is found."""

import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from polytomy.datasets import open_blocks, read_data
from polytomy.errors import ArgumentError, DataError

PLANTS = "height,width,kind\n1.5,2,oak\n0.5,3,corn\n7,-1e2,oak\n"


def _file(tmp_path, text, name="plants.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def _error(tmp_path, text, name="plants.csv", **options):
    with pytest.raises(DataError) as info:
        read_data(_file(tmp_path, text, name), **options)
    return str(info.value).removeprefix(f"{tmp_path}/")


def test_features_labels_names_and_lines(tmp_path):
    data = read_data(_file(tmp_path, PLANTS))
    np.testing.assert_array_equal(data.X, [[1.5, 2], [0.5, 3], [7, -100]])
    assert data.y.tolist() == ["oak", "corn", "oak"]
    assert data.feature_names == data.columns == ("height", "width")
    assert data.row_numbers.tolist() == [2, 3, 4]
    assert repr(data) == "<Data: 3 samples of 2 features>"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.csv", PLANTS.replace("\n", "\r\n")),
        ("p.csv", PLANTS.replace("\n", "\r")),
        ("p.csv", "\ufeff" + PLANTS),
        ("p.csv", PLANTS.replace(",", ";")),
        ("p.csv", PLANTS.replace(",", " , ")),
        ("p.csv", PLANTS.replace("oak", '"oak"').replace("1.5", '"1.5"')),
        ("p.csv", PLANTS.rstrip("\n")),
        ("p.tsv", PLANTS.replace(",", "\t")),
    ],
)
def test_other_ways_to_write_the_same(tmp_path, name, text):
    data = read_data(_file(tmp_path, text, name))
    np.testing.assert_array_equal(data.X, [[1.5, 2], [0.5, 3], [7, -100]])
    assert data.y.tolist() == ["oak", "corn", "oak"]
    assert data.feature_names == ("height", "width")


def test_gzipped_files_are_known_by_their_content(tmp_path):
    for name in ("p.csv.gz", "p.csv"):
        data = read_data(_file(tmp_path, gzip.compress(PLANTS.encode()), name))
        assert data.X.shape == (3, 2)


def test_blank_lines_count_but_are_no_samples(tmp_path):
    data = read_data(_file(tmp_path, "\n1,2,a\n \n3,4,b\n\n"))
    assert data.row_numbers.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("text", "has_header"),
    [
        ("1,2,oak\n3,4,elm", False),
        ("a,b,c\n3,4,elm", True),
        ("0,1,2,label\n3,4,5,elm", True),  # a frame whose columns were never named
        ("0,1,3,label\n3,4,5,elm", False),
    ],
)
def test_a_header_is_found(tmp_path, text, has_header):
    data = read_data(_file(tmp_path, text))
    assert len(data.X) == (1 if has_header else 2)
    assert (data.feature_names is not None) == has_header


def test_a_header_of_numbers_is_known_by_the_names_asked_for(tmp_path):
    path = _file(tmp_path, "2001,2007,2009\n1,2,7\n3,4,8\n")
    for target in ("2009", 2009):
        data = read_data(path, target=target)
        assert data.X.tolist() == [[1, 2], [3, 4]]
        assert data.feature_names == ("2001", "2007")
        assert data.y.tolist() == [7, 8]
    data = read_data(path, target=None, features=["2007", "2001"])
    assert data.X.tolist() == [[2, 1], [4, 3]]
    assert len(read_data(path).X) == 3  # nothing tells that it is a header
    assert "no column 2010 for the label among 3" in _error(tmp_path, PLANTS, target=2010)


@pytest.mark.parametrize("first", ["1,2,3,4", "400,410,420,kind", "kind,2001,2002,2003", "9,7,5,3"])
def test_a_line_that_may_be_header_or_sample_is_not_guessed(tmp_path, first):
    text = f"{first}\n0.5,0.25,0.5,1\n"
    words = _error(tmp_path, text)
    assert "plants.csv, line 1: " in words
    assert "may name the columns, or be a sample. Say header=True or header=False" in words
    path = _file(tmp_path, text.replace("kind", "8"))
    assert len(read_data(path, header=True).X) == 1
    assert len(read_data(path, header=False).X) == 2
    # Where the number of features is known, the first sample decides nothing.
    assert len(read_data(path, features=3).X) == 2


@pytest.mark.parametrize("first", ["1,1,1,1", "1,2,4,8", "1,2", "0.5,1,1.5,2", "1,2,oak"])
def test_other_numbers_are_samples(tmp_path, first):
    assert len(read_data(_file(tmp_path, f"{first}\n{first}\n")).X) == 2


def test_a_word_in_the_first_line_may_be_a_name(tmp_path):
    words = _error(tmp_path, "height,2,oak\n1,2,elm\n")
    assert 'line 1, column 1: "height" is not a number.' in words
    assert words.endswith("Say header=True if the line names the columns")
    assert "header" not in _error(tmp_path, "1,2,oak\nheight,2,elm\n")


def test_a_header_can_be_told(tmp_path):
    assert read_data(_file(tmp_path, "1,2,3\n4,5,6"), header=True).feature_names == ("1", "2")
    kinds = read_data(_file(tmp_path, "a,b\na,c"), header=False, categories="one-hot")
    assert kinds.y.tolist() == ["b", "c"]


@pytest.mark.parametrize("target", ["kind", 2, -1])
def test_the_label_by_name_or_position(tmp_path, target):
    assert read_data(_file(tmp_path, PLANTS), target=target).y.tolist() == ["oak", "corn", "oak"]


def test_the_label_may_stand_anywhere_or_nowhere(tmp_path):
    text = "kind,height\noak,1\nelm,2"
    data = read_data(_file(tmp_path, text), target="kind")
    assert data.X.tolist() == [[1], [2]]
    assert read_data(_file(tmp_path, "1,2\n3,4"), target=None).X.tolist() == [[1, 2], [3, 4]]


def test_labels_have_the_type_that_fits_all(tmp_path):
    assert read_data(_file(tmp_path, "1,3\n1,-4")).y.dtype == np.int64
    assert read_data(_file(tmp_path, "1,3\n1,4.5")).y.tolist() == [3.0, 4.5]
    assert read_data(_file(tmp_path, "1,3\n1,b")).y.tolist() == ["3", "b"]
    assert read_data(_file(tmp_path, "1,007\n1,8")).y.tolist() == ["007", "8"]


def test_features_are_picked_by_name_in_the_order_wanted(tmp_path):
    data = read_data(_file(tmp_path, PLANTS), target=None, features=["width", "height"])
    np.testing.assert_array_equal(data.X[0], [2, 1.5])
    assert data.feature_names == ("width", "height")
    assert data.y is None


def test_text_becomes_a_feature_for_each_value(tmp_path):
    text = "colour,size,kind\nred,1,a\nblue,2,b\nred,3,a"
    data = read_data(_file(tmp_path, text), categories="one-hot")
    assert data.feature_names == ("colour=blue", "colour=red", "size")
    np.testing.assert_array_equal(data.X, [[0, 1, 1], [1, 0, 2], [0, 1, 3]])
    assert data.categories == {"colour": ("blue", "red")}
    assert data.columns == ("colour", "size")


def test_known_categories_give_the_same_features_in_blocks(tmp_path):
    text = "colour,size,kind\nred,1,a\nblue,2,b\nred,3,a"
    path = _file(tmp_path, text)
    whole = read_data(path, categories="one-hot")
    blocks = list(open_blocks(path, n_rows=1, categories=whole.categories))
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), whole.X)
    assert blocks[0].feature_names == whole.feature_names
    with pytest.raises(
        DataError, match=r'line 2, column 1 .*"red" is none of the known values blue'
    ):
        list(open_blocks(path, categories={"colour": ["blue"]}))
    with pytest.raises(ArgumentError, match="needs the whole file"):
        open_blocks(path, categories="one-hot")
    with pytest.raises(ArgumentError, match="categories has 'weight', which is no feature"):
        read_data(path, categories=["weight"])
    with pytest.raises(ArgumentError, match='categories="some" is not known'):
        read_data(path, categories="some")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "plants.csv: the file is empty"),
        ("\n\n", "plants.csv: the file is empty"),
        ("a,b,c\n", "plants.csv: there is a header but no data"),
        (PLANTS + "1,,oak", 'line 5, column 2 ("width"): the value is missing'),
        (PLANTS + "1,NA,oak", 'line 5, column 2 ("width"): the value is missing (NA)'),
        (PLANTS + "1,nan,oak", 'line 5, column 2 ("width"): the value is missing (nan)'),
        (PLANTS + "1,inf,oak", 'line 5, column 2 ("width"): inf is not a finite number'),
        (PLANTS + "1,1e999,oak", 'column 2 ("width"): 1e999 is too large'),
        (PLANTS + "1,big,oak", '"big" is not a number. Use categories="one-hot" for columns of'),
        (PLANTS + "1,2,", 'line 5, column 3 ("kind"): the label is missing'),
        (PLANTS + "1,2", "line 5: there are 2 fields, but 3 columns"),
        (PLANTS + "1,2,3,oak", "line 5: there are 4 fields, but 3 columns"),
        (PLANTS + '1,2,"oak\nelm"\n', "line 5: a quoted field does not end on this line"),
        ("a,a,b\n1,2,3", 'the name "a" stands twice in the header'),
        ("a\nb\n", "there is no column for a feature beside the label"),
        (PLANTS + "1,\r2,oak", "line 5: there are 2 fields, but 3 columns"),
        (PLANTS + "1,2," + "x" * 131_073, "line 5: a field is longer than 131,072 characters. Is"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, text, words):
    assert words in _error(tmp_path, text)


def test_what_is_not_text_is_told_with_its_line(tmp_path):
    words = "plants.csv, line 5: byte 0xff is not UTF-8 text; save the file as UTF-8"
    assert _error(tmp_path, PLANTS.encode() + b"1,2,\xff") == words
    damaged = gzip.compress(PLANTS.encode() * 100)[:-20]
    assert "the gzip file is damaged or cut short" in _error(tmp_path, damaged)


def test_columns_that_are_not_there_are_told(tmp_path):
    assert 'no column "kin"; there are height, width, kind. Did you mean "kind"?' in _error(
        tmp_path, PLANTS, target="kin"
    )
    assert "there is no column 3 for the label among 3" in _error(tmp_path, PLANTS, target=3)
    assert 'no column is named "kind"' in _error(tmp_path, "1,2\n3,4", target="kind")
    assert 'no column "depth"' in _error(tmp_path, PLANTS, features=["width", "depth"])
    words = _error(tmp_path, "1,2,3\n4,5,6", target=None, features=2)
    assert "there are 3 columns; 2 are needed. If one of them is the label, say which" in words
    words = _error(tmp_path, "1,2\n4,5", features=["a", "b"])
    assert "1 columns beside the label; 2 are needed. If none of them is the label" in words


def test_a_label_that_is_not_known_is_told_with_its_line(tmp_path):
    words = 'plants.csv, line 3, column 3 ("kind"): label "corn" is none of the classes elm, oak'
    assert _error(tmp_path, PLANTS, classes=["elm", "oak"]) == words


def test_labels_find_their_classes_as_they_are_written_or_by_value(tmp_path):
    path = _file(tmp_path, "1,1.0\n1,2")
    assert read_data(path, classes=np.array([1, 2])).y.tolist() == [1, 2]
    assert next(open_blocks(path, classes=[1, 2])).y.dtype == np.int64
    assert next(open_blocks(path)).y.tolist() == ["1.0", "2"]


_TABLES = npst.arrays(
    np.float64,
    npst.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@given(_TABLES, st.integers(1, 9))
def test_blocks_put_together_are_the_whole(tmp_path_factory, X, n_rows):
    path = tmp_path_factory.mktemp("d") / "t.csv"
    path.write_text("\n".join(",".join(map(repr, row.tolist())) + ",a" for row in X))
    whole = read_data(path, header=False)
    np.testing.assert_array_equal(whole.X, X)
    blocks = list(open_blocks(path, n_rows=n_rows, header=False))
    assert all(len(block.X) <= n_rows for block in blocks)
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), X)
    rows = np.concatenate([block.row_numbers for block in blocks])
    np.testing.assert_array_equal(rows, whole.row_numbers)


def test_a_block_needs_a_row(tmp_path):
    with pytest.raises(ArgumentError, match="n_rows=0 is too few"):
        open_blocks(_file(tmp_path, PLANTS), n_rows=0)


def test_lines_that_go_over_the_end_of_a_piece_are_whole(tmp_path, monkeypatch):
    for size in range(1, 12):
        monkeypatch.setattr("polytomy.datasets.lines._CHUNK", size)
        for end in ("\n", "\r\n", "\r"):
            data = read_data(_file(tmp_path, PLANTS.replace("\n", end)))
            np.testing.assert_array_equal(data.X, [[1.5, 2], [0.5, 3], [7, -100]])
            assert data.row_numbers.tolist() == [2, 3, 4]
    monkeypatch.setattr("polytomy.datasets.lines.LONGEST_LINE", 20)
    assert "line 5: the line is longer than" in _error(tmp_path, PLANTS + "1," * 30)


def test_blocks_take_memory_for_themselves_only(tmp_path, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.lines._CHUNK", 2**16)
    path = tmp_path / "long.csv"
    path.write_text("0.123456789,0.987654321,a\n" * 200_000)
    tracemalloc.start()
    n_rows = sum(block.n_samples for block in open_blocks(path, n_rows=500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_rows == 200_000
    assert peak < path.stat().st_size / 4
