import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.calibration.folds import Folds
from polytomy.learners.problems import Batch, BatchFolds, BinaryProblem


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_folds_of_a_batch_are_those_of_each_problem(seed, n_problems):
    rng = np.random.default_rng(seed)
    folds = Folds.from_numbers(rng.integers(-1, 3, 12))
    problems = []
    for name in "abcd"[:n_problems]:
        rows = np.flatnonzero(rng.random(12) < 0.6)
        rows = rows if len(rows) else np.arange(2)
        problems.append(BinaryProblem(name, rows, rng.random(len(rows)) < 0.5))
    batch = Batch.of(problems)
    found = BatchFolds.of(batch, folds)
    assert found.is_kept[0].all()
    for k, problem in enumerate(problems):
        own = slice(batch.starts[k], batch.starts[k + 1])
        held_out = []
        for fold, is_trained_on in enumerate(folds.is_trained_on):
            is_kept = is_trained_on[problem.rows]
            sides = set(problem.is_positive[is_kept].tolist())
            constant = {0: 0.0, 1: 1.0 if True in sides else -1.0}.get(len(sides))
            np.testing.assert_equal(
                found.constants[fold, k], np.nan if constant is None else constant
            )
            is_used = constant is None and not is_kept.all()
            assert found.is_trained[fold, k] == is_used
            if is_used:
                np.testing.assert_array_equal(found.is_kept[1 + fold, own], is_kept)
            samples = np.flatnonzero(folds.fold_of[problem.rows] == fold)
            held_out += [(sample, fold) for sample in samples.tolist()]
        is_own = batch.problem_of[found.samples] == k
        samples = found.samples[is_own] - batch.starts[k]
        pairs = zip(samples.tolist(), found.fold_of[is_own].tolist(), strict=True)
        assert sorted(held_out) == sorted(pairs)
        sides = problem.is_positive[[sample for sample, _ in held_out]]
        assert found.hold_out_both_sides(batch)[k] == (len(set(sides.tolist())) == 2)


def test_without_folds_there_is_one_model():
    batch = Batch.of([BinaryProblem("a", np.arange(3), np.array([True, False, False]))])
    folds = BatchFolds.of(batch, None)
    assert folds.is_kept.tolist() == [[True] * 3]
    assert len(folds.samples) == 0
    assert not folds.hold_out_both_sides(batch).any()
