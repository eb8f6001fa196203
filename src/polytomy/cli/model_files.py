"""Commands for model files: info, convert, export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from polytomy.cli.data import check_output, print_answer
from polytomy.cli.options import AS_JSON, LoadOptions, ModelFile, default_of, flag, option
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import count_things

_ONNX_ENDING = ".onnx"


def info(model: ModelFile, as_json: bool = AS_JSON) -> None:
    """Describe a model file: scheme, binaries, support vectors, final calibration, versions.

    Example: `polytomy train iris.csv -o iris.polytomy && polytomy info iris.polytomy`
    """
    from polytomy.persistence import read_info

    found = read_info(model)
    described = {
        "file": model,
        "kind": found.kind,
        "bytes": found.n_bytes,
        "format": found.format_version,
        "versions": dict(found.versions),
        "classes": found.classes.tolist(),
        "target range": found.target_range,
        "features": found.n_features,
        "feature names": found.feature_names,
        "solver": found.solver,
        "shared pre-processing": found.preprocessing,
        "binaries": dict(found.kinds),
        "support vectors": found.n_support_vectors,
        "final calibration": found.final_calibration,
        "out-of-fold score": found.out_of_fold_score,
        "has out-of-fold scores": found.has_out_of_fold,
        "has prediction sets": found.has_sets,
        "has prior": found.has_prior,
        "has costs": found.has_costs,
        "metadata": dict(found.metadata),
        "scheme": found.scheme,
    }
    versions = ", ".join(f"{name} {number}" for name, number in found.versions.items())
    kinds = ", ".join(f"{count} × {kind}" for kind, count in found.kinds.items())
    labels = ", ".join(map(str, found.classes.tolist()))
    lines = {
        "written by": versions,
        "classes": f"{len(found.classes)}: {_shortened(labels)}",
        "bins": _describe_bins(found),
        "features": "" if found.n_features is None else str(found.n_features),
        "solver": found.solver,
        "pre-processing": ", ".join(found.preprocessing),
        "binaries": kinds,
        "support vectors": str(found.n_support_vectors),
        "final calibration": _describe_final(found.final_calibration, found.has_out_of_fold),
        "out-of-fold score": _describe_score(found),
        "decisions": _describe_decisions(found),
    }
    if found.target_range is not None:
        del lines["classes"]
    version = "" if found.format_version is None else f", format {found.format_version}"
    head = f"{model}: {found.kind}, {found.n_bytes} bytes{version}"
    table = [f"{name:19}{text}" for name, text in lines.items() if text]
    text = "\n".join([head, *table, "", _shortened(found.scheme, lines=20)])
    print_answer(described, text, as_json)


def convert(
    model: ModelFile,
    *,
    output: Path = option(
        "-o",
        "--output",
        metavar="FILE",
        help="File to write; .model for LIBSVM, else .polytomy.",
        default=MISSING,
    ),
    loading: LoadOptions,
    range_file: Path | None = option(
        "--range", metavar="FILE", help="Also write the scaling of the model, for svm-scale -r."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Convert LIBSVM or libAGF models to one .polytomy file, or a model to LIBSVM's format.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy convert m.polytomy -o n.polytomy`
    """
    from polytomy.learners.preparation import split_pipeline
    from polytomy.persistence import FileKind, find_kind, load, read_info, save, write_libsvm

    is_for_libsvm = output.suffix == ".model"
    if output.suffix not in (".polytomy", ".model"):
        raise ArgumentError(f"{output}: the name must end in .polytomy, or in .model for LIBSVM")
    if range_file is not None and not is_for_libsvm:
        raise ArgumentError(
            "--range is only for LIBSVM models; use an output file that ends in .model"
        )
    check_output(output, model)
    check_output(range_file, model, str(output))
    loaded = load(model, **loading.loading())
    if is_for_libsvm:
        write_libsvm(loaded, output, range_file=range_file)
    else:
        is_own = find_kind(model) is FileKind.OWN
        save(
            loaded,
            output,
            metadata=read_info(model).metadata if is_own else None,
            out_of_fold=_has_out_of_fold(split_pipeline(loaded)[1]),
        )
    written = {str(file): file.stat().st_size for file in (output, range_file) if file is not None}
    facts = [{"file": file, "bytes": size} for file, size in written.items()]
    text = "\n".join(f"{file}: {size} bytes" for file, size in written.items())
    print_answer(facts, text, as_json)


def export(
    model: ModelFile,
    *,
    output: Path = option(
        "-o", "--output", metavar="FILE", help="File to write, such as model.onnx.", default=MISSING
    ),
    loading: LoadOptions,
    onnx: bool = flag("--onnx", "Write ONNX even if the name does not end in .onnx."),
    dtype: str | None = option(
        names="precisions",
        sets="export:to_onnx",
        help="Type of the samples and probabilities: {precisions}.",
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Export a model as ONNX, which runs without Python.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy export m.polytomy -o m.onnx`
    """
    from polytomy.export import to_onnx
    from polytomy.files import open_atomically
    from polytomy.persistence import load

    if not onnx and output.suffix != _ONNX_ENDING:
        raise ArgumentError(f"{output}: the name must end in {_ONNX_ENDING}; or use --onnx")
    check_output(output, model)
    dtype = dtype or default_of("export:to_onnx", "dtype")
    exported = to_onnx(load(model, **loading.loading()), dtype=dtype)
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
    text = (
        f"{output}: {summary['bytes']} bytes; input {samples.name} of {summary['features']} "
        f"features in {dtype}, outputs {' and '.join(outputs)}"
    )
    print_answer(summary, text, as_json)


def _has_out_of_fold(model: Any) -> bool:
    classifier = getattr(model, "classifier_", model)  # if it is a regressor
    return classifier.composition_.out_of_fold is not None


def _describe_final(final: Mapping[str, Any] | None, has_out_of_fold: bool) -> str:
    if final is None:
        return ""
    numbers = [f"{name} {value:.3g}" for name, value in final.items() if name != "kind"]
    stored = ["with out-of-fold scores"] if has_out_of_fold else []
    return ", ".join([final["kind"], *numbers, *stored])


def _describe_bins(found: Any) -> str:
    if found.target_range is None:
        return ""
    low, high = found.target_range["lower"], found.target_range["upper"]
    return f"{len(found.classes)}, from {low:g} to {high:g}"


def _describe_decisions(found: Any) -> str:
    parts = {
        "prediction sets": found.has_sets,
        "a prior other than that of training": found.has_prior,
        "costs": found.has_costs,
    }
    return ", ".join(name for name, is_there in parts.items() if is_there)


def _describe_score(found: Any) -> str:
    digits = ".4f" if found.target_range is None else ".5g"  # errors are in the unit of the target
    score = found.out_of_fold_score or {}
    return ", ".join(f"{name.replace('_', ' ')} {value:{digits}}" for name, value in score.items())


def _shortened(text: str, lines: int = 1, width: int = 300) -> str:
    if lines == 1:
        return text if len(text) <= width else f"{text[: width - 1]}…"
    rows = text.splitlines()
    more = len(rows) - lines
    return text if more <= 0 else "\n".join([*rows[:lines], f"… {count_things(more, 'more line')}"])
