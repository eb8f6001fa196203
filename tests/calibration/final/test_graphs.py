"""Graphs of final calibrations."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from polytomy.calibration.final import BiasMap, DecoderMap, clip_decisions, export_clipping

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def _calibrate(compute, map_, probabilities, answers):
    """Return what the graph makes of probabilities and answers."""
    n_classes = probabilities.shape[1]

    def formula(graph, both):
        own = both.take(np.arange(n_classes), axis=1)
        rest = both.take(np.arange(n_classes, n_classes + answers.shape[1]), axis=1)
        return map_.to_onnx(graph, own, export_clipping(graph, rest))

    return compute(formula, np.hstack([probabilities, answers]))


def _draw(seed, n_classes, n_binaries):
    """Return probabilities, some of them zero, and answers, some of them certain."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(n_classes, 0.3), size=20)
    probabilities[:3, 0] = 0.0
    answers = np.clip(rng.normal(size=(20, n_binaries)), -1, 1)
    return rng, probabilities / probabilities.sum(axis=1, keepdims=True), answers


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 6),
    st.integers(1, 8),
    st.floats(0, 10),
    st.floats(1e-6, 0.2),
    st.booleans(),
)
def test_a_graph_gives_the_probabilities_of_its_map(
    compute, seed, n_classes, n_binaries, scale, floor, is_decoder
):
    rng, probabilities, answers = _draw(seed, n_classes, n_binaries)
    map_ = BiasMap(scale, floor, rng.normal(size=n_classes))
    if is_decoder:
        map_ = DecoderMap(*astuple(map_), rng.normal(size=(n_binaries, n_classes)))
    found = _calibrate(compute, map_, probabilities, answers)
    np.testing.assert_allclose(found, map_.apply(probabilities, answers), rtol=0, atol=1e-12)


def test_a_decoder_adds_weighted_log_odds_between_minus_15_and_15(compute):
    """The formula, written out: s·log(p + ε) + b + z·W with z = 2 artanh(r)."""
    probabilities, answers = np.array([[0.5, 0.5, 0.0]]), np.array([[0.5, 1.0]])
    weights = np.array([[0.5, -0.25, 0.0], [0.0, 0.01, -0.02]])
    map_ = DecoderMap(2.0, 0.25, np.array([0.0, 0.5, -0.5]), weights)
    logits = 2 * np.log([0.75, 0.75, 0.25]) + [0.0, 0.5, -0.5] + np.log(3) * weights[0]
    logits = logits + 15 * weights[1]
    found = _calibrate(compute, map_, probabilities, answers)
    np.testing.assert_allclose(found[0], softmax(logits), rtol=0, atol=1e-9)


def test_a_class_that_the_solver_excludes_stays_excluded_without_a_floor(compute):
    map_ = BiasMap(2.0, 0.0, np.zeros(3))
    found = _calibrate(compute, map_, np.array([[0.25, 0.75, 0.0]]), np.zeros((1, 1)))
    np.testing.assert_allclose(found, [[0.1, 0.9, 0.0]], rtol=0, atol=1e-15)


def test_answers_are_clipped_as_by_the_classifier(compute):
    answers = np.array([[-1.0, -0.5, 0.0, 0.999999, 1.0]])
    np.testing.assert_array_equal(compute(export_clipping, answers), clip_decisions(answers))
