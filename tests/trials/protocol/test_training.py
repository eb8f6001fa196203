"""Training in a trial: once for the pairs of a configuration, and apart for calibrated ones."""

import numpy as np
import pytest
from sklearn.svm import SVC

from polytomy.trials import Dataset, Pair, Protocol, pairs_from
from polytomy.trials.protocol import Trial


@pytest.fixture(scope="module")
def dataset():
    random = np.random.default_rng(3)
    y = np.arange(80) % 4
    return Dataset("made", random.normal(size=(80, 2)) + y[:, np.newaxis], y)


@pytest.fixture(scope="module")
def split(dataset):
    return Protocol(pairs_from()).split(dataset, 0)


def test_a_scheme_is_made_once_for_all_methods_and_a_bad_one_has_a_problem(dataset, split):
    seen = []

    def own_tree(X, y):
        seen.append(len(y))
        return "tree"

    pairs = pairs_from([own_tree, "m {0 1}"], ["least-squares", "greedy"], calibrated=True)
    trial = Trial(dataset, SVC(), split)
    for pair in pairs:
        trial.measure(pair)
    assert len(seen) == 1
    assert trial.made["own_tree"].problem == ""
    (bad,) = [each for name, each in trial.made.items() if name != "own_tree"]
    assert bad.scheme is None
    assert "2" in bad.problem
    assert set(trial.trained) == {("own_tree", False), ("own_tree", True)}


def test_calibrated_pairs_have_the_same_binaries_and_out_of_fold_scores(dataset, split):
    pairs = pairs_from(["one-vs-one", "tree"], ["least-squares", "voting"], calibrated=True)
    told = []
    trial = Trial(dataset, SVC(), split, on_trained=told.append)
    for pair in pairs:
        trial.measure(pair)
    trained = trial.trained
    assert told == ["one-vs-one", "one-vs-one, calibrated", "tree", "tree, calibrated"]
    has_scores = {key: each.trained.out_of_fold is not None for key, each in trained.items()}
    assert has_scores == {key: key[1] for key in trained}
    for name in ("one-vs-one", "tree"):
        plain, calibrated = (
            trained[name, is_calibrated].trained for is_calibrated in (False, True)
        )
        for one, other in zip(plain.binaries, calibrated.binaries, strict=True):
            np.testing.assert_array_equal(
                one.decisions(split.X_test), other.decisions(split.X_test)
            )
        assert trained[name, False].seconds >= plain.seconds


@pytest.mark.parametrize("final_calibration", ["bias", "decoder"])
def test_a_pair_learns_its_own_calibration_from_the_scores_of_its_configuration(
    dataset, split, final_calibration
):
    pair = Pair("orthogonal", "own", "orthogonal", "least-squares", final_calibration)
    trial = Trial(dataset, SVC(), split)
    training = trial.train(pair, trial.make_scheme(pair))
    composition, seconds = training.compose(pair)
    assert seconds > training.seconds
    assert composition.out_of_fold.final_calibration == final_calibration
    assert composition.final is not None
    plain, same = training.compose(pair._replace(solver="voting"))
    assert plain.final is None
    assert same >= training.seconds
