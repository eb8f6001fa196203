import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.designs import tree_ensemble
from polytomy.errors import SchemeError
from polytomy.scheme import SchemeEnsemble, parse


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 8))
def test_dichotomies_are_counted_once(seed, n_classes, n_trees):
    ensemble = tree_ensemble(n_classes, n_trees, random_state=seed)
    found = set()
    for tree in ensemble.schemes:
        for row in tree.flatten().code.matrix[:, np.argsort(tree.flatten().classes)]:
            found.add(frozenset([tuple(row.tolist()), tuple((-row).tolist())]))
    assert ensemble.n_dichotomies == len(found)


def test_an_ensemble_prints_as_the_texts_of_its_schemes():
    one, other = parse("m {a b}"), parse("n {b a}")
    assert str(SchemeEnsemble([one, other])) == "# 1\nm {a b}\n\n# 2\nn {b a}"


def test_an_ensemble_is_an_immutable_value():
    ensemble = tree_ensemble(4, 3, random_state=0)
    for other in (copy.deepcopy(ensemble), pickle.loads(pickle.dumps(ensemble))):
        assert other == ensemble
        assert hash(other) == hash(ensemble)
    assert len(ensemble) == 3
    assert ensemble.classes == ensemble.schemes[0].classes
    assert ensemble != tree_ensemble(4, 3, random_state=1)
    assert ensemble != 3
    with pytest.raises(AttributeError, match="cannot assign to field 'schemes'"):
        ensemble.schemes = ()
    with pytest.raises(AttributeError, match="cannot delete field 'schemes'"):
        del ensemble.schemes


@pytest.mark.parametrize(
    ("schemes", "words"),
    [
        ([], "an ensemble needs at least one scheme"),
        (["tree"], "member 0 of the ensemble is 'tree', not a scheme"),
        (
            [parse("m {a b}"), parse("m {a c}")],
            "member 1 of the ensemble does not have .*; they differ in 'b', 'c'",
        ),
    ],
)
def test_invalid_ensembles_are_refused(schemes, words):
    with pytest.raises(SchemeError, match=words):
        SchemeEnsemble(schemes)
