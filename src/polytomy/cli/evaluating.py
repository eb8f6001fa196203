"""The command `evaluate`: scores of models, of data in blocks and in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polytomy.cli.data import (
    align_columns,
    as_numbers,
    check_output,
    count_samples,
    open_data,
    parse_labels,
    print_answer,
    read_control,
)
from polytomy.cli.loaded_models import LoadedModel
from polytomy.cli.options import (
    AS_JSON,
    DataFile,
    ModelDataOptions,
    ModelFile,
    SetOptions,
    flag,
    group,
    name_given,
    option,
    refuse_options,
)
from polytomy.cli.predicting import predict_sets
from polytomy.inputs.arguments import count_things
from polytomy.metrics import METRICS, Additive, JudgedSamples
from polytomy.scheme import Scheme
from polytomy.scheme import parse as parse_scheme

if TYPE_CHECKING:
    from polytomy.datasets import Data

# The confidence level of the intervals of a regressor that are scored.
_CONFIDENCE_LEVEL = 0.9


@group()
class StructureOptions:
    """The order and the hierarchy of the classes, for scores that use them."""

    ordered: bool = flag(
        "--ordered", "Also print scores for ordered classes; the default if the order is known."
    )
    class_order: str | None = option(
        metavar="LABELS",
        help="Class labels from first to last, for the scores of ordered classes: a,b,c or a "
        "file with one label per line; as in training by default.",
    )
    hierarchy: str | None = option(
        metavar="CONTROL",
        help="Also print scores for a hierarchy of the classes, given as a control file.",
    )


def evaluate(
    model: ModelFile,
    data: DataFile,
    *,
    using: ModelDataOptions,
    sets: SetOptions,
    structure: StructureOptions,
    report: Path | None = option(
        help="Also write a report of the model on these samples, one HTML page. It needs all of "
        "them in memory."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Evaluate a model on labelled data: accuracy, probability scores, confusion matrix.

    For a regressor: errors, the score of its distributions (CRPS) and the coverage of intervals.
    The data is read in blocks, so it may be larger than memory.

    The scores expected from training, estimated on its held-out folds, are printed next to these.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy evaluate m.polytomy iris.csv`
    """
    check_output(report, model, data, endings=(".html", ".htm"))
    loaded = LoadedModel(model, using)
    levels = sets.confidence_level
    blocks: Iterable[Data] = loaded.labelled_blocks(open_data(data))
    if report is not None:
        blocks = list(blocks)
        _write_report(loaded, blocks, data, report)
    if loaded.regressor is not None:
        refuse_options(name_given(structure, sets), "is only for classifiers")
        with count_samples("evaluated") as advance:
            measured = evaluate_numbers(loaded, blocks, data, advance)
        expected = loaded.expected_score
        facts = {**measured, "out_of_fold_score": expected}
        print_answer(facts, show_number_scores(measured, expected), as_json)
        return
    order = _find_order(loaded, parse_labels(structure.class_order), structure.ordered)
    control = structure.hierarchy
    scheme = None if control is None else parse_scheme(*read_control(control))
    columns = loaded.predicted_labels
    scores = RunningScores(loaded.classes, order, scheme, predicted=columns, levels=levels or ())
    with count_samples("evaluated") as advance:
        for block in blocks:
            scores.add(block.y, *loaded.predict(block.X))
            if levels:
                scores.add_sets(block.y, predict_sets(loaded, block.X, sets))
            advance(block.n_samples)
    _print_evaluation(scores, loaded, as_json)


def _write_report(loaded: LoadedModel, blocks: Sequence[Data], source: str, report: Path) -> None:
    import numpy as np
    from sklearn.pipeline import make_pipeline

    from polytomy.inputs.rows import stack_rows
    from polytomy.report import ModelReport

    X = stack_rows([loaded.densify(block.X) for block in blocks])
    is_number = loaded.regressor is not None
    y: list[Any] = [as_numbers(each, source) if is_number else each.y for each in blocks]
    model = make_pipeline(*loaded.steps, loaded.core)
    names = blocks[0].feature_names
    ModelReport(model, X, np.concatenate(y), feature_names=names).write_html(report)


def _print_evaluation(scores: RunningScores, loaded: LoadedModel, as_json: bool) -> None:
    measured, table, classes = scores.measure(), scores.table, loaded.classes
    columns, expected = loaded.predicted_labels, loaded.expected_score
    confusion = {"classes": classes, "counts": table}
    if len(columns) > len(classes):
        confusion["predicted"] = columns
    facts = {"samples": scores.n_samples, **measured, "out_of_fold_score": expected}
    lines = [count_things(scores.n_samples, "sample")]
    lines += [
        _score_line(name, f"{value:10.4f}", expected, ".4f") for name, value in measured.items()
    ]
    rows = [["true \\ predicted", *map(str, columns.tolist())]]
    rows += [
        [str(label), *map(str, row)]
        for label, row in zip(classes.tolist(), table.tolist(), strict=True)
    ]
    text = "\n".join([*lines, "", *align_columns(rows, 0)])
    print_answer({**facts, "confusion": confusion}, text, as_json)


def _score_line(name: str, value: str, expected: Mapping[str, float] | None, digits: str) -> str:
    line = f"{name.replace('_', ' '):30}{value}"
    known = (expected or {}).get(name)
    return line if known is None else f"{line}   expected from training: {known:{digits}}"


def score_to_text(score: Mapping[str, float]) -> str:
    """Return a score on one line.

    Examples
    --------
    >>> score_to_text({"accuracy": 0.875})
    'accuracy 0.8750'
    >>> score_to_text({"rmse": 12345.678})  # in the unit of the target, whose scale is arbitrary
    'RMSE 12346'
    """
    return ", ".join(
        f"{METRICS[name].title} {value:.4f}" if name in METRICS else f"{name.upper()} {value:.5g}"
        for name, value in score.items()
    )


def _find_order(loaded: LoadedModel, class_order: Any, is_ordered: bool) -> list[Any] | None:
    """Return the classes in order: as requested, as in training, or, if ordered, by value."""
    from polytomy.inputs.label_order import match_class_order, order_labels

    labels = loaded.classes.tolist()
    given = getattr(loaded.core, "class_order_", None) if class_order is None else class_order
    if given is not None:
        return match_class_order(given, labels)
    return order_labels(labels, ["--ordered"]) if is_ordered else None


class RunningScores:
    """Accumulates scores over blocks; up to rounding, the result is that of all samples at once.

    The scores are those of METRICS that are reported and apply to the predictions. A metric of
    probabilities must be found from sums over the samples.

    Parameters
    ----------
    classes : array of the labels, in the order of the probabilities
    class_order : labels from first to last, to score ordered classes; optional
    hierarchy : Scheme whose nodes are the hierarchy to score; optional
    predicted : array of the labels that can be predicted; optional
        The classes and, last, the label for no prediction; by default the classes.
    levels : confidence levels of prediction sets; optional
    """

    def __init__(
        self,
        classes: Any,
        class_order: list[Any] | None = None,
        hierarchy: Scheme | None = None,
        *,
        predicted: Any = None,
        levels: Sequence[float] = (),
    ) -> None:
        import numpy as np

        self._classes, self._hierarchy = classes, hierarchy
        columns = (classes if predicted is None else predicted).tolist()
        self._columns = {label: k for k, label in enumerate(columns)}
        self._order = [self._columns[label] for label in class_order or ()]
        self._levels = tuple(levels)
        self.table = np.zeros((len(classes), len(columns)), dtype=np.int64)
        self._sums: dict[str, Any] = {}

    @property
    def n_samples(self) -> int:
        """Number of samples so far."""
        return int(self.table.sum())

    def add(self, y: Any, predicted: Any, P: Any) -> None:
        """Add a block of true labels, predicted labels, and probabilities or None."""
        import numpy as np

        truth = np.searchsorted(self._classes, y)
        columns = np.array([self._columns[label] for label in predicted.tolist()])
        np.add.at(self.table, (truth, columns), 1)
        if P is None:
            return
        judged = JudgedSamples(
            truth,
            np.asarray(P, dtype=np.float64),
            np.ones(len(truth)),
            self._classes.tolist(),
            columns,
            frozenset({"confidence", "probabilities", *(["order"] if self._order else [])}),
            self._order,
        )
        for metric in METRICS.values():
            function, is_wanted = metric.function, metric.is_reported and metric.can_judge(judged)
            if is_wanted and isinstance(function, Additive):
                self._add_sums(metric.name, function.sums(judged))

    def add_sets(self, y: Any, sets: Any) -> None:
        """Add the prediction sets of a block, of shape (n_samples, n_classes, n_levels)."""
        from polytomy import metrics

        coverage = metrics.set_coverage(y, sets, self._classes)
        size = metrics.mean_set_size(sets)
        for k, level in enumerate(self._levels):
            self._add_sums(f"coverage_of_sets_{level:g}", len(y) * float(coverage[k]))
            self._add_sums(f"mean_size_of_sets_{level:g}", len(y) * float(size[k]))

    def _add_sums(self, name: str, sums: Any) -> None:
        self._sums[name] = self._sums.get(name, 0.0) + sums

    def measure(self) -> dict[str, float]:
        """Return the scores of all samples so far."""
        measured = {}
        judged, answered = self._judge_labels()
        for metric in METRICS.values():
            # The order and the hierarchy do not have the label for no prediction.
            own = judged if metric.needs_only_predictions else answered
            if metric.is_reported and len(own.truth) and metric.can_judge(own):
                measured[metric.name] = metric.function(own)
            elif metric.name in self._sums and isinstance(metric.function, Additive):
                measured[metric.name] = metric.function.from_sums(self._sums[metric.name])
        of_sets = {name: sums for name, sums in self._sums.items() if name not in METRICS}
        return measured | {name: total / self.n_samples for name, total in of_sets.items()}

    def _judge_labels(self) -> tuple[JudgedSamples, JudgedSamples]:
        """Return the confusion matrix as weighted samples: all, and those with a prediction."""
        import numpy as np

        from polytomy.model.arrangement import bind_classes

        scheme, names, known = self._hierarchy, self._classes.tolist(), {"labels"}
        if scheme is not None:
            positions = bind_classes(scheme, self._classes).tolist()
            names = [scheme.classes[position] for position in positions]
            known.add("hierarchy")
        if self._order:
            known.add("order")
        found = []
        for n_columns in (self.table.shape[1], len(names)):
            rows, columns = np.nonzero(self.table[:, :n_columns])
            counts = self.table[rows, columns].astype(np.float64)
            proba = np.empty((len(rows), 0))
            found.append(
                JudgedSamples(
                    rows, proba, counts, names, columns, frozenset(known), self._order, scheme
                )
            )
        return found[0], found[1]


def evaluate_numbers(
    loaded: LoadedModel, blocks: Iterable[Data], source: str, advance: Callable[[int], object]
) -> dict[str, Any]:
    """Return the number of samples, and the scores of a regressor.

    Parameters
    ----------
    loaded : LoadedModel with a regressor
    blocks : samples with targets
    source : name of the data in messages
    advance : called with the number of samples of each block
    """
    import numpy as np

    from polytomy.metrics import interval_coverage

    truth, predicted, scores, intervals = [], [], [], []
    regressor = loaded.regressor
    for block in blocks:
        X, y = loaded.transform(block.X), as_numbers(block, source)
        truth.append(y)
        predicted.append(regressor.predict(X))
        scores.append(regressor.predict_distribution(X).crps(y))
        if regressor.interval_correction_ is not None:
            intervals.append(regressor.predict_interval(X, _CONFIDENCE_LEVEL))
        advance(block.n_samples)
    y, errors = np.concatenate(truth), np.concatenate(truth) - np.concatenate(predicted)
    measured = {
        "samples": len(y),
        "rmse": float(np.sqrt(np.mean(errors**2))),
        "mae": float(np.mean(np.abs(errors))),
        "crps": float(np.mean(np.concatenate(scores))),
    }
    if intervals:
        ends = np.concatenate(intervals)
        measured["coverage_of_90%_intervals"] = interval_coverage(y, ends)
        measured["width_of_90%_intervals"] = float(np.mean(ends[:, 1] - ends[:, 0]))
    return measured


def show_number_scores(measured: Mapping[str, Any], expected: Mapping[str, float] | None) -> str:
    """Return scores as text, next to those expected from training.

    Examples
    --------
    >>> print(show_number_scores({"samples": 9, "rmse": 1.25}, {"rmse": 1.5}))
    9 samples
    rmse                                  1.25   expected from training: 1.5
    """
    own = {name: value for name, value in measured.items() if name != "samples"}
    lines = [_score_line(name, f"{own[name]:12.5g}", expected, ".5g") for name in own]
    return "\n".join([count_things(measured["samples"], "sample"), *lines])
