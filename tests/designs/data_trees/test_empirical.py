import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform

from polytomy.designs import empirical_tree, separability_tree
from polytomy.distances import ClassDistances, hausdorff, separability
from polytomy.errors import ArgumentError, DataError
from polytomy.scheme import parse


def clouds(seed, n_classes=6, most=6):
    random = np.random.default_rng(seed)
    counts = random.integers(1, most, n_classes)
    y = np.repeat(np.arange(n_classes), counts)
    return random.normal(size=(n_classes, 2))[y] + 0.3 * random.normal(size=(len(y), 2)), y


def subtrees(scheme):
    """The sets of classes below each node."""
    return {
        frozenset(partition.negative_classes + partition.positive_classes)
        for partition in scheme.partitions
    }


def joined_by_scipy(matrix, method):
    """The sets of classes that SciPy's agglomeration joins."""
    n = len(matrix)
    members = [frozenset([i]) for i in range(n)]
    for one, other, *_ in scipy_linkage(squareform(matrix, checks=False), method):
        members.append(members[int(one)] | members[int(other)])
    return set(members[n:])


@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
@given(st.integers(0, 10**6), st.integers(2, 9))
def test_it_joins_what_scipy_joins(linkage, seed, n_classes):
    X, y = clouds(seed, n_classes)
    tree = empirical_tree(X, y, linkage=linkage)
    assert tree.is_tree
    assert subtrees(tree) == joined_by_scipy(hausdorff(X, y).matrix, linkage)


@given(st.integers(0, 10**6))
def test_the_larger_side_is_left_and_ties_go_to_the_later_class(seed):
    for partition in empirical_tree(*clouds(seed)).partitions:
        left, right = partition.negative_classes, partition.positive_classes
        assert (len(left), left[0]) > (len(right), right[0])


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "recomputed"])
def test_the_order_of_samples_does_not_matter(linkage):
    X, y = clouds(1)
    order = np.random.default_rng(0).permutation(len(X))
    assert empirical_tree(X[order], y[order], linkage=linkage) == empirical_tree(
        X, y, linkage=linkage
    )


@given(st.integers(0, 10**6))
def test_the_names_of_the_classes_do_not_matter(seed):
    X, y = clouds(seed)
    names = np.random.default_rng(seed).permutation(list("abcdef"))
    renamed = {frozenset(names[list(group)]) for group in subtrees(empirical_tree(X, y))}
    assert subtrees(empirical_tree(X, names[y])) == renamed


def test_recomputed_distances_are_those_of_the_samples_put_together():
    # By hand: a and b are joined first. Then c is 3.5 from b, 4.5 from a and b together (from a,
    # which is farther from c), and 3.7 from d.
    X = [[0.0], [1.0], [4.5], [8.2]]
    assert {frozenset("ab"), frozenset("abc")} <= subtrees(empirical_tree(X, list("abcd")))
    recomputed = empirical_tree(X, list("abcd"), linkage="recomputed")
    assert {frozenset("ab"), frozenset("cd")} <= subtrees(recomputed)


def test_recomputed_works_with_any_distance():
    X, y = clouds(3, most=9)
    for distance in ("centroid", "energy", hausdorff):
        tree = empirical_tree(X, y, distance=distance, linkage="recomputed")
        assert sorted(tree.classes) == list(range(6))


def test_the_printed_tree_of_shuttle_follows_from_its_distances():
    # Hausdorff distances of the standardised data, to three digits; the tree is that of the paper.
    upper = [108.1, 98.67, 107.5, 105.2, 108.8, 108.9, 11.34, 73.22, 122.9, 38.18, 62.11,
             65.13, 122.8, 39.52, 60.42, 72.92, 74.08, 74.26, 123.3, 123.7, 71.48]  # fmt: skip
    printed = parse(
        """
        shuttle_emp {
          shuttle_emp.00 {
            shuttle_emp.00.00 {
              shuttle_emp.00.00.00 {
                shuttle_emp.00.00.00.00 {
                  shuttle_emp.00.00.00.00.00 {2 1}
                  5
                }
                6
              }
              3
            }
            4
          }
          0
        }"""
    )
    X, y = np.zeros((7, 1)), range(7)
    assert empirical_tree(X, y, distance=squareform(upper), name="shuttle_emp") == printed


def test_a_distance_can_be_a_value_a_matrix_or_a_function():
    X, y = clouds(5)
    known = hausdorff(X, y)
    expected = empirical_tree(X, y)
    for distance in (known, known.matrix, hausdorff, lambda X, y: known):
        assert empirical_tree(X, y, distance=distance) == expected


def test_sparse_data_and_labels_of_any_kind_are_accepted():
    X, y = clouds(6)
    assert empirical_tree(csr_array(X), y) == empirical_tree(X, y)
    labels = ["red soil", 7, "7", 2.5, True, "x"]
    tree = empirical_tree(X, [labels[i] for i in y])
    assert set(map(repr, tree.classes)) == set(map(repr, labels))


def test_one_class_is_a_scheme_without_binaries_and_two_have_one():
    assert empirical_tree([[0.0], [1.0]], ["a", "a"]).n_partitions == 0
    assert empirical_tree([[0.0], [1.0]], ["a", "b"]).n_partitions == 1


def test_many_classes_make_a_deep_tree():
    X = np.cumsum(1.0 + np.arange(500))[:, np.newaxis]
    tree = empirical_tree(X, np.arange(500))
    assert tree.depth == 499


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"linkage": "ward"}, 'linkage="ward" is not one of single, complete, average, recomputed'),
        ({"linkage": "averge"}, r'Did you mean "average"\?'),
        ({"distance": "hausdorf"}, r'Did you mean "hausdorff"\?'),
        (
            {"distance": np.zeros((6, 6)), "linkage": "recomputed"},
            'linkage="recomputed" needs a distance that can be computed again',
        ),
        (
            {"distance": ClassDistances(range(6), np.zeros((6, 6))), "linkage": "recomputed"},
            "Give distance as a name or a function",
        ),
    ],
)
def test_invalid_arguments_are_refused(options, words):
    with pytest.raises(ArgumentError, match=words):
        empirical_tree(*clouds(0), **options)


def test_missing_values_are_refused_with_their_position():
    with pytest.raises(DataError, match="X has nan in row 1, column 0"):
        empirical_tree([[0.0], [np.nan]], [0, 1])


def test_the_separability_tree_is_the_average_linkage_of_separabilities():
    X, y = clouds(4, most=12)
    expected = empirical_tree(X, y, distance=separability(X, y), linkage="average", name="land")
    assert separability_tree(X, y, name="land") == expected


def test_nodes_are_merged_where_the_dendrogram_has_no_gap():
    X = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0, 30.0])[:, np.newaxis]
    y = list("abcdefg")
    found = subtrees_of_any_width(empirical_tree(X, y, merge=0.9))
    # Single linkage joins neighbours at 1, the two triples at 8, and g at 18.
    assert found == {frozenset("abc"), frozenset("def"), frozenset("abcdef"), frozenset("abcdefg")}
    wider = subtrees_of_any_width(empirical_tree(X, y, merge=0.4))
    assert wider == {frozenset("abc"), frozenset("def"), frozenset("abcdefg")}
    assert subtrees_of_any_width(empirical_tree(X, y, merge=0.0)) == {frozenset("abcdefg")}


def subtrees_of_any_width(scheme):
    return {
        frozenset(label for side in partition.side_classes for label in side)
        for partition in scheme.partitions
    }


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "recomputed"])
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_merging_only_leaves_out_nodes(linkage, seed, merge):
    X, y = clouds(seed)
    merged = empirical_tree(X, y, linkage=linkage, merge=merge)
    assert subtrees_of_any_width(merged) <= subtrees(empirical_tree(X, y, linkage=linkage))
    assert sorted(merged.classes) == sorted(set(y.tolist()))


def test_a_design_may_stand_at_wide_nodes():
    X, y = [[0.0], [1.0], [2.0]], ["a", "b", "c"]
    tree = empirical_tree(X, y, merge=0.5, nodes="one-vs-one")
    assert tree.code.is_one_vs_one
    with pytest.raises(ArgumentError, match="merge=2 must be a number from 0 to 1, or None"):
        empirical_tree(X, y, merge=2)
