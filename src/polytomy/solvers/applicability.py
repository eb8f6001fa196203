"""Whether a method can solve a code or a scheme, decided without solving anything."""

from __future__ import annotations

from numpy.typing import ArrayLike

from polytomy.codes import CodingMatrix
from polytomy.errors import Argument, ArgumentError
from polytomy.solvers.methods import Method, find_method
from polytomy.solvers.nested import SchemeLike, check_flat_size, is_scheme
from polytomy.solvers.structures import ANY_CODE, ONE_VS_ONE, TREE, Structure

__all__ = ["check_applicable"]

_STRUCTURES: dict[str, Structure] = {
    "any code": ANY_CODE,
    "one-vs-one": ONE_VS_ONE,
    "tree": TREE,
}


def check_applicable(
    method: str, code: CodingMatrix | ArrayLike | SchemeLike, parameter: str = "method"
) -> None:
    """Raise an ArgumentError if `solve` or `decode` could not apply a method to a code or scheme.

    Parameters
    ----------
    method : str
        One of METHODS.
    code : CodingMatrix, array-like of −1, 0 and 1, or Scheme
        Each node of a nested scheme needs the structure that the method needs.
    parameter : str, default="method"
        The caller's name for the parameter, to use in the error message.

    Raises
    ------
    ArgumentError
        If the method is not known, if it needs a structure that the code or a node of the scheme
        does not have, or if it needs a flat code that would be too large.

    Examples
    --------
    >>> one_vs_rest = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    >>> check_applicable("divergence", one_vs_rest)
    >>> check_applicable("price", one_vs_rest, parameter="solver")
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: solver="price" needs a one-vs-one code; partition 0 has three
    classes. Use solver="least-squares".
    """
    found = find_method(method, parameter)
    if not is_scheme(code):
        if not isinstance(code, CodingMatrix):
            code = CodingMatrix(code)  # type: ignore[arg-type]
        _check_structure(found, code, "", parameter)
        return
    for position, node in enumerate(code.nodes):
        place = f"in node {position} of the scheme, " if len(code.nodes) > 1 else ""
        _check_structure(found, node.code, place, parameter)
    if found.uses_flat_code:
        check_flat_size(code, parameter)


def _check_structure(method: Method, code: CodingMatrix, place: str, parameter: str) -> None:
    structure = _STRUCTURES[method.needs]
    if structure.is_met_by(code):
        return
    raise ArgumentError(
        Argument(parameter, method.name),
        f" needs {structure.name}; {place}{structure.why_not(code)}. Use ",
        Argument(parameter, "least-squares"),
        ".",
    )
