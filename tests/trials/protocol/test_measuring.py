"""One trial: what is measured is what can be worked out apart."""

import time
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from polytomy.errors import PolytomyWarning
from polytomy.trials import MEASURES, Dataset, Pair, Protocol, measure_trial, pairs_from

COUNTS = [30, 25, 20, 35]


@pytest.fixture(scope="module")
def dataset():
    random = np.random.default_rng(7)
    y = np.repeat(["d", "a", "c", "b"], COUNTS)
    X = random.normal(size=(len(y), 3)) + np.unique(y, return_inverse=True)[1][:, None]
    return Dataset("made", X, y, order=["d", "c", "b", "a"])


@pytest.fixture(scope="module")
def sorted_dataset(dataset):
    """Return the data in sorted order, so that a classifier alone deals the same folds."""
    return Dataset("made", dataset.X, dataset.y)


@pytest.fixture(scope="module")
def protocol():
    return Protocol(pairs_from(calibrated=True), estimator=SVC(C=3.0))


@pytest.fixture(scope="module")
def record(dataset, protocol):
    return measure_trial(dataset, protocol, 0)


def cell_of(record, configuration, method):
    return next(
        cell
        for cell in record["cells"]
        if (cell["configuration"], cell["method"]) == (configuration, method)
    )


def trained_apart(dataset, protocol, record, scheme, **options):
    """Return a classifier of one scheme of a record alone, the test part and its labels."""
    scheme = pt.parse(record["schemes"][scheme])
    split = protocol.split(dataset, record["repeat"])
    labels = np.array(dataset.classes)
    classifier = pt.PolytomyClassifier(
        SVC(C=3.0), scheme, random_state=record["seed"], **{"final_calibration": None} | options
    ).fit(split.X_train, labels[split.class_indices_train])
    return classifier, split.X_test, labels[split.class_indices_test]


@pytest.mark.parametrize("configuration", ["one-vs-one", "one-vs-rest"])
def test_scores_are_those_of_the_scheme_trained_apart(sorted_dataset, protocol, configuration):
    record = measure_trial(sorted_dataset, protocol, 0)
    classifier, X, y = trained_apart(sorted_dataset, protocol, record, configuration)
    probabilities = classifier.predict_proba(X)
    predicted = classifier.predict(X)
    scores = cell_of(record, configuration, "least-squares")["scores"]
    assert scores["accuracy"] == pytest.approx(accuracy_score(y, predicted))
    assert scores["log_loss"] == pytest.approx(log_loss(y, probabilities))
    truth = (y[:, None] == classifier.classes_).astype(float)
    squares = (probabilities - truth) ** 2
    assert scores["brier_score"] == pytest.approx(squares.sum(axis=1).mean())
    assert scores["root_brier_score"] == pytest.approx(np.sqrt(squares.mean()))
    right = predicted == y
    assert scores["winner_brier_score"] == pytest.approx(
        np.sqrt(np.mean((probabilities.max(axis=1) - right) ** 2))
    )
    assert scores["uncertainty_coefficient"] == pytest.approx(
        pt.metrics.uncertainty_coefficient(y, predicted)
    )
    assert scores["n_binaries"] == len(classifier.binaries_)


def test_calibrated_pairs_score_as_a_calibrated_classifier(sorted_dataset, protocol):
    record = measure_trial(sorted_dataset, protocol, 1)
    calibrated = [pair for pair in protocol.pairs if pair.final_calibration is not None]
    assert len(calibrated) > 1
    for pair in calibrated:
        classifier, X, y = trained_apart(
            sorted_dataset,
            protocol,
            record,
            pair.configuration,
            final_calibration=pair.final_calibration,
            solver="least-squares",
        )
        scores = cell_of(record, pair.configuration, pair.method)["scores"]
        expected = log_loss(y, classifier.predict_proba(X))
        assert scores["log_loss"] == pytest.approx(expected, rel=1e-9)
        expected = classifier.out_of_fold_score_["log_loss"]
        assert scores["out_of_fold_log_loss"] == pytest.approx(expected, rel=1e-9)
        plain = cell_of(record, pair.configuration, "least-squares")["scores"]
        assert scores["log_loss"] != pytest.approx(plain["log_loss"], rel=1e-6)
        assert scores["n_binaries"] == plain["n_binaries"]


def test_pairs_of_one_configuration_each_learn_their_own_calibration(dataset):
    bias = Pair("adjacent", "bias", "adjacent", "least-squares", "bias")
    pairs = [bias, bias._replace(method="decoder", final_calibration="decoder")]
    record = measure_trial(dataset, Protocol(pairs, estimator=SVC(C=3.0)), 1)
    alone = [
        measure_trial(dataset, Protocol([pair], estimator=SVC(C=3.0)), 1)["cells"][0]
        for pair in pairs
    ]
    assert [without_times(cell) for cell in record["cells"]] == list(map(without_times, alone))
    assert len({cell["scores"]["log_loss"] for cell in alone}) == 2


def test_a_solver_without_probabilities_cannot_be_calibrated(dataset):
    pairs = [Pair("tree", "greedy + bias", "tree", "greedy", "bias")]
    (cell,) = measure_trial(dataset, Protocol(pairs, estimator=GaussianNB()), 0)["cells"]
    assert "the solver gives no probabilities" in cell["problem"]
    assert "scores" not in cell


def test_a_confusion_matrix_has_its_rows_in_the_order_of_the_classes(dataset, protocol, record):
    classifier, X, y = trained_apart(dataset, protocol, record, "one-vs-one")
    expected = confusion_matrix(y, classifier.predict(X), labels=list(dataset.classes))
    assert cell_of(record, "one-vs-one", "least-squares")["confusion"] == expected.tolist()
    assert record["classes"] == ["d", "c", "b", "a"]


def test_support_vectors_are_counted_once(dataset, protocol, record):
    classifier, *_ = trained_apart(dataset, protocol, record, "one-vs-rest")
    vectors = {
        row.tobytes()
        for binary in classifier.binaries_
        for row in np.ascontiguousarray(binary.estimator.support_vectors_)
    }
    scores = cell_of(record, "one-vs-rest", "least-squares")["scores"]
    assert scores["n_support_vectors"] == len(vectors)


def test_the_schemes_of_ordered_classes_go_by_their_order(record):
    assert pt.parse(record["schemes"]["adjacent"]) == pt.designs.adjacent(["d", "c", "b", "a"])
    tree = pt.parse(record["schemes"]["tree"])
    assert tree == pt.designs.balanced_tree(["d", "c", "b", "a"])


def test_the_greedy_walk_has_the_probability_of_its_winner_alone(sorted_dataset, record):
    cell = cell_of(record, "tree", "greedy")
    for name in ("brier_score", "log_loss", "calibration_error"):
        assert cell["scores"][name] is None
    # Of four classes in two steps, by the answers of the binaries at both.
    tree = pt.designs.balanced_tree(["d", "c", "b", "a"])
    alone = Protocol(pairs_from({"tree": (tree, "greedy")}), estimator=SVC(C=3.0))
    record = measure_trial(sorted_dataset, alone, 0)
    scores = cell_of(record, "tree", "greedy")["scores"]
    classifier, X, y = trained_apart(sorted_dataset, alone, record, "tree")
    root, left, right = (0.5 * (1 + answers) for answers in classifier.decisions(X).T)
    is_right = root > 0.5
    last = np.where(is_right, right, left)
    confidence = np.maximum(root, 1 - root) * np.maximum(last, 1 - last)
    winner = np.array(tree.classes)[2 * is_right + (last > 0.5)]
    expected = np.sqrt(np.mean((confidence - (winner == y)) ** 2))
    assert scores["winner_brier_score"] == pytest.approx(expected)


def test_reliability_counts_every_probability_once(dataset, record):
    n_test = record["n_test"]
    bins = np.array(cell_of(record, "one-vs-one", "least-squares")["reliability"])
    n_values, predicted, observed = bins.sum(axis=0)
    # Each sample has a probability for each of four classes; they sum to one, and one comes true.
    assert (n_values, observed) == (4 * n_test, n_test)
    assert predicted == pytest.approx(n_test)
    assert cell_of(record, "tree", "greedy")["reliability"] is None


def test_a_record_has_every_measure_of_every_pair(record, protocol):
    assert [(cell["configuration"], cell["method"]) for cell in record["cells"]] == [
        (pair.configuration, pair.method) for pair in protocol.pairs
    ]
    for cell in record["cells"]:
        missing = set() if "final_calibration" in cell else {"out_of_fold_log_loss"}
        assert set(cell["scores"]) == set(MEASURES) - missing
    assert [cell.get("final_calibration") for cell in record["cells"]] == [
        pair.final_calibration for pair in protocol.pairs
    ]
    assert record["n_train"] + record["n_test"] == sum(COUNTS)


def test_jobs_change_nothing_but_times(dataset, protocol, record):
    with parallel_config(backend="threading"):  # processes take seconds to start
        other = measure_trial(dataset, protocol, 0, n_jobs=2)
    assert [without_times(cell) for cell in other["cells"]] == [
        without_times(cell) for cell in record["cells"]
    ]


def without_times(cell):
    times = ("fit_seconds", "predict_seconds")
    scores = {name: value for name, value in cell["scores"].items() if name not in times}
    return cell | {"scores": scores}


class CountedNB(GaussianNB):
    """Counts how often it is fitted, and takes its time."""

    n_fits = 0
    seconds = 0.02

    def fit(self, X, y, sample_weight=None):
        type(self).n_fits += 1
        time.sleep(self.seconds)
        return super().fit(X, y, sample_weight)


def test_a_configuration_is_trained_once_for_all_solvers(dataset):
    tree = pt.designs.balanced_tree(["d", "c", "b", "a"])
    schemes = {"tree": tree, "flat": tree.flatten(), "pairs": "one-vs-one"}
    CountedNB.n_fits = 0
    pairs = pairs_from(schemes, ["least-squares", "divergence"])
    record = measure_trial(dataset, Protocol(pairs, estimator=CountedNB()), 0)
    assert CountedNB.n_fits == 3 + 3 + 6
    for configuration, n_binaries in (("tree", 3), ("flat", 3), ("pairs", 6)):
        scores = cell_of(record, configuration, "divergence")["scores"]
        assert scores["n_binaries"] == n_binaries
        assert scores["fit_seconds"] >= n_binaries * CountedNB.seconds
        assert scores["n_support_vectors"] is None
    both = [cell_of(record, name, "least-squares")["scores"] for name in ("tree", "flat")]
    assert both[0]["log_loss"] == pytest.approx(both[1]["log_loss"])


def test_what_cannot_be_done_on_a_dataset_is_told_and_the_rest_goes_on(dataset):
    schemes = {"pairs": "one-vs-one", "strange": "m {x y}"}
    protocol = Protocol(pairs_from(schemes, ["least-squares", "greedy"]), estimator=GaussianNB())
    record = measure_trial(dataset, protocol, 0)
    problems = {
        (cell["configuration"], cell["method"]): cell["problem"] for cell in record["cells"]
    }
    assert problems["pairs", "least-squares"] == ""
    assert 'solver="greedy" needs a tree' in problems["pairs", "greedy"]
    assert "the scheme does not name" in problems["strange", "least-squares"]


def test_methods_without_probabilities_are_judged_by_their_classes(dataset):
    protocol = Protocol(pairs_from(["one-vs-one"], ["voting"]), estimator=GaussianNB())
    scores = measure_trial(dataset, protocol, 0)["cells"][0]["scores"]
    assert scores["accuracy"] > 0.4
    for name in ("brier_score", "winner_brier_score", "log_loss", "calibration_error"):
        assert scores[name] is None


def test_warnings_are_kept_with_the_trial(dataset):
    def doubtful(X, y):
        warnings.warn("made in doubt", PolytomyWarning, stacklevel=2)
        return "one-vs-rest"

    record = measure_trial(dataset, Protocol(pairs_from([doubtful]), estimator=GaussianNB()), 0)
    assert record["warnings"] == ["made in doubt"]


def test_sparse_data_and_pipelines_have_support_vectors_too(dataset):
    X = csr_array(np.where(dataset.X > 0, dataset.X, 0))
    scaled = make_pipeline(StandardScaler(with_mean=False), SVC())
    # A scaler of its own makes other vectors for each of the three binaries.
    for estimator, most in ((SVC(), 1), (scaled, 3)):
        protocol = Protocol(pairs_from(["tree"]), estimator=estimator)
        record = measure_trial(Dataset("sparse", X, dataset.y), protocol, 0)
        n_vectors = record["cells"][0]["scores"]["n_support_vectors"]
        assert 0 < n_vectors <= most * record["n_train"]


def test_configurations_are_told_when_they_are_trained(dataset):
    told = []
    protocol = Protocol(pairs_from(["tree", "adjacent"]), estimator=GaussianNB())
    measure_trial(dataset, protocol, 0, on_trained=told.append)
    assert told == ["tree", "adjacent"]
