"""Walks a scheme: binds it to classes and models, trains its binaries, and asks them."""

from polytomy.assembly.binding import bind_classes
from polytomy.assembly.data import check_features, check_training_data, class_weights
from polytomy.assembly.estimators import Dichotomy, dichotomies
from polytomy.assembly.fitting import fit_binaries, update_binaries
from polytomy.assembly.inference import (
    ask_binaries,
    blocks_of_rows,
    follow_winners,
    match_partitions,
)
from polytomy.assembly.progress import progress_bar
from polytomy.assembly.scheme_argument import SchemeArgument, scheme_from

__all__ = [
    "Dichotomy",
    "SchemeArgument",
    "ask_binaries",
    "bind_classes",
    "blocks_of_rows",
    "check_features",
    "check_training_data",
    "class_weights",
    "dichotomies",
    "fit_binaries",
    "follow_winners",
    "match_partitions",
    "progress_bar",
    "scheme_from",
    "update_binaries",
]
