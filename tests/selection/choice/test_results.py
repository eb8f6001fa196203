"""Tables of results."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.svm import SVC

from polytomy.selection.candidates import Candidate
from polytomy.selection.choice import tabulate_race
from polytomy.selection.race import Race
from polytomy.selection.runners import FoldResult, Runner


def runner(name, losses, seconds=1.0, reason=""):
    """Return a runner measured on folds of two samples each, with two more scores."""
    folds = []
    for k, fold in enumerate(losses):
        mean = float(np.mean(fold))
        scores = {"log_loss": mean, "accuracy": 1 - mean}
        own = np.array(fold, dtype=float)
        folds.append(FoldResult(scores, own, np.ones(2), seconds, seconds, 3, 10 * (k + 1)))
    return Runner(Candidate(name, name), folds, reason)


def table(*runners):
    return tabulate_race(Race(list(runners)), [runners[0]])


def test_each_candidate_has_means_and_standard_deviations_over_its_folds():
    found = table(runner("good", [[0, 0.2], [0.2, 0.4]]), runner("bad", [[1, 1]], reason="dropped"))
    assert found["candidate"].tolist() == ["good", "bad"]
    assert found["solver"].tolist() == ["auto"] * 2
    assert found["n_folds"].tolist() == [2, 1]
    np.testing.assert_allclose(found["mean_log_loss"], [0.2, 1.0])
    np.testing.assert_allclose(found["mean_accuracy"], [0.8, 0.0])
    # Of 0.1 and 0.3, with one degree of freedom; a single fold has no deviation.
    np.testing.assert_allclose(found["std_log_loss"], [np.sqrt(0.02), np.nan])
    assert found["n_training_samples"].tolist() == [15, 10]
    assert found["is_chosen"].tolist() == [True, False]
    assert found["reason"].tolist() == ["", "dropped"]


def test_survivors_rank_before_dropped_candidates_by_their_loss_on_common_folds():
    # The second fold is harder than the first.
    found = table(
        runner("second", [[0.2, 0.2], [0.7, 0.7]]),
        runner("dropped early", [[0.4, 0.4]], reason="dropped"),
        runner("first", [[0.1, 0.1], [0.6, 0.6]]),
        runner("never measured", [], reason="unsuitable"),
        runner("dropped late", [[0.3, 0.3], [0.8, 0.8]], reason="dropped"),
    )
    assert found["rank"].tolist() == [2, 4, 1, 5, 3]
    assert found["is_dropped"].tolist() == [False, True, False, True, True]
    # The mean of the one that was dropped early is smaller than that of the second.
    np.testing.assert_allclose(found["mean_log_loss"], [0.45, 0.4, 0.35, np.nan, 0.55])
    np.testing.assert_allclose(found["difference_log_loss"], [0.1, 0.3, 0.0, np.nan, 0.2])
    np.testing.assert_allclose(found["difference_accuracy"], [-0.1, -0.3, 0.0, np.nan, -0.2])


def test_a_candidate_is_pareto_optimal_unless_another_beats_it_without_a_loss():
    found = table(
        runner("slow and good", [[0.1, 0.1], [0.1, 0.1]], seconds=5.0),
        runner("fast and bad", [[0.5, 0.5], [0.5, 0.5]], seconds=1.0),
        runner("slow and bad", [[0.5, 0.5], [0.5, 0.5]], seconds=5.0),
    )
    assert found["is_pareto"].tolist() == [True, True, False]


def test_pareto_optimal_candidates_are_compared_on_common_folds():
    found = table(
        runner("good", [[0.1, 0.1], [0.6, 0.6]]),
        runner("bad on an easy fold", [[0.3, 0.3]], reason="dropped"),
        runner("quick on one fold", [[0.3, 0.3]], seconds=0.5, reason="dropped"),
        runner("never measured", [], reason="unsuitable"),
    )
    assert found["mean_log_loss"][0] > found["mean_log_loss"][1]
    assert found["is_pareto"].tolist() == [True, False, True, False]


def with_params(made, params):
    made.candidate = made.candidate._replace(params=params, scheme_name="pairs")
    return made


def test_the_columns_of_scikit_learns_searches_are_there():
    X, y = load_iris(return_X_y=True)
    grid = [{"C": [1, 10], "gamma": [0.1, 1.0]}, {"C": [5], "kernel": ["linear"]}]
    theirs = GridSearchCV(SVC(), grid, cv=2).fit(X, y).cv_results_
    ours = table(
        *(
            with_params(runner(str(k), [[0.1 * k, 0.2], [0.2, 0.3]]), params)
            for k, params in enumerate(ParameterGrid(grid))
        )
    )
    assert set(theirs) <= set(ours)
    assert ours["params"] == theirs["params"]
    for name, column in theirs.items():
        if name.startswith("param_"):
            assert isinstance(ours[name], np.ma.MaskedArray)
            assert ours[name].dtype == column.dtype
            assert ours[name].tolist() == column.tolist()  # None where it is masked
        elif name != "params":
            assert ours[name].dtype == column.dtype
            assert ours[name].shape == column.shape
    assert ours["scheme"].tolist() == ["pairs"] * 5


def test_test_scores_are_greater_the_better_and_nan_in_folds_that_were_left_out():
    found = table(
        runner("bad", [[1, 1]], reason="dropped"),
        runner("good", [[0, 0.2], [0.2, 0.4]]),
        runner("as good", [[0, 0.2], [0.2, 0.4]]),
    )
    np.testing.assert_allclose(found["split0_test_score"], [-1.0, -0.1, -0.1])
    np.testing.assert_allclose(found["split1_test_score"], [np.nan, -0.3, -0.3])
    np.testing.assert_allclose(found["mean_test_score"], [-1.0, -0.2, -0.2])
    np.testing.assert_allclose(found["std_test_score"], [0.0, 0.1, 0.1])
    assert found["rank_test_score"].tolist() == [3, 1, 1]
    assert found["rank"].tolist() == [3, 1, 2]
    assert found["params"] == [{}, {}, {}]
