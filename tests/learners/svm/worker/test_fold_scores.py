import numpy as np
import pytest
from sklearn.svm import SVC

from polytomy.calibration.folds import SharedFolds, deal_rows
from polytomy.learners.svm import training as group_training
from shared_kernel_cases import all_problems, clouds, train_shared


@pytest.mark.parametrize(
    "svc", [SVC(gamma=0.2), SVC(kernel="linear"), SVC(kernel="poly", gamma=0.1, coef0=1.0)]
)
def test_scores_outside_a_problem_are_those_of_the_machines_of_the_folds(svc, monkeypatch):
    X, codes = clouds(120, 4, spread=2.0)
    problems = all_problems(codes)
    folds = SharedFolds.from_numbers(deal_rows(codes, 3, seed=0))
    options = {"folds": folds, "calibration": None}
    by_matrix = train_shared([svc] * 4, X, problems, **options)
    # As if no matrix had all values.
    monkeypatch.setattr(group_training, "score_outside", lambda trained, *_: trained)
    by_models = train_shared([svc] * 4, X, problems, **options)
    for found, other in zip(by_matrix.held_out, by_models.held_out, strict=True):
        assert found.models == ()
        assert not np.isnan(found.scores).any()
        is_outside = np.isnan(other.scores)
        assert bool(other.models) is bool(is_outside.any())
        np.testing.assert_array_equal(found.scores[~is_outside], other.scores[~is_outside])
        for fold, model in enumerate(other.models):
            is_own = is_outside & (folds.fold_of == fold)
            machine = model.estimator
            # The matrix has kernel values in single precision, and the scores are rounded, too.
            largest = np.abs(machine.kernel.matrix(X, X)).max()
            rounding = 2.0**-23 * (1 + largest * np.abs(machine.dual_coef_).sum())
            difference = np.abs(found.scores - model.scores(X))[is_own]
            assert difference.max() <= rounding


def test_rows_that_the_matrix_leaves_out_are_left_to_models():
    X, codes = clouds(120, 4, spread=2.0)
    problems = all_problems(codes)[:3]  # no problem has class 3
    folds = SharedFolds.from_numbers(deal_rows(codes, 3, seed=0))
    training = train_shared([SVC(gamma=0.2)] * 3, X, problems, folds=folds)
    for each in training.held_out:
        assert len(each.models) == 3
        assert np.isnan(each.scores[codes == 3]).all()


def test_problems_give_the_same_alone_and_in_a_batch():
    X, codes = clouds(120, 3, spread=2.0)
    problems = all_problems(codes)
    folds = SharedFolds.from_numbers(deal_rows(codes, 4, seed=0))
    together = train_shared([SVC(gamma=0.2)] * 4, X, problems, folds=folds)
    for problem, binary, held_out in zip(
        problems, together.binaries, together.held_out, strict=True
    ):
        alone = train_shared([SVC(gamma=0.2)], X, [problem], folds=folds)
        np.testing.assert_allclose(
            binary.decisions(X), alone.binaries[0].decisions(X), rtol=0, atol=1e-5
        )
        is_known = ~np.isnan(alone.held_out[0].scores)
        np.testing.assert_allclose(
            held_out.scores[is_known], alone.held_out[0].scores[is_known], rtol=0, atol=1e-5
        )
