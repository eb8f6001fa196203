"""What the pages of all models share, and the page of a regressor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import count_things
from polytomy.inputs.numbers import as_floats
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.markup import Child, Markup, tag
from polytomy.metrics.scores import check_bins
from polytomy.plots.fitted import find_fitted
from polytomy.regression import BinnedDistribution
from polytomy.report.figures import draw_histogram, draw_points
from polytomy.report.markup import Column, column_table, figure, gallery, html_page, note, section

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
"""Confidence levels of the sets and intervals that are shown."""

BINS = check_bins(10)
"""Edges of the bins of probabilities."""

LARGEST_NOISE = 2.5
"""Standard errors of a difference that is still noise; one of three scores often has two."""

_SEED = 0
_MOST_FEATURES = 12


def draw_rows(n_rows: int, most: int) -> Indices:
    """Return all rows, or at most so many, drawn with a fixed seed; ascending."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(_SEED).choice(n_rows, most, replace=False))


class Samples(NamedTuple):
    """Samples of a report, and the model that answers for them.

    Attributes
    ----------
    model : fitted classifier or regressor, without the transformers before it
    X : samples as the model takes them
    raw : the same samples as they were given
    rows : their rows in the data that was given
    names : what they are called: the index of a frame, or the row
    n_given : number of samples that were given
    feature_names : names of the columns of `raw`, optional
    """

    model: Any
    X: Any
    raw: Any
    rows: Indices
    names: list[str]
    n_given: int
    feature_names: Sequence[str] | None

    @classmethod
    def draw(
        cls, estimator: Any, X: Any, most: int, feature_names: Sequence[str] | None
    ) -> Samples:
        """Return at most so many samples, and the model in an estimator."""
        found = find_fitted(estimator, "classifier_")
        n_given = count_rows(X)
        if not n_given:
            raise ArgumentError("X has no samples; a report needs one or more.")
        rows = draw_rows(n_given, most)
        raw = take_rows(X, rows)
        index = np.asarray(raw.index).tolist() if hasattr(raw, "iloc") else rows.tolist()
        names = [str(name) for name in index]
        columns = getattr(X, "columns", None) if feature_names is None else feature_names
        n_features = np.shape(raw)[-1]
        if columns is not None and len(columns) != n_features:
            raise ArgumentError(
                Argument("feature_names"),
                f" must have a name for each of the {n_features} columns of X; got {len(columns)}.",
            )
        return cls(found.classifier, found.transform(raw), raw, rows, names, n_given, columns)

    def describe(self, row: int) -> str:
        """Return the first features of a sample as text; of sparse samples, those not zero."""
        sample: Any = take_rows(self.raw, np.array([row]))
        columns: Any = range(np.size(sample))
        if hasattr(sample, "tocoo"):
            columns, sample = sample.tocsr().indices.tolist(), sample.tocsr().data
        names = [f"feature {k}" for k in columns]
        if self.feature_names is not None:
            names = [str(self.feature_names[k]) for k in columns]
        values = np.ravel(np.asarray(sample, dtype=object)).tolist()
        shown = [
            f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {str(value)[:100]}"
            for name, value in zip(names[:_MOST_FEATURES], values, strict=False)
        ]
        more = f", … ({len(names)} in all)" if len(names) > _MOST_FEATURES else ""
        return ", ".join(shown) + more


class ScoreLine(NamedTuple):
    """A score on the samples, next to what training had promised.

    Attributes
    ----------
    title : str
    value, error : the score and its standard error
    promised : the out-of-fold score of training; NaN if there is none
    noise : standard error of the difference between the two
    larger_is_better : bool
    """

    title: str
    value: float
    error: float
    promised: float
    noise: float
    larger_is_better: bool = False

    @property
    def difference(self) -> float:
        """The score minus what training had promised."""
        return self.value - self.promised

    @property
    def verdict(self) -> str:
        """Whether the difference is noise."""
        if np.isnan(self.difference + self.noise):
            return "unknown"
        if abs(self.difference) <= LARGEST_NOISE * self.noise:
            return "within noise"
        is_better = (self.difference > 0) == self.larger_is_better
        return "better than promised" if is_better else "worse than promised"


def standard_error(losses: Floats) -> float:
    """Return the standard error of the mean of losses; NaN for a single one."""
    n_losses = len(losses)
    return float(losses.std(ddof=1) / np.sqrt(n_losses)) if n_losses > 1 else np.nan


def name_samples(n_samples: int) -> str:
    """Return the samples as text: "these 75 samples"."""
    return count_things(n_samples, "sample") if n_samples == 1 else f"these {n_samples} samples"


def score_table(lines: Sequence[ScoreLine]) -> list[Child]:
    """Return scores on the samples, next to those that training had promised."""
    table = column_table(
        "Scores",
        Column("score", [line.title for line in lines]),
        Column("on these samples", [line.value for line in lines], ".4g"),
        Column("±", [line.error for line in lines], ".2g"),
        Column("promised by training", [line.promised for line in lines], ".4g"),
        Column("difference", [line.difference for line in lines], "+.4g"),
        Column("±", [line.noise for line in lines], ".2g"),
        Column("difference is", [line.verdict for line in lines]),
    )
    text = (
        "± is one standard error. Training promises what it found on rows that it held out. A "
        f"difference of more than {LARGEST_NOISE:g} standard errors is not noise."
    )
    return [table, note(text)]


def describe_promise(text: str, first: ScoreLine, promised: str, lines: Iterable[ScoreLine]) -> str:
    """Return a sentence: how good, how good training had promised, and whether that is noise."""
    if np.isnan(first.promised):
        return f"{text}; training made no estimate to compare with."
    text += f"; training had promised {promised}"
    if first.verdict == "unknown":
        return f"{text}, but the samples are too few to compare."
    if first.verdict != "within noise":
        ratio = abs(first.difference) / first.noise if first.noise else np.inf
        return f"{text}. It is {first.verdict}, by {ratio:.1f} standard errors of the difference."
    others = [line for line in lines if line.verdict not in ("within noise", "unknown")]
    other = f", but its {others[0].title} is {others[0].verdict}" if others else ""
    return f"{text}, and the difference is within noise{other}."


def levels_parts(
    title: str, sizes: Floats, covered: Floats | None, n_samples: int, *columns: Column
) -> list[Child]:
    """Return figures and a table of sets or intervals, by confidence level.

    Parameters
    ----------
    title : what `sizes` are
    sizes : array of shape (n_levels,)
    covered : array of shape (n_levels,), how often the truth is inside; None without labels
    n_samples : number of samples
    *columns : more columns of the table
    """
    axis = "confidence level"
    points = np.column_stack([LEVELS, sizes])
    plots = [figure(None, draw_points(points, (axis, title), f"{title} by {axis}"))]
    columns = (Column(title, sizes.tolist(), ".3g"), *columns)
    if covered is not None:
        points = np.column_stack([LEVELS, covered])
        drawn = draw_points(points, (axis, "coverage"), f"Coverage by {axis}", has_diagonal=True)
        plots.insert(0, figure(None, drawn))
        errors = np.sqrt(LEVELS * (1 - LEVELS) / n_samples)
        columns = (
            Column("coverage", covered.tolist(), ".1%"),
            Column("standard error", errors.tolist(), ".1%"),
            *columns,
        )
    names = Column("level", [f"{level:.0%}" for level in LEVELS])
    return [gallery(plots), column_table(f"By {axis}", names, *columns)]


def write_model_page(
    samples: Samples, about: str, sections: Mapping[str, tuple[str, Markup | None]]
) -> str:
    """Return the page of any model."""
    n_samples = len(samples.rows)
    title = f"{type(samples.model).__name__} on {count_things(n_samples, 'sample')}"
    lead: list[Child] = [tag("code", repr(samples.model)), about]
    if n_samples < samples.n_given:
        lead.append(f"The samples are drawn from {samples.n_given:,}, with a fixed seed.")
    return html_page(f"{title} (polytomy)", title, lead, sections)


# -- the page of a regressor -----------------------------------------------------------------------


_QUANTILES = np.array([[0.05, 0.25, 0.75, 0.95]])
_MOST_DOTS, _MOST_BARS, _MOST_SAMPLES = 500, 60, 12
_FEWEST_COMPARED = 10


def write_regressor_page(samples: Samples, y: Any) -> tuple[str, str]:
    """Return the page of a regressor, and its first sentence."""
    regressor, truth = samples.model, None
    if y is not None:
        given = as_floats("y", y)
        if given.shape != (samples.n_given,) or not np.isfinite(given).all():
            raise ArgumentError(
                Argument("y"), f" must be {samples.n_given} finite numbers, one for each row of X."
            )
        truth = given[samples.rows]
    distribution = regressor.predict_distribution(samples.X)
    predicted = regressor.predict(samples.X)
    sentence, table = _summarise(regressor, distribution, predicted, truth)
    sections = {
        "result": (
            "Result",
            section("result", "Result", tag("p", sentence, class_="result"), table),
        ),
        "distributions": ("Distributions", _show_distributions(distribution, predicted, truth)),
        "calibration": ("Calibration", _calibration_section(distribution, truth)),
        "intervals": ("Intervals", _intervals_section(samples, truth)),
        "samples": ("Samples", _samples_section(samples, distribution, predicted, truth)),
    }
    return write_model_page(samples, repr(distribution)[1:-1], sections), sentence


def _summarise(
    regressor: Any, distribution: BinnedDistribution, predicted: Floats, truth: Floats | None
) -> tuple[str, Child]:
    """Return one sentence, and the table of scores next to those promised by training."""
    n_samples = name_samples(len(predicted))
    if truth is None:
        spread = float(distribution.std().mean())
        text = f"Without true values, the errors on {n_samples} are not known."
        return f"{text} The mean standard deviation of the distributions is {spread:.4g}.", None
    errors, scores = np.abs(predicted - truth), distribution.crps(truth)
    rmse = float(np.sqrt(np.mean(errors**2)))
    measured = {
        "crps": ("CRPS", float(scores.mean()), standard_error(scores)),
        "rmse": ("RMSE", rmse, standard_error(errors**2) / (2 * rmse or 1.0)),
        "mae": ("MAE", float(errors.mean()), standard_error(errors)),
    }
    promised, correction = regressor.out_of_fold_score_ or {}, regressor.interval_correction_
    # The scores of training have errors too; a few samples do not tell how much they vary.
    ratio = 1.0 if correction is None else np.sqrt(1 + len(truth) / correction.n_effective)
    ratio = ratio if len(truth) >= _FEWEST_COMPARED else np.nan
    lines = []
    for name, (title, value, error) in measured.items():
        expected = promised.get(name, np.nan)
        # Samples that happen to have small errors also have errors that vary little.
        noise = error * ratio * max(1.0, expected / (value or 1.0))
        lines.append(ScoreLine(title, value, error, expected, noise))
    text = f"The mean CRPS of {n_samples} is {lines[0].value:.4g}"
    sentence = describe_promise(text, lines[0], f"{lines[0].promised:.4g}", lines)
    return sentence, score_table(lines)


def _show_distributions(
    distribution: BinnedDistribution, predicted: Floats, truth: Floats | None
) -> Markup:
    """Return predicted distributions, each with its true value, and predictions against truth."""
    rows = draw_rows(len(predicted), _MOST_BARS)
    rows = rows[np.argsort(predicted[rows], kind="stable")]
    quantiles = distribution[rows].ppf(_QUANTILES)
    bars = np.stack([quantiles[:, [0, 3]], quantiles[:, [1, 2]]], axis=1)
    shown, name = (predicted, "prediction") if truth is None else (truth, "true value")
    points = np.column_stack([np.arange(len(rows)), shown[rows]])
    titles = "sample, in the order of the predictions", name
    label = f"Intervals of {count_things(len(rows), 'sample')}"
    figures = [figure(None, draw_points(points, titles, label, is_line=False, bars=bars))]
    text = f"Bars have 50% and 90% of the probability; dots are the {name}s."
    if truth is not None:
        rows = draw_rows(len(predicted), _MOST_DOTS)
        pairs = np.column_stack([predicted, truth])[rows]
        titles = "prediction", "true value"
        label = "True values against predictions"
        drawn = draw_points(pairs, titles, label, is_line=False, has_diagonal=True)
        figures.append(figure(None, drawn))
    if len(predicted) > _MOST_BARS:
        text += f" Samples are drawn with a fixed seed, at most {_MOST_BARS} and {_MOST_DOTS}."
    content = note(text), gallery(figures)
    return section("distributions", "Distributions", content)


def _calibration_section(distribution: BinnedDistribution, truth: Floats | None) -> Markup | None:
    if truth is None:
        return None
    # A value that many samples share jumps over a range of probabilities, and gets one of them.
    lower, upper = distribution.cdf_before(truth), distribution.cdf(truth)
    values = lower + np.random.default_rng(0).random(len(truth)) * (upper - lower)
    counts = np.histogram(values, BINS)[0].astype(np.float64)
    names = "probability of values below the true one", "samples"
    reached = np.column_stack([BINS, np.append(0.0, counts.cumsum() / len(truth))])
    titles = "level of the quantile", "share of true values below it"
    figures = [
        figure(None, draw_histogram(counts, BINS, names, "Histogram of the PIT")),
        figure(None, draw_points(reached, titles, "Calibration of quantiles", has_diagonal=True)),
    ]
    text = (
        "The probability integral transform (PIT), left, is level if the distributions are right. "
        "A valley means that they are too narrow, a hill that they are too wide, a slope that they "
        "are too high or too low."
    )
    content = note(text), gallery(figures)
    return section("calibration", "Calibration of quantiles", content)


def _intervals_section(samples: Samples, truth: Floats | None) -> Markup | None:
    if samples.model.interval_correction_ is None:
        return None
    ends = samples.model.predict_interval(samples.X, LEVELS)
    covered = None
    if truth is not None:
        is_inside = (truth >= ends[:, 0].T) & (truth <= ends[:, 1].T)
        covered = is_inside.mean(axis=1)
    widths = (ends[:, 1] - ends[:, 0]).mean(axis=0)
    content = levels_parts("mean width", widths, covered, len(ends))
    return section("intervals", "Intervals", content)


def _samples_section(
    samples: Samples, distribution: BinnedDistribution, predicted: Floats, truth: Floats | None
) -> Markup:
    """Return the samples with the worst scores; without labels, the least certain ones."""
    scores = distribution.std() if truth is None else distribution.crps(truth)
    rows = np.argsort(-scores, kind="stable")[:_MOST_SAMPLES]
    ends = distribution[rows].ppf(_QUANTILES)
    columns = [
        Column("prediction", predicted[rows].tolist(), ".4g"),
        Column("5% quantile", ends[:, 0].tolist(), ".4g"),
        Column("95% quantile", ends[:, 3].tolist(), ".4g"),
    ]
    title, score = "Least sure samples", "standard deviation"
    if truth is not None:
        title, score = "Worst samples", "CRPS"
        columns.insert(0, Column("true value", truth[rows].tolist(), ".4g"))
    columns += [
        Column(score, scores[rows].tolist(), ".4g"),
        Column("features", [samples.describe(row) for row in rows.tolist()]),
    ]
    names = Column("sample", [samples.names[row] for row in rows])
    return section("samples", title, column_table(title, names, *columns))
