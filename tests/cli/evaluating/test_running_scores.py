"""Scores of predictions in blocks."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import polytomy as pt
from polytomy import metrics, parse
from polytomy.cli.evaluating import RunningScores, score_to_text

CLASSES = np.array(["corn", "oak", "pine", "wheat"])
LAND = parse("land {field {corn wheat} forest {pine oak}}")


@pytest.mark.parametrize("cuts", [[], [1, 50, 51, 299]])
def test_blocks_have_the_scores_of_all_samples_at_once(cuts):
    generator = np.random.default_rng(0)
    y = generator.choice(CLASSES, 300)
    P = generator.dirichlet(np.ones(4), 300)
    predicted = CLASSES[P.argmax(axis=1)]
    order = ["wheat", "corn", "pine", "oak"]
    scores = RunningScores(CLASSES, order, LAND)
    for part in np.split(np.arange(300), cuts):
        scores.add(y[part], predicted[part], P[part])
    hierarchical = metrics.hierarchical_score(y, predicted, LAND)._asdict()
    assert scores.measure() == pytest.approx(
        {
            "accuracy": np.mean(y == predicted),
            "uncertainty_coefficient": metrics.uncertainty_coefficient(y, predicted),
            "brier_score": metrics.brier_score(y, P, CLASSES),
            "root_brier_score": metrics.root_brier_score(y, P, CLASSES),
            "winner_brier_score": metrics.winner_brier_score(y, P, CLASSES),
            "log_loss": metrics.log_loss(y, P, CLASSES),
            "calibration_error": metrics.classwise_calibration_error(y, P, CLASSES),
            "mean_absolute_rank_error": metrics.mean_absolute_rank_error(y, predicted, order),
            "ranked_probability_score": metrics.ranked_probability_score(
                y, P, CLASSES, class_order=order
            ),
            **{f"hierarchical_{name}": value for name, value in hierarchical.items()},
        },
        rel=1e-12,
    )
    assert scores.n_samples == 300
    assert scores.table.sum(axis=1).tolist() == [np.sum(y == label) for label in CLASSES]


def test_without_probabilities_there_are_the_scores_of_predictions_only():
    scores = RunningScores(CLASSES)
    scores.add(CLASSES, CLASSES[[0, 1, 2, 2]], None)
    assert set(scores.measure()) == {"accuracy", "uncertainty_coefficient"}
    assert scores.measure()["accuracy"] == 0.75


def test_every_value_of_a_score_is_shown_with_its_name():
    X, y = load_iris(return_X_y=True)
    score = pt.PolytomyClassifier(random_state=0).fit(X, y).out_of_fold_score_
    parts = [part.rsplit(" ", 1) for part in score_to_text(score).split(", ")]
    names = ["log-loss", "Brier score", "accuracy", "uncertainty coefficient"]
    assert [name for name, _ in parts] == names
    assert [float(value) for _, value in parts] == pytest.approx(list(score.values()), abs=6e-5)
