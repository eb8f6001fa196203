"""Commands for model files: info, convert, compress, extend, export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, asdict
from pathlib import Path
from typing import Any

from polytomy.cli.data import check_output, has_terminal, open_data, print_answer
from polytomy.cli.loaded_models import LoadedModel
from polytomy.cli.options import (
    AS_JSON,
    DataFile,
    LoadOptions,
    ModelDataOptions,
    ModelFile,
    OptionalDataFile,
    default_of,
    given,
    group,
    option,
)
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import count_things, shorten

_MOST_LINES, _MOST_CHARACTERS = 20, 300
_COMPRESS = "model.answering:AnsweringMixin.compress"


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
        "scheme": "\n\n".join(found.schemes),
    }
    lines = [f"{model}: {found.kind}, {found.n_bytes} bytes"]
    for name, value in described.items():
        if name not in ("file", "kind", "bytes", "metadata", "scheme") and value:
            lines.append(f"{name:24}{shorten(_to_text(value), _MOST_CHARACTERS)}")
    scheme = described["scheme"].splitlines()
    n_more = len(scheme) - _MOST_LINES
    lines += ["", *scheme[:_MOST_LINES]]
    lines += [f"… {count_things(n_more, 'more line')}"] if n_more > 0 else []
    print_answer(described, "\n".join(lines), as_json)


def _to_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_to_text(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def convert(
    model: ModelFile,
    *,
    output: Path = option(
        "-o", "--output", help="File to write; .model for LIBSVM, else .polytomy.", default=MISSING
    ),
    range_file: Path | None = option(
        "--range", help="Also write the scaling of the model, for svm-scale -r."
    ),
    loading: LoadOptions,
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
        last = split_pipeline(loaded)[1]
        core = getattr(last, "classifier_", last)  # if it is a regressor
        save(
            loaded,
            output,
            metadata=read_info(model).metadata if is_own else None,
            out_of_fold=core.composition_.out_of_fold is not None,
        )
    written = {str(file): file.stat().st_size for file in (output, range_file) if file is not None}
    facts = [{"file": file, "bytes": size} for file, size in written.items()]
    text = "\n".join(f"{file}: {size} bytes" for file, size in written.items())
    print_answer(facts, text, as_json)


@group()
class CompressionOptions:
    """How to approximate a model, and how much accuracy that may cost."""

    method: str | None = option(
        sets=_COMPRESS,
        help='"fourier" (random features), "cascade" (a small model first), "borders" (border '
        'samples, as in libAGF), or "auto".',
    )
    max_accuracy_loss: float | None = option(
        sets=_COMPRESS,
        metavar="LOSS",
        help="Largest loss of accuracy, measured on samples that training left out.",
    )
    n_borders: int | None = option(
        sets=_COMPRESS,
        metavar="N",
        help="Number of border samples of each machine, for --method borders.",
    )


def compress(
    model: ModelFile,
    data: DataFile,
    *,
    output: Path = option("-o", "--output", help="File to write: .polytomy.", default=MISSING),
    compression: CompressionOptions,
    using: ModelDataOptions,
    as_json: bool = AS_JSON,
) -> None:
    """Approximate the support vector machines of a model, for faster predictions.

    The data is that of training, or other labelled samples.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy compress m.polytomy iris.csv
    -o fast.polytomy --method cascade`
    """
    check_output(output, model, data)
    loaded = _load_to_change(model, output, using, "compressed")
    X, y = _join_blocks(loaded, loaded.labelled_blocks(open_data(data)))
    verbose = int(has_terminal())
    fast = loaded.core.set_params(verbose=verbose).compress(X, y, **given(compression))
    _save(loaded, fast.set_params(verbose=0), output)
    found = fast.compression_
    facts = {"file": str(output), "bytes": output.stat().st_size, **asdict(found)}
    print_answer(facts, f"{output}: {found}", as_json)


def extend(
    model: ModelFile,
    data: OptionalDataFile = None,
    *,
    output: Path = option("-o", "--output", help="File to write: .polytomy.", default=MISSING),
    labels: list[str] | None = option(
        "--without",
        metavar="LABEL",
        help="Class to remove (repeatable), before new ones are added.",
    ),
    using: ModelDataOptions,
    as_json: bool = AS_JSON,
) -> None:
    """Add the new classes in DATA to a model, or remove classes, without training it again.

    The data has samples of the new classes and of all known ones. Only binaries that need the new
    classes are trained. Train the model with --out-of-fold, or its final calibration is lost.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy extend m.polytomy -o n.polytomy
    --without setosa`

    Example: `grep -v virginica iris.csv > old.csv && polytomy train old.csv -o old.polytomy
    --out-of-fold && polytomy extend old.polytomy iris.csv -o larger.polytomy`
    """
    check_output(output, model, *([] if data is None else [data]))
    if data is None and not labels:
        raise ArgumentError("there is nothing to change. Give DATA with new classes, or --without.")
    loaded = _load_to_change(model, output, using, "extended")
    changed, texts = loaded.core, []
    if labels:
        changed = changed.without_classes(_as_labels(labels, loaded.classes))
        texts.append(f"removed {', '.join(labels)}")
    if data is not None:
        X, y = _join_blocks(loaded, loaded.labelled_blocks(open_data(data), any_label=True))
        changed = changed.with_classes(X, _as_labels(y, loaded.classes))
        texts.append(f"added {', '.join(map(str, changed.class_change_.added))}")
    _save(loaded, changed, output)
    change = changed.class_change_
    facts = {"file": str(output), "classes": changed.classes_.tolist(), **change._asdict()}
    print_answer(facts, f"{output}: {'; '.join(texts)}; {change}", as_json)


def _load_to_change(model: str, output: Path, using: ModelDataOptions, verb: str) -> LoadedModel:
    """Return a loaded classifier; ArgumentError if the changed one cannot be written."""
    if output.suffix != ".polytomy":
        raise ArgumentError(f"{output}: the name must end in .polytomy")
    loaded = LoadedModel(model, using)
    if loaded.regressor is not None:
        raise ArgumentError(f"{model} is a regressor; only classifiers can be {verb}")
    return loaded


def _join_blocks(loaded: LoadedModel, blocks: Iterable[Any]) -> tuple[Any, Any]:
    """Return all samples, as the classifier accepts them, and their labels."""
    import numpy as np

    from polytomy.inputs.rows import stack_rows

    every = list(blocks)
    X = stack_rows([loaded.transform(each.X) for each in every])
    return X, np.concatenate([each.y for each in every])


def _as_labels(texts: Any, classes: Any) -> Any:
    """Return labels as numbers if the classes are numbers, and all of them can be."""
    import numpy as np

    labels = np.asarray(texts)
    with suppress(ValueError):
        return labels.astype(classes.dtype) if classes.dtype.kind in "iuf" else labels
    return labels


def _save(loaded: LoadedModel, classifier: Any, output: Path) -> None:
    """Save a changed classifier, with the steps before it."""
    from sklearn.pipeline import make_pipeline

    from polytomy.persistence import save

    whole = make_pipeline(*loaded.steps, classifier) if loaded.steps else classifier
    has_scores = classifier.composition_.out_of_fold is not None
    save(whole, output, metadata=loaded.metadata, out_of_fold=has_scores)


def export(
    model: ModelFile,
    *,
    output: Path = option(
        "-o", "--output", help="File to write, such as model.onnx.", default=MISSING
    ),
    loading: LoadOptions,
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

    if output.suffix != ".onnx":
        raise ArgumentError(f"{output}: the name must end in .onnx")
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
