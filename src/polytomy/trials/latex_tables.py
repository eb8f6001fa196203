r"""Tables in LaTeX, with the rules of the package booktabs and a label for \ref."""

from __future__ import annotations

import re

from polytomy.trials.cells import format_cell
from polytomy.trials.results import Cell, Table

__all__ = ["escape_latex", "table_to_latex"]

_SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {'"': r"{\ttfamily\char34}"}
    # At the start of a row, these would be options of the line break before it.
    | {"[": "{[}", "*": "{*}"}
)
_DIRECTIONS = {"largest": "Larger is better", "smallest": "Smaller is better"}


def table_to_latex(table: Table, label: str | None = None) -> str:
    r"""Format a table in LaTeX, with the best values in bold.

    The document needs ``\usepackage{booktabs}``. Names in scripts that pdfLaTeX does not support
    need LuaLaTeX or XeLaTeX, and a font that has them.

    Parameters
    ----------
    table : Table
    label : name for ``\ref``; by default ``tab:`` and the name of the measure, as in
        ``tab:log-loss``

    Examples
    --------
    >>> from polytomy.trials import MEASURES, Cell
    >>> cells = [[Cell(0.91, 0.012, 5, is_best=True)], [Cell(0.88, 0.009, 5)]]
    >>> rows = [("one-vs-one", "least-squares"), ("tree", "greedy")]
    >>> print(table_to_latex(Table(MEASURES["accuracy"], ["land_use"], rows, cells)))
    \begin{table}
      \centering
      \caption{Accuracy: mean $\pm$ standard deviation over 5 trials. Larger is better; bold marks
      the best.}
      \label{tab:accuracy}
      \begin{tabular}{llr}
        \toprule
        configuration & method & land\_use \\
        \midrule
        one-vs-one & least-squares & $\mathbf{0.910 \pm 0.012}$ \\
        tree & greedy & $0.8800 \pm 0.0090$ \\
        \bottomrule
      \end{tabular}
    \end{table}
    """
    has_methods = any(method for _, method in table.rows)
    heads = ["configuration", *(["method"] if has_methods else []), *table.datasets]
    n_names = len(heads) - len(table.datasets)
    rows = [" & ".join(map(escape_latex, heads))]
    for name, cells in zip(table.rows, table.cells, strict=True):
        names = map(escape_latex, name[:n_names])
        rows.append(" & ".join([*names, *map(_format_cell, cells)]))
    head, *body = [f"    {row} \\\\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_caption(table)}}}",
            rf"  \label{{{label or 'tab:' + table.measure.name.replace('_', '-')}}}",
            rf"  \begin{{tabular}}{{{'l' * n_names}{'r' * len(table.datasets)}}}",
            r"    \toprule",
            head,
            r"    \midrule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX typesets literally.

    Examples
    --------
    >>> print(escape_latex("50%_of & more"), escape_latex("a--b"))
    50\%\_of \& more a{-}{-}b
    """
    plain = "".join(c if c.isprintable() else " " for c in text)
    # Two hyphens would become a dash.
    return re.sub("-(?=-)|(?<=-)-", "{-}", plain.translate(_SPECIAL))


def _caption(table: Table) -> str:
    title = escape_latex(table.measure.title)
    counts = sorted({cell.n_repeats for row in table.cells for cell in row if cell is not None})
    if not counts or counts == [1]:
        text = f"{title} in a single trial."
    else:
        trials = "--".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        text = rf"{title}: mean $\pm$ standard deviation over {trials} trials."
    direction = _DIRECTIONS.get(table.measure.best or "")
    return f"{text} {direction}; bold marks the best." if direction else text


def _format_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    text = format_cell(cell, r" \pm ")
    return rf"$\mathbf{{{text}}}$" if cell.is_best else f"${text}$"
