"""The methods, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.solvers.coupling import (
    solve_hastie_tibshirani,
    solve_like_libsvm,
    solve_price,
    solve_wu_lin_weng_1,
)
from polytomy.solvers.divergence import solve_divergence
from polytomy.solvers.greedy import score_greedily
from polytomy.solvers.least_squares import solve_least_squares
from polytomy.solvers.voting import (
    score_losses,
    score_matches,
    score_votes,
    score_weighted_losses,
)

__all__ = ["METHODS", "Method", "find_method"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Method:
    """A method that computes class probabilities or scores from decision values.

    Attributes
    ----------
    name : as users write it
    gives_probabilities : whether it returns probabilities, so that `solve` accepts it, or scores
    needs : the structure that a code must have; see `check_applicable`
    function : function of a code, decisions and, by name, the options
    options : which of algorithm, weights and loss the function accepts
    reference : the publication it comes from
    """

    name: str
    gives_probabilities: bool
    needs: Literal["any code", "one-vs-one", "tree"]
    function: Callable[..., FloatArray]
    options: frozenset[str]
    reference: str

    @property
    def uses_flat_code(self) -> bool:
        """Whether a nested scheme is scored as one flat code instead of node by node."""
        return not self.gives_probabilities and self.needs != "tree"


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "least-squares",
            True,
            "any code",
            solve_least_squares,
            frozenset({"algorithm"}),
            "Wu, Lin and Weng 2004 for pairs; Kong and Dietterich 1997 for codes",
        ),
        Method(
            "divergence",
            True,
            "any code",
            solve_divergence,
            frozenset({"weights"}),
            "Zadrozny 2001",
        ),
        Method(
            "hastie-tibshirani",
            True,
            "one-vs-one",
            solve_hastie_tibshirani,
            frozenset({"weights"}),
            "Hastie and Tibshirani 1998",
        ),
        Method(
            "wu-lin-weng-1",
            True,
            "one-vs-one",
            solve_wu_lin_weng_1,
            frozenset(),
            "Wu, Lin and Weng 2004, first method",
        ),
        Method(
            "price",
            True,
            "one-vs-one",
            solve_price,
            frozenset(),
            "Price, Knerr, Personnaz and Dreyfus 1994",
        ),
        Method(
            "libsvm",
            True,
            "one-vs-one",
            solve_like_libsvm,
            frozenset(),
            "Chang and Lin 2011",
        ),
        Method(
            "voting",
            False,
            "any code",
            score_votes,
            frozenset(),
            "Mills, Solving for multi-class: a survey and synthesis",
        ),
        Method(
            "hamming",
            False,
            "any code",
            score_matches,
            frozenset(),
            "Dietterich and Bakiri 1995",
        ),
        Method(
            "loss-based",
            False,
            "any code",
            score_losses,
            frozenset({"loss"}),
            "Allwein, Schapire and Singer 2000",
        ),
        Method(
            "loss-weighted",
            False,
            "any code",
            score_weighted_losses,
            frozenset({"loss", "weights"}),
            "Escalera, Pujol and Radeva 2010",
        ),
        Method(
            "greedy",
            False,
            "tree",
            score_greedily,
            frozenset(),
            "Mills, Solving for multi-class: a survey and synthesis",
        ),
    )
}
"""Every method, by name."""


def find_method(name: str, parameter: str = "method") -> Method:
    """Return the method with the given name.

    Parameters
    ----------
    name : str
    parameter : str, default="method"
        The caller's name for the parameter, to use in the error message.

    Examples
    --------
    >>> find_method("price").needs
    'one-vs-one'
    >>> find_method("least-square")
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: method="least-square" is not known. Did you mean "least-squares"?
    The methods are least-squares, divergence, hastie-tibshirani, wu-lin-weng-1, price, libsvm,
    voting, hamming, loss-based, loss-weighted, greedy.
    """
    if isinstance(name, str) and name in METHODS:
        return METHODS[name]
    raise ArgumentError(
        Argument(parameter, name),
        f" is not known.{did_you_mean(name, METHODS)} The methods are {', '.join(METHODS)}.",
    )
