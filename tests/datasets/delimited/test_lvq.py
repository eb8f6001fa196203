"""LVQ ASCII files."""

import pytest

from polytomy.datasets import read_data


def test_features_and_labels_are_read(tmp_path, read_error):
    path = tmp_path / "d.lvq"
    path.write_text("# plants\n2\n1 2 oak\n# more\n3\t4 elm\n")
    data = read_data(path)
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.y.tolist() == ["oak", "elm"]
    assert data.row_numbers.tolist() == [3, 5]
    path.write_text("2\n1 2\n3 4\n")
    assert read_data(path, target=None).X.tolist() == [[1, 2], [3, 4]]
    assert "line 2: there is no label after the features. Use target=None to read" in read_error(
        path
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("two\n1 2 a\n", "line 1: the first line must start with the number of features"),
        ("-2\n1 2 a\n", "line 1: the first line must start with the number of features"),
        (f"{'9' * 5000}\n1 a\n", "line 1: the first line must start with the number of features"),
        ("900000000\n1 a\n", "line 2: expected 900000000 features and a label; found 2 fields"),
        ("2\n", "the file has no data after the number of features"),
        ("2\n1 2 3 a\n", "line 2: expected 2 features and a label; found 4 fields"),
        ("2\n1 2 a\n1 a\n", "line 3: expected 3 fields; found 2"),
        ("2\n1 2 a\n1 x a\n", 'line 3, column 2: "x" is not a number'),
    ],
)
def test_a_mistake_is_an_error_with_its_line(tmp_path, read_error, text, words):
    (tmp_path / "d.lvq").write_text(text)
    assert words in read_error(tmp_path / "d.lvq")
