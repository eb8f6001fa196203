"""From a scheme to a fitted composition: binds classes and models, trains and couples binaries."""

from polytomy.composition.arrangement import Arrangement
from polytomy.composition.binding import bind_classes
from polytomy.composition.composition import Composition
from polytomy.composition.dichotomies import Dichotomy, names_in
from polytomy.composition.fitting import TrainedBinaries, fit_binaries, update_binaries
from polytomy.composition.metadata import (
    RoutedArguments,
    make_router,
    take_groups,
)
from polytomy.composition.plan import TrainingPlan, plan_training
from polytomy.composition.scheme_argument import (
    SchemeArgument,
    choose_final_calibration,
    members_of,
    scheme_from,
)
from polytomy.composition.solver_option import Solver, check_solver, gives_probabilities
from polytomy.composition.training_options import TrainingSource, training_source

__all__ = [
    "Arrangement",
    "Composition",
    "Dichotomy",
    "RoutedArguments",
    "SchemeArgument",
    "Solver",
    "TrainedBinaries",
    "TrainingPlan",
    "TrainingSource",
    "bind_classes",
    "check_solver",
    "choose_final_calibration",
    "fit_binaries",
    "gives_probabilities",
    "make_router",
    "members_of",
    "names_in",
    "plan_training",
    "scheme_from",
    "take_groups",
    "training_source",
    "update_binaries",
]
