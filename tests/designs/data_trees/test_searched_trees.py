import numpy as np
import pytest
from scipy.sparse import csc_matrix
from sklearn.linear_model import LogisticRegression

from polytomy.designs import (
    best_random_tree,
    evolved_tree,
    random_tree,
)
from polytomy.designs.dichotomies import Dichotomies
from polytomy.errors import ArgumentError
from polytomy.inputs.class_samples import group_samples

QUICK = {"generations": 3, "population": 6}
ALL = [(best_random_tree, {"n_trees": 4}), (evolved_tree, QUICK)]


def pairs(seed=0, each=25):
    """Eight classes, two and two near each other, and two pairs of pairs."""
    random = np.random.default_rng(seed)
    places = np.array([[i & 4, 2 * (i & 2), 0.7 * (i & 1)] for i in range(8)], dtype=float)
    y = np.repeat(np.arange(8), each)
    return places[y] + 0.2 * random.normal(size=(len(y), 3)), y


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


@pytest.mark.parametrize(("make", "options"), ALL)
def test_the_same_seed_gives_the_same_tree(make, options):
    X, y = pairs(each=6)
    assert make(X, y, random_state=3, **options) == make(X, y, random_state=3, **options)


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
