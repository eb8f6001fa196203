import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy import designs
from polytomy.errors import SchemeError
from polytomy.scheme import CodingMatrix, Scheme, parse
from strategies import schemes


@given(schemes(max_sides=4))
def test_flattening_keeps_classes_binaries_and_sides(scheme):
    flat = scheme.flatten()
    assert flat.is_flat
    assert flat.classes == scheme.classes
    assert flat.flatten() == flat
    assert flat.n_partitions == scheme.n_partitions == len(scheme.partitions)
    for before, after, sides in zip(
        scheme.partitions, flat.partitions, flat.code.sides, strict=True
    ):
        assert before.binary == after.binary
        assert before.sides == after.sides
        for number, classes in enumerate(before.sides):
            assert np.flatnonzero(sides == number).tolist() == list(classes)


@given(st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_a_tree_comes_back_from_its_flat_code(n_classes, seed):
    tree = designs.random_tree(n_classes, random_state=seed)
    flat = tree.flatten()
    assert flat.code.is_tree
    assert flat.to_tree() == tree
    # In whatever order rows stand, the tree is the same but for the order of its classes.
    shuffled = np.random.default_rng(seed).permutation(flat.n_partitions)
    binaries = [flat.nodes[0].binaries[i] for i in shuffled]
    code = CodingMatrix(flat.code.matrix[shuffled])
    assert Scheme.from_code(code, flat.classes, binaries).to_tree() == tree


def test_a_code_that_is_not_a_tree_cannot_become_one():
    with pytest.raises(SchemeError, match="is not a tree: its partitions do not nest"):
        designs.one_vs_one(3).to_tree()


@given(schemes(max_sides=4))
def test_a_tree_of_any_width_comes_back_from_its_flat_code(scheme):
    if scheme.is_tree:
        assert scheme.flatten().code.is_tree
        assert scheme.flatten().to_tree() == scheme


def test_a_mixture_of_trees_unfolds_node_by_node():
    scheme = parse("a 0 / 1 2; b 1 / 2; {x m {y z} w}")
    assert str(scheme.to_tree()) == "a {\n  x\n  b {\n    m {y z}\n    w\n  }\n}"
