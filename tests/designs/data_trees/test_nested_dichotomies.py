import numpy as np
import pytest
from scipy.sparse import csc_matrix
from sklearn.linear_model import LogisticRegression

from polytomy.designs import (
    best_random_tree,
    class_balanced_tree,
    evolved_tree,
    furthest_centroid_tree,
    random_pair_tree,
    random_tree,
)
from polytomy.designs.dichotomies import Dichotomies
from polytomy.errors import ArgumentError
from polytomy.inputs.class_samples import group_samples

QUICK = {"generations": 3, "population": 6}

SEEDED = [
    (class_balanced_tree, {}),
    (class_balanced_tree, {"by": "samples"}),
    (random_pair_tree, {}),
    (best_random_tree, {"n_trees": 4}),
    (evolved_tree, QUICK),
]
ALL = [(furthest_centroid_tree, {}), *SEEDED]


def pairs(seed=0, each=25):
    """Eight classes, two and two near each other, and two pairs of pairs."""
    random = np.random.default_rng(seed)
    places = np.array([[i & 4, 2 * (i & 2), 0.7 * (i & 1)] for i in range(8)], dtype=float)
    y = np.repeat(np.arange(8), each)
    return places[y] + 0.2 * random.normal(size=(len(y), 3)), y


def sides(partition):
    return {frozenset(partition.negative_classes), frozenset(partition.positive_classes)}


@pytest.mark.parametrize(("make", "options"), ALL)
@pytest.mark.parametrize("n_classes", [1, 2, 3, 8])
def test_it_is_a_tree_over_all_classes(make, options, n_classes):
    X, y = pairs(each=6)
    names = np.array(list("hgfedcba"))
    tree = make(X[y < n_classes], names[y[y < n_classes]], name="land", **options)
    assert tree.is_tree
    assert sorted(tree.classes) == sorted(names[:n_classes])
    assert tree.n_partitions == n_classes - 1
    assert n_classes == 1 or tree.nodes[0].binaries[0].text == "land"


@pytest.mark.parametrize(("make", "options"), ALL)
def test_classes_of_one_sample_and_sparse_data_are_accepted(make, options):
    X, y = pairs(each=6)
    keep = np.r_[0, 6, 12:48]
    for data in (X[keep], csc_matrix(X[keep])):
        tree = make(data, y[keep], **options)
        assert sorted(tree.classes) == list(range(8))


@pytest.mark.parametrize(("make", "options"), SEEDED)
def test_the_same_seed_gives_the_same_tree(make, options):
    X, y = pairs(each=6)
    assert make(X, y, random_state=3, **options) == make(X, y, random_state=3, **options)


@pytest.mark.parametrize(("make", "options"), [SEEDED[0], SEEDED[2]])
def test_other_seeds_give_other_trees(make, options):
    X, y = pairs(each=6)
    assert len({make(X, y, random_state=seed, **options) for seed in range(10)}) > 3


@pytest.mark.parametrize("seed", range(3))
def test_the_furthest_means_are_separated_first(seed):
    X, y = pairs(seed)
    tree = furthest_centroid_tree(X, y)
    Z = X / X.std(axis=0)
    means = np.array([Z[y == i].mean(axis=0) for i in range(8)])
    for partition in tree.partitions:
        left, right = list(partition.negative_classes), list(partition.positive_classes)
        both = left + right
        far = np.linalg.norm(means[both][:, np.newaxis] - means[both], axis=-1)
        one, other = (both[i] for i in np.unravel_index(far.argmax(), far.shape))
        assert (one in left) != (other in left)
        near, away = (one, other) if one in left else (other, one)
        for member in left:
            assert np.linalg.norm(means[member] - means[near]) <= np.linalg.norm(
                means[member] - means[away]
            )


def test_classes_with_equal_means_are_still_separated():
    assert furthest_centroid_tree(np.zeros((4, 1)), range(4)).n_partitions == 3


@pytest.mark.parametrize("n_classes", [2, 3, 7, 8, 9, 31])
def test_balanced_trees_are_as_shallow_as_can_be(n_classes):
    tree = class_balanced_tree(np.zeros((n_classes, 1)), range(n_classes), random_state=0)
    assert tree.depth == int(np.ceil(np.log2(n_classes)))


def test_samples_can_be_balanced_instead_of_classes():
    y = np.repeat([0, 1, 2, 3], [100, 30, 40, 30])
    for seed in range(5):
        tree = class_balanced_tree(np.zeros((200, 1)), y, by="samples", random_state=seed)
        counts = [sum(np.count_nonzero(y == c) for c in side) for side in sides(tree.partitions[0])]
        # Whatever the order of the four, some cut leaves at least 60 on either side.
        assert min(counts) >= 60


def test_balance_is_of_classes_or_samples():
    with pytest.raises(ArgumentError, match='by="weight" is not one of classes, samples'):
        class_balanced_tree([[0.0], [1.0]], [0, 1], by="weight")


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_classes_follow_the_nearer_one_of_the_pair(estimator):
    # On a line, with the members of a node in order, every node is a cut of that order.
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 20)
    X = (3.0 * y + random.normal(0, 0.2, len(y)))[:, np.newaxis]
    for seed in range(4):
        for partition in random_pair_tree(X, y, estimator=estimator, random_state=seed).partitions:
            left, right = sorted(map(sorted, sides(partition)))
            assert left[-1] < right[0]


def loss_of(tree, judge):
    """Return the loss of a tree over 0, 1, …: the sum of the losses of its dichotomies."""
    return sum(judge.loss(each.negative_classes, each.positive_classes) for each in tree.partitions)


def test_the_best_is_the_least_loss_of_those_drawn():
    X, y = pairs(1)
    random = np.random.default_rng(4)
    drawn = [random_tree(8, random_state=random) for _ in range(5)]
    dichotomies = Dichotomies(group_samples(X, y), random_state=random)
    expected = min(drawn, key=lambda tree: loss_of(tree, dichotomies))
    assert best_random_tree(X, y, n_trees=5, random_state=4) == expected


@pytest.mark.parametrize("seed", range(3))
def test_evolved_trees_are_better_than_most_random_ones(seed):
    X, y = pairs(seed)
    X = X + np.random.default_rng(seed).normal(0, 0.6, X.shape)
    judge = Dichotomies(group_samples(X, y), random_state=77)
    options = {"generations": 8, "population": 8, "random_state": seed}
    evolved = loss_of(evolved_tree(X, y, **options), judge)
    by_chance = [loss_of(random_tree(8, random_state=k), judge) for k in range(20)]
    assert evolved < np.quantile(by_chance, 0.1)


def test_more_generations_never_increase_the_loss():
    X, y = pairs(5)
    X = X + np.random.default_rng(0).normal(0, 0.6, X.shape)
    losses = []
    for generations in (0, 3, 8):
        tree = evolved_tree(X, y, generations=generations, population=8, random_state=2)
        judge = Dichotomies(group_samples(X, y), random_state=np.random.default_rng(2))
        losses.append(loss_of(tree, judge))
    assert losses == sorted(losses, reverse=True)


def test_any_binary_classifier_can_be_used():
    X, y = pairs(each=8)
    for make, options in ((best_random_tree, {"n_trees": 2}), (evolved_tree, QUICK)):
        tree = make(X, y, estimator=LogisticRegression(), random_state=0, **options)
        assert sorted(tree.classes) == list(range(8))


def test_a_search_over_500_classes_in_a_chain_is_not_too_deep(monkeypatch):
    def less_is_deeper(tree, _):
        level, depth = [tree], 0
        while level:
            level = [branch for node in level if isinstance(node, tuple) for branch in node]
            depth += 1
        return -depth

    monkeypatch.setattr("polytomy.designs.data_trees._tree_loss", less_is_deeper)
    X = np.cumsum(1.0 + np.arange(500))[:, np.newaxis]
    tree = evolved_tree(X, range(500), population=6, generations=4, random_state=0)
    assert sorted(tree.classes) == list(range(500))
    assert tree.depth == 499


def test_a_search_over_too_many_classes_is_refused():
    with pytest.raises(ArgumentError, match="evolved_tree takes at most 500 classes; got 501"):
        evolved_tree(np.zeros((501, 1)), range(501))


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (best_random_tree, {"n_trees": 0}, "n_trees=0 is too few"),
        (best_random_tree, {"cv": 1}, "cv=1 is too few"),
        (evolved_tree, {"population": 1}, "population=1 is too few"),
        (evolved_tree, {"generations": -1}, "generations=-1 is too few"),
        (evolved_tree, {"random_state": "x"}, 'random_state="x" must be a whole number'),
    ],
)
def test_invalid_arguments_are_refused(make, options, words):
    with pytest.raises(ArgumentError, match=words):
        make(*pairs(each=3), **options)
