"""The command that exports models as ONNX: export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polytomy.cli.completing import complete_names
from polytomy.cli.data_options import AsJson, Features, ModelFile, Trusted, join_choices, to_json
from polytomy.cli.text_files import check_output, print_text
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import PRECISIONS

__all__ = ["register"]

_ENDING = ".onnx"


def register(app: typer.Typer) -> None:
    """Add the command of this module to the command line."""
    app.command()(export)


def export(
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="File to write, such as model.onnx."),
    ],
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Write ONNX even if the name does not end in .onnx.")
    ] = False,
    dtype: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"Type of the samples and probabilities: {join_choices(PRECISIONS)}.",
            autocompletion=complete_names(PRECISIONS),
        ),
    ] = "float32",
    features: Features = None,
    trusted: Trusted = None,
    as_json: AsJson = False,
) -> None:
    """Export a model as ONNX, which runs without Python.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy export m.polytomy -o m.onnx`
    """
    from polytomy.export import to_onnx
    from polytomy.files import open_atomically
    from polytomy.persistence import load

    if not onnx and output.suffix != _ENDING:
        raise ArgumentError(f"{output}: the name must end in {_ENDING}; or use --onnx")
    check_output(output, model)
    exported = to_onnx(load(model, trusted=tuple(trusted or ()), n_features=features), dtype=dtype)
    content = exported.SerializeToString()
    with open_atomically(output) as file:
        file.write(content)
    (samples,), outputs = exported.graph.input, [each.name for each in exported.graph.output]
    summary = {
        "file": str(output),
        "bytes": len(content),
        "input": samples.name,
        "type": dtype,
        "features": samples.type.tensor_type.shape.dim[1].dim_value,
        "outputs": outputs,
    }
    if as_json:
        print_text(to_json(summary))
        return
    print_text(
        f"{output}: {summary['bytes']} bytes; input {samples.name} of {summary['features']} "
        f"features in {dtype}, outputs {' and '.join(outputs)}"
    )
