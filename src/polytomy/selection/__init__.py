"""Choosing a scheme and solver for the data: candidates race on held-out folds."""

from polytomy.selection.candidates import (
    Candidate,
    candidates_from,
    default_candidates,
    expand_candidates,
)
from polytomy.selection.choice import choose_runner, pareto_set, tabulate_race
from polytomy.selection.measuring import is_trained_without_calibration
from polytomy.selection.race import Race, RaceSetup, Runner, comparison_folds, run_race
from polytomy.selection.scoring import find_score

__all__ = [
    "Candidate",
    "Race",
    "RaceSetup",
    "Runner",
    "candidates_from",
    "choose_runner",
    "comparison_folds",
    "default_candidates",
    "expand_candidates",
    "find_score",
    "is_trained_without_calibration",
    "pareto_set",
    "run_race",
    "tabulate_race",
]
