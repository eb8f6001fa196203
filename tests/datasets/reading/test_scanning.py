"""A first pass over a file."""

import numpy as np
import pytest

from polytomy.datasets import read_data
from polytomy.datasets.reading import open_table, scan_table
from polytomy.datasets.tables import ReadOptions
from polytomy.errors import DataError


def scan_file(path, visit=None, **options):
    return scan_table(open_table(path, None, ReadOptions(**options)), visit)


def test_a_scan_finds_what_reading_the_whole_file_finds(tmp_path):
    path = tmp_path / "plants.csv"
    path.write_text("height,colour,kind\n9,green,oak\n2,yellow,corn\n8,dark,oak\n1,dark,corn\n")
    whole = read_data(path, categories="one-hot")
    seen = []
    scan = scan_file(path, lambda X: seen.append(len(X)), categories="one-hot")
    assert scan.classes.tolist() == ["corn", "oak"]
    assert scan.counts.tolist() == [2, 2]
    assert (scan.n_rows, scan.n_features, seen) == (4, 2, [4])
    assert (scan.columns, scan.label_name) == (whole.columns, "kind")
    assert scan.categories == whole.categories
    assert scan.is_zero_based is None


def test_labels_have_the_type_of_all_labels_of_the_file(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("1,10\n2,9\n3,9\n")
    assert scan_file(path).classes.tolist() == [9, 10]
    path.write_text("1,10\n2,9\n3,nine\n")
    assert scan_file(path).classes.tolist() == ["10", "9", "nine"]


def test_given_classes_may_be_missing_but_no_others_may_be_there(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("1,a\n2,b\n")
    scan = scan_file(path, classes=["a", "b", "c"])
    assert scan.counts.tolist() == [1, 1, 0]
    with pytest.raises(DataError, match=r'line 2.*"b" is not one of the classes a'):
        scan_file(path, classes=["a"])


def test_sparse_data_has_its_number_of_features(tmp_path):
    path = tmp_path / "d.svm"
    path.write_text("1 1:0.5 7:1\n2 3:1\n")
    scan = scan_file(path)
    assert (scan.n_features, scan.is_zero_based) == (7, False)
    np.testing.assert_array_equal(scan.classes, [1, 2])
