"""The page of one regressor: its distributions against the truth, intervals, and worst samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import count_things
from polytomy.inputs.numbers import as_floats
from polytomy.markup import Child, Markup, tag
from polytomy.regression import BinnedDistribution
from polytomy.report.figures import draw_histogram, draw_points
from polytomy.report.markup import Column, column_table, figure, gallery, note, section
from polytomy.report.model_parts import (
    BINS,
    LEVELS,
    Samples,
    ScoreLine,
    describe_promise,
    draw_rows,
    levels_parts,
    name_samples,
    score_table,
    standard_error,
    write_model_page,
)

Floats = NDArray[np.float64]

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
