"""The final calibration as an ONNX graph."""

from __future__ import annotations

import numpy as np

from polytomy.calibration.final import (
    LARGEST_LOG_ODDS,
    BiasMap,
    DecoderMap,
    FinalMap,
    clip_decisions,
)
from polytomy.errors import Argument, ArgumentError
from polytomy.onnx_graph import Graph, Value

__all__ = ["apply_final", "check_exportable_map", "clip_answers"]


def check_exportable_map(final: FinalMap) -> None:
    """Raise an ArgumentError if a final calibration cannot be written as a graph."""
    if not isinstance(final, BiasMap | DecoderMap):
        calibrator = getattr(final, "calibrator", final)
        raise ArgumentError(
            Argument("final_calibration", calibrator),
            " cannot be exported. Fit with ",
            Argument("final_calibration", "bias"),
            ', "decoder" or None.',
        )


def clip_answers(graph: Graph, answers: Value) -> Value:
    """Return the answers of binaries with log-odds between the bounds of `clip_decisions`."""
    lowest, highest = clip_decisions(np.array([-1.0, 1.0])).tolist()
    return graph.add("Clip", answers, lowest, highest)


def apply_final(graph: Graph, probabilities: Value, answers: Value, final: FinalMap) -> Value:
    """Return the calibrated probabilities.

    Parameters
    ----------
    graph : Graph to add nodes to
    probabilities : probabilities from the solver, of shape (n_samples, n_classes)
    answers : clipped answers of all binaries, of shape (n_samples, n_binaries)
    final : a map that `check_exportable_map` accepts
    """
    check_exportable_map(final)
    base = final.base if isinstance(final, DecoderMap) else final
    assert isinstance(base, BiasMap)
    logits = graph.add("Log", probabilities + float(base.floor)) * float(base.scale) + base.bias
    if isinstance(final, DecoderMap):
        # The log-odds, 2 artanh(r). ONNX runtimes have no Atanh in double precision.
        log_odds = graph.add("Log", (answers + 1.0) / (1.0 - answers))
        log_odds = graph.add("Clip", log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        logits = logits + log_odds @ final.weights
    return graph.add("Softmax", logits, axis=1)
