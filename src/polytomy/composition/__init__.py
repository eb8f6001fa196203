"""Walks a scheme: binds it to classes and models, trains its binaries, and asks them."""

from polytomy.composition.arrangement import (
    Arrangement,
    Solver,
    arrange,
    check_solver,
    gives_probabilities,
    mean_scores,
    rearrange,
)
from polytomy.composition.binding import bind_classes
from polytomy.composition.dichotomies import Dichotomy, dichotomies, names_in
from polytomy.composition.fitting import fit_binaries, update_binaries
from polytomy.composition.listeners import Listener, progress_bar
from polytomy.composition.metadata import (
    Arguments,
    RoutedArguments,
    route_arguments,
    router_of,
    split_groups,
    training_options,
)
from polytomy.composition.scheme_argument import SchemeArgument, members_of, scheme_from
from polytomy.composition.tree_walk import blocks_of_rows
from polytomy.inputs.training_data import check_features, check_training_data
from polytomy.inputs.weights import class_weights

__all__ = [
    "Arguments",
    "Arrangement",
    "Dichotomy",
    "Listener",
    "RoutedArguments",
    "SchemeArgument",
    "Solver",
    "arrange",
    "bind_classes",
    "blocks_of_rows",
    "check_features",
    "check_solver",
    "check_training_data",
    "class_weights",
    "dichotomies",
    "fit_binaries",
    "gives_probabilities",
    "mean_scores",
    "members_of",
    "names_in",
    "progress_bar",
    "rearrange",
    "route_arguments",
    "router_of",
    "scheme_from",
    "split_groups",
    "training_options",
    "update_binaries",
]
