"""Tables of results."""

import numpy as np

from polytomy.selection import Candidate, Race, Runner, tabulate_race


def runner(name, losses, seconds=1.0, reason=""):
    """Return a runner measured on folds of two samples each, with two more scores."""
    means = [float(np.mean(fold)) for fold in losses]
    made = Runner(
        Candidate(name, name), {"log_loss": means, "accuracy": [1 - each for each in means]}
    )
    made.losses = [np.array(fold, dtype=float) for fold in losses]
    made.fit_seconds = made.predict_seconds = [seconds] * len(losses)
    made.n_binaries = [3] * len(losses)
    made.n_training_samples = [10 * (k + 1) for k in range(len(losses))]
    made.reason = reason
    return made


def table(*runners):
    race = Race(list(runners), [np.ones(2)] * 2, 2)
    return tabulate_race(race, runners[0])


def test_each_candidate_has_means_and_standard_deviations_over_its_folds():
    found = table(runner("good", [[0, 0.2], [0.2, 0.4]]), runner("bad", [[1, 1]], reason="dropped"))
    assert found["candidate"].tolist() == ["good", "bad"]
    assert found["solver"].tolist() == ["least-squares"] * 2
    assert found["n_folds"].tolist() == [2, 1]
    np.testing.assert_allclose(found["mean_log_loss"], [0.2, 1.0])
    np.testing.assert_allclose(found["mean_accuracy"], [0.8, 0.0])
    # Of 0.1 and 0.3, with one degree of freedom; a single fold has no deviation.
    np.testing.assert_allclose(found["std_log_loss"], [np.sqrt(0.02), np.nan])
    assert found["n_training_samples"].tolist() == [15, 10]
    assert found["is_chosen"].tolist() == [True, False]
    assert found["reason"].tolist() == ["", "dropped"]


def test_survivors_rank_before_dropped_candidates_and_more_folds_before_fewer():
    found = table(
        runner("second", [[0.5, 0.5], [0.5, 0.5]]),
        runner("dropped early", [[0.1, 0.1]], reason="dropped"),
        runner("first", [[0.4, 0.4], [0.4, 0.4]]),
        runner("never measured", [], reason="unsuitable"),
        runner("dropped late", [[0.9, 0.9], [0.9, 0.9]], reason="dropped"),
    )
    assert found["rank"].tolist() == [2, 4, 1, 5, 3]
    assert np.isnan(found["mean_log_loss"][3])


def test_a_candidate_is_pareto_optimal_unless_another_beats_it_without_a_loss():
    found = table(
        runner("slow and good", [[0.1, 0.1], [0.1, 0.1]], seconds=5.0),
        runner("fast and bad", [[0.5, 0.5], [0.5, 0.5]], seconds=1.0),
        runner("slow and bad", [[0.5, 0.5], [0.5, 0.5]], seconds=5.0),
    )
    assert found["is_pareto"].tolist() == [True, True, False]
