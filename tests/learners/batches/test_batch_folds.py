import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.calibration.folds import SharedFolds
from polytomy.learners.batches import Batch, BatchFolds
from polytomy.learners.options import TrainingOptions
from polytomy.learners.problems import BinaryProblem


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_folds_of_a_batch_are_those_of_each_problem(seed, n_problems):
    rng = np.random.default_rng(seed)
    shared = SharedFolds.from_numbers(rng.integers(-1, 3, 12))
    problems = []
    for name in "abcd"[:n_problems]:
        rows = np.flatnonzero(rng.random(12) < 0.6)
        rows = rows if len(rows) else np.arange(2)
        problems.append(BinaryProblem(name, rows, rng.random(len(rows)) < 0.5))
    batch = Batch.of(problems)
    folds = BatchFolds.of(batch, None, TrainingOptions(folds=shared), None)
    assert folds.is_kept[0].all()
    for k, problem in enumerate(problems):
        own = slice(batch.starts[k], batch.starts[k + 1])
        held_out = []
        for fold, part in enumerate(shared.parts(problem.rows, problem.is_positive)):
            constant = folds.constants[fold, k]
            assert part.constant == (None if np.isnan(constant) else constant)
            is_used = part.constant is None and not part.is_whole
            assert folds.is_trained[fold, k] == is_used
            if is_used:
                np.testing.assert_array_equal(folds.is_kept[1 + fold, own], part.is_kept)
            held_out += [(sample, fold) for sample in part.held_out.tolist()]
        is_own = batch.problem_of[folds.samples] == k
        samples = folds.samples[is_own] - batch.starts[k]
        pairs = zip(samples.tolist(), folds.fold_of[is_own].tolist(), strict=True)
        assert sorted(held_out) == sorted(pairs)
        sides = problem.is_positive[[sample for sample, _ in held_out]]
        assert bool(folds.reasons[k]) == (len(set(sides.tolist())) < 2)


def test_without_calibration_there_is_one_machine():
    batch = Batch.of([BinaryProblem("a", np.arange(3), np.array([True, False, False]))])
    folds = BatchFolds.of(batch, None, TrainingOptions(calibration=None), None)
    assert folds.is_kept.tolist() == [[True] * 3]
    assert len(folds.samples) == 0
    assert folds.reasons == [""]


def test_a_single_sample_on_a_side_is_a_reason():
    batch = Batch.of([BinaryProblem("a", np.arange(3), np.array([True, False, False]))])
    folds = BatchFolds.of(batch, np.zeros((3, 1)), TrainingOptions(), 0)
    assert folds.reasons == ["its +1 side has a single sample"]
