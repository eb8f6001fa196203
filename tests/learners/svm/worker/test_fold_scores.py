import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from polytomy.calibration.folds import Folds, deal_rows
from polytomy.learners.svm import training as group_training
from shared_kernel_cases import all_problems, clouds, train_shared


def assert_trained_without_the_fold(scores, svc, X, problem, folds):
    """The scores are those of machines that were trained without the fold of each row."""
    for fold in range(folds.n_folds):
        kept = problem.keep(folds.fold_of[problem.rows] != fold)
        expected = clone(svc).fit(X[kept.rows], kept.targets).decision_function(X)
        is_held_out = folds.fold_of == fold
        np.testing.assert_allclose(scores[is_held_out], expected[is_held_out], rtol=0, atol=0.02)


@pytest.mark.parametrize(
    "svc", [SVC(gamma=0.2), SVC(kernel="linear"), SVC(kernel="poly", gamma=0.1, coef0=1.0)]
)
def test_scores_outside_a_problem_are_those_of_machines_trained_without_the_fold(svc, monkeypatch):
    X, codes = clouds(120, 4, spread=2.0)
    problems = all_problems(codes)
    folds = Folds.from_numbers(deal_rows(codes, 3, seed=0))
    options = {"folds": folds, "calibration": None}
    by_matrix = train_shared([svc] * 4, X, problems, **options)
    # As if no matrix had all values: the machines of the folds score the rows as a bank.
    monkeypatch.setattr(group_training, "score_outside", lambda trained, *_: trained)
    by_bank = train_shared([svc] * 4, X, problems, **options)
    for problem, found, other in zip(problems, by_matrix.scores, by_bank.scores, strict=True):
        np.testing.assert_allclose(found, other, rtol=0, atol=1e-4)
        assert_trained_without_the_fold(found, svc, X, problem, folds)


def test_rows_that_the_matrix_leaves_out_are_scored_too():
    X, codes = clouds(120, 4, spread=2.0)
    problems = all_problems(codes)[:3]  # no problem has class 3
    folds = Folds.from_numbers(deal_rows(codes, 3, seed=0))
    training = train_shared([SVC(gamma=0.2)] * 3, X, problems, folds=folds)
    for problem, scores in zip(problems, training.scores, strict=True):
        assert_trained_without_the_fold(scores, SVC(gamma=0.2), X, problem, folds)


def test_problems_give_the_same_alone_and_in_a_batch():
    X, codes = clouds(120, 3, spread=2.0)
    problems = all_problems(codes)
    folds = Folds.from_numbers(deal_rows(codes, 4, seed=0))
    together = train_shared([SVC(gamma=0.2)] * 4, X, problems, folds=folds)
    for problem, binary, held_out in zip(problems, together.binaries, together.scores, strict=True):
        alone = train_shared([SVC(gamma=0.2)], X, [problem], folds=folds)
        np.testing.assert_allclose(
            binary.decisions(X), alone.binaries[0].decisions(X), rtol=0, atol=1e-5
        )
        np.testing.assert_allclose(held_out, alone.scores[0], rtol=0, atol=1e-5)
