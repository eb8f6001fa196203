import numpy as np
import pytest
from scipy.sparse import csc_matrix
from sklearn.linear_model import LogisticRegression

from polytomy.designs import data_driven_code, decoc
from polytomy.designs.dichotomies import Dichotomies
from polytomy.errors import ArgumentError
from polytomy.inputs.class_samples import group_samples


def on_a_line(places, each=20, noise=0.1, seed=0):
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(places)), each)
    return (np.array(places, dtype=float)[y] + noise * random.normal(size=len(y)))[:, np.newaxis], y


@pytest.mark.parametrize("make", [data_driven_code, decoc])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5, 12])
def test_it_is_a_code_over_all_classes(make, n_classes):
    X, y = on_a_line(range(n_classes), each=6)
    names = np.array(list("lkjihgfedcba"))
    scheme = make(X, names[y], random_state=0, name="land")
    assert scheme.is_flat
    assert sorted(scheme.classes) == sorted(names[:n_classes])
    assert n_classes == 1 or scheme.code.is_determined
    assert n_classes == 1 or scheme.nodes[0].binaries[0].text == "land-00"


@pytest.mark.parametrize("make", [data_driven_code, decoc])
def test_sparse_data_and_classes_of_one_sample_are_accepted(make):
    X, y = on_a_line(range(5), each=6)
    X = np.column_stack([X, X**2])
    keep = np.r_[0, 6:30]
    for data in (X[keep], csc_matrix(X[keep])):
        scheme = make(data, y[keep], random_state=1)
        assert sorted(scheme.classes) == list(range(5))
        assert scheme == make(data, y[keep], random_state=1)


@pytest.mark.parametrize("seed", range(4))
def test_each_row_is_worth_at_least_as_much_as_those_chosen_later(seed):
    random = np.random.default_rng(seed)
    X, y = on_a_line(random.permutation(6), each=8, noise=0.8, seed=seed)
    rows = data_driven_code(X, y, n_partitions=12, random_state=seed).code.matrix
    samples = group_samples(X, y)
    judge = Dichotomies(samples, random_state=seed)
    left_by = []
    for row in rows:
        sides = frozenset(np.flatnonzero(row < 0)), frozenset(np.flatnonzero(row > 0))
        above = (1 + judge.answers(*sides)) / 2
        means = np.array([above[samples.class_indices == i].mean() for i in range(6)])
        same_side = np.outer(means, means) + np.outer(1 - means, 1 - means)
        left_by.append(np.where(np.outer(row, row) < 0, np.minimum(1, 2 * same_side), 1))
    doubt = 1 - np.eye(6)
    for step in range(len(rows)):
        worth = [(doubt * (1 - left_by[i])).sum() / np.count_nonzero(rows[i])
                 for i in range(step, len(rows))]  # fmt: skip
        assert worth[0] >= max(worth) * (1 - 1e-12)
        doubt *= left_by[step]


def test_there_are_n_partitions_or_as_many_as_separate_the_classes():
    X, y = on_a_line(range(6))
    assert data_driven_code(X, y, random_state=0).n_partitions == 12
    assert data_driven_code(X, y, n_partitions=7, random_state=0).n_partitions == 7
    few = data_driven_code(X, y, n_partitions=1, random_state=0)
    assert 3 <= few.n_partitions < 12  # six columns that differ


def test_separable_classes_are_split_before_inseparable_ones():
    # Classes 0 to 2 and 3 to 5 lie far apart; whether a class is even shows nowhere.
    X, y = on_a_line([0, 0.05, 0.1, 9, 9.05, 9.1], noise=1.0, each=40)
    first = data_driven_code(X, y, random_state=0).code.matrix[0]
    assert first.tolist() in ([-1, -1, -1, 1, 1, 1], [1, 1, 1, -1, -1, -1])


def test_any_binary_classifier_can_be_used():
    X, y = on_a_line(range(4), each=10)
    scheme = data_driven_code(X, y, estimator=LogisticRegression(), random_state=0)
    assert scheme.code.is_determined


def test_at_least_one_partition_is_needed():
    with pytest.raises(ArgumentError, match="n_partitions=0 is too few"):
        data_driven_code(*on_a_line(range(4)), n_partitions=0)


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
