"""Which scheme and solver suit the data: candidates raced against each other on held-out folds."""

from polytomy.selection.candidates import Candidate, candidates_from, default_candidates
from polytomy.selection.choice import choose, pareto_set
from polytomy.selection.folds import folds_of
from polytomy.selection.race import Race, Runner, run_race
from polytomy.selection.scoring import SCORES, Score, find_score

__all__ = [
    "SCORES",
    "Candidate",
    "Race",
    "Runner",
    "Score",
    "candidates_from",
    "choose",
    "default_candidates",
    "find_score",
    "folds_of",
    "pareto_set",
    "run_race",
]
