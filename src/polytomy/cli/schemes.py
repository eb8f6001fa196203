"""Commands about schemes: design, check, show, flatten, tree."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.data import (
    check_output,
    explain_failure,
    parse_labels,
    print_text,
    read_control,
    read_scaled,
    to_json,
    write_text,
)
from polytomy.cli.options import AS_JSON, FeatureOptions, class_order, complete, flag, given, option
from polytomy.designs import design as make_design
from polytomy.designs import find_design
from polytomy.designs.orders import order_classes
from polytomy.errors import ArgumentError, ControlError, Problem
from polytomy.files import open_atomically
from polytomy.inputs.arguments import count_things
from polytomy.language.parser import Word
from polytomy.scheme import Label, Scheme, parse
from polytomy.scheme.nodes import word_to_label
from polytomy.scheme.reading import parse_with_warnings

ControlFile = Annotated[
    str, typer.Argument(metavar="FILE", help="Control file or saved model; - reads standard input.")
]
OUTPUT = option("-o", "--output", metavar="FILE", help="Write to this file instead of printing.")
COMPACT = flag("--compact", "Write codes as designs where possible: @one-vs-one.")


@dataclass(frozen=True, kw_only=True)
class DesignOptions:
    """Parameters of the design."""

    random_state: int | None = option(
        "--seed", min=0, metavar="N", help="Random seed, for designs that use one."
    )
    n_partitions: int | None = option(
        "--partitions",
        min=1,
        metavar="N",
        help="Number of partitions, for designs that let you choose it.",
    )
    sides: int | None = option(
        min=2, metavar="N", help="Number of sides of each partition of n-ary."
    )
    separator: str | None = option(
        metavar="TEXT", help="Separator of labels such as a/b/c, for paths."
    )
    name: str | None = option(help="Base of the binaries' names.")
    class_order: str | None = class_order()


def design(
    design: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="One of {designs}; or, from data, {data_designs}.",
            autocompletion=complete("schemes"),
        ),
    ],
    options: DesignOptions,
    reading: FeatureOptions,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Data file; required by designs made from data."),
    ] = None,
    classes: int | None = option(
        "--classes", "-n", min=1, metavar="N", help="Number of classes, named 0, 1, 2, …"
    ),
    labels: str | None = option(
        "--labels", "-l", metavar="LABELS", help="Class labels, separated by commas."
    ),
    compact: bool = COMPACT,
    output: Path | None = OUTPUT,
) -> None:
    """Write the control text of a design, for given classes or for a data file.

    Example: `polytomy design one-vs-one --labels corn,wheat,oak`

    Example: `polytomy design empirical-tree iris.csv`
    """
    chosen = given(options, class_order=parse_labels)
    found = find_design(design)
    if data is not None:
        if classes is not None or labels is not None:
            raise ArgumentError("the classes come from the data; leave out --classes and --labels")
        check_output(output, data)
        X, y = read_scaled(data, reading)
        if found.needs_data:
            scheme = make_design(design, X=X, y=y, **chosen)
        else:
            labels_found = sorted(set(y.tolist()))
            if found.uses_order and options.class_order is None:
                labels_found = order_classes(labels_found, None, [design])
            scheme = make_design(design, labels_found, **chosen)
    else:
        if found.needs_data:
            raise ArgumentError(
                f"{design!r} is made from data; pass a data file: polytomy design {design} DATA"
            )
        if (classes is None) == (labels is None):
            raise ArgumentError(
                "pass either --classes or --labels, such as --labels corn,wheat,oak"
            )
        named: int | list[Label] = classes or 0
        if labels is not None:
            words = parse_labels(labels, "--labels")
            named = [word_to_label(Word(word, False, 0, 0)) for word in words]
        scheme = make_design(design, named, **chosen)
    write_text(_scheme_text(scheme, compact), output)


def check(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Control files; - reads standard input.")
    ],
    strict: bool = flag("--strict", "Treat warnings as problems."),
    as_json: bool = AS_JSON,
) -> None:
    """Report the problems in control files.

    The exit code is 1 if there are problems, and 2 if a file cannot be read.

    Example: `polytomy check land.control`
    """
    worst = 0
    results: list[dict[str, Any]] = []
    for file in files:
        result: dict[str, Any] = {"file": file, "problems": [], "warnings": []}
        try:
            text, name = read_control(file)
            scheme, warnings = parse_with_warnings(text, name)
        except ControlError as error:
            result["problems"] = [_placed(problem) for problem in error.problems]
            worst = max(worst, 1)
            if not as_json:
                print_text(str(error))
        except OSError as error:
            worst = 2
            print(f"polytomy: {explain_failure(error)}", file=sys.stderr)
            continue
        else:
            result["warnings"] = [_placed(warning) for warning in warnings]
            result["scheme"] = _scheme_facts(scheme)
            worst = max(worst, int(strict and bool(warnings)))
            if not as_json:
                for warning in warnings:
                    print_text(f"warning: {warning}")
                print_text(f"{name}: {_summary(scheme)}")
        results.append(result)
    if as_json:
        print_text(to_json(results))
    if worst:
        raise typer.Exit(worst)


def _placed(problem: Problem) -> dict[str, Any]:
    return {"line": problem.line, "column": problem.column, "message": problem.message}


def show(
    file: ControlFile,
    matrix: bool = flag("--matrix", "Draw the coding matrix."),
    output: Path | None = option(
        "-o", "--output", metavar="FILE", help="Write a picture: FILE.png, FILE.svg or FILE.pdf."
    ),
) -> None:
    """Draw a scheme, as a tree or as a coding matrix, in the terminal or as a picture.

    Example: `polytomy show land.control --matrix`
    """
    if output is None:
        print_text(_parse_file(file).draw(matrix=matrix))
        return
    check_output(output, file, endings=(".png", ".svg", ".pdf"))
    scheme = _parse_file(file)
    from polytomy import plots  # matplotlib is slow to import

    axes = plots.code(scheme) if matrix else plots.tree(scheme)
    with open_atomically(output) as picture:
        axes.figure.savefig(picture, format=output.suffix[1:].lower(), bbox_inches="tight")


def flatten(file: ControlFile, compact: bool = COMPACT, output: Path | None = OUTPUT) -> None:
    """Convert a nested scheme to one code over all classes, with the same binaries.

    Example: `polytomy flatten land.control`
    """
    write_text(_scheme_text(_parse_file(file).flatten(), compact), output)


def tree(file: ControlFile, output: Path | None = OUTPUT) -> None:
    """Convert a code to the tree with the same partitions: the reverse of flatten.

    Example: `polytomy flatten land.control | polytomy tree -`
    """
    write_text(_scheme_text(_parse_file(file).to_tree(), compact=False), output)


def _parse_file(file: str) -> Scheme:
    if not file.endswith(".polytomy"):
        return parse(*read_control(file))
    from polytomy.persistence import read_info

    texts = read_info(file).schemes
    if len(texts) != 1:
        raise ArgumentError(f"{file} has {len(texts)} schemes; polytomy info lists them.")
    return parse(texts[0], file)


def _scheme_text(scheme: Scheme, compact: bool) -> str:
    return scheme.compact() if compact else str(scheme)


def _scheme_facts(scheme: Scheme) -> dict[str, Any]:
    kind = "tree" if scheme.is_tree else "code" if scheme.is_flat else "mixture of codes"
    return {"kind": kind, "classes": list(scheme.classes), "partitions": scheme.n_partitions}


def _summary(scheme: Scheme) -> str:
    kind, classes, n_partitions = _scheme_facts(scheme).values()
    counted = count_things(len(classes), "class", "classes")
    return f"{kind}, {counted}, {count_things(n_partitions, 'partition')}"
