"""A cascade asks the binaries that can decide between the candidates, and implies the others."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

from polytomy.learners.cascade import Cascade


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(2, 7))
@settings(max_examples=40, deadline=None)
def test_binaries_with_candidates_on_one_side_answer_as_the_probabilities_imply(
    seed, n_samples, n_classes
):
    rng = np.random.default_rng(seed)
    code = rng.integers(-1, 2, size=(n_classes, 6)).astype(float)
    code[:2] = [[-1.0] * 6, [1.0] * 6]
    shares = rng.dirichlet(np.ones(n_classes), n_samples)
    is_candidate = rng.uniform(size=shares.shape) < 0.5
    asked = np.full((n_samples, 6), False)

    def decide_pairs(X, rows, columns, sides):
        asked[rows, columns] = True
        return np.full(len(rows), 2.0)

    nothing = np.empty(0)
    cascade = Cascade(nothing, nothing, nothing, nothing, nothing, csc_array(code), 0.01)
    bank = SimpleNamespace(decide_pairs=decide_pairs)
    answers = cascade.answer(bank, None, shares, is_candidate)
    for row, candidates in enumerate(is_candidate):
        sides = [set(code[candidates, binary]) for binary in range(6)]
        assert asked[row].tolist() == [{-1.0, 1.0} <= own for own in sides]
    implied = shares @ code / (shares @ np.abs(code))
    np.testing.assert_allclose(answers, np.where(asked, 2.0, implied), rtol=0, atol=1e-14)
