import numpy as np
import pytest
from scipy.sparse import csc_matrix

from polytomy.designs import decoc


def on_a_line(places, each=20, noise=0.1, seed=0):
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(places)), each)
    return (np.array(places, dtype=float)[y] + noise * random.normal(size=len(y)))[:, np.newaxis], y


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5, 12])
def test_it_is_a_code_over_all_classes(n_classes):
    X, y = on_a_line(range(n_classes), each=6)
    names = np.array(list("lkjihgfedcba"))
    scheme = decoc(X, names[y], random_state=0, name="land")
    assert scheme.is_flat
    assert sorted(scheme.classes) == sorted(names[:n_classes])
    assert n_classes == 1 or scheme.code.is_determined
    assert n_classes == 1 or scheme.nodes[0].binaries[0].text == "land-00"


def test_sparse_data_and_classes_of_one_sample_are_accepted():
    X, y = on_a_line(range(5), each=6)
    X = np.column_stack([X, X**2])
    keep = np.r_[0, 6:30]
    for data in (X[keep], csc_matrix(X[keep])):
        scheme = decoc(data, y[keep], random_state=1)
        assert sorted(scheme.classes) == list(range(5))
        assert scheme == decoc(data, y[keep], random_state=1)


def test_decoc_has_one_row_less_than_classes_and_is_a_tree():
    X, y = on_a_line([0, 1, 5, 6, 20, 21, 25])
    code = decoc(X, y).code
    assert code.n_partitions == 6
    assert code.is_tree


def test_decoc_separates_distant_classes_first():
    X, y = on_a_line([0, 30, 1, 31])
    assert decoc(X, y).code.matrix[0].tolist() == [-1, 1, -1, 1]


def test_the_local_search_finds_two_distant_groups_of_many_classes():
    X, y = on_a_line([*range(6), *range(100, 106)])
    first = decoc(X, y, random_state=0).code.matrix[0]
    assert abs(first.sum()) == 0
    assert len(set(first[:6])) == 1
