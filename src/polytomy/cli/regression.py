"""Regression on the command line: options, targets that are numbers, predictions, scores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polytomy.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polytomy.cli.loaded_models import LoadedModel
    from polytomy.datasets import Data

__all__ = [
    "Bins",
    "Interval",
    "Median",
    "NumberPredictor",
    "Quantiles",
    "Regress",
    "as_numbers",
    "check_regression_options",
    "evaluate_numbers",
    "parse_bins",
    "refuse_options",
    "show_number_scores",
]

Regress = Annotated[
    bool,
    typer.Option(
        "--regress",
        help="Train a regressor: the target is a number, split into bins.",
        rich_help_panel="Regression",
    ),
]
Bins = Annotated[
    str,
    typer.Option(
        "--bins",
        metavar="N",
        help="Largest number of bins, for --regress.",
        rich_help_panel="Regression",
    ),
]
Quantiles = Annotated[
    str | None,
    typer.Option(
        "--quantiles",
        metavar="LEVELS",
        help="Also print these quantiles, such as 0.1,0.5,0.9.",
        rich_help_panel="Regression",
    ),
]
Interval = Annotated[
    float | None,
    typer.Option(
        "--interval",
        metavar="LEVEL",
        help="Also print intervals with this confidence, such as 0.9.",
        rich_help_panel="Regression",
    ),
]
Median = Annotated[
    bool,
    typer.Option(
        "--median", help="Predict the median, not the mean.", rich_help_panel="Regression"
    ),
]

# The confidence level of the intervals that `evaluate` scores.
_CONFIDENCE_LEVEL = 0.9


def parse_bins(text: str) -> int | str:
    """Return the value of the parameter `n_bins` that the option names.

    Examples
    --------
    >>> parse_bins("auto"), parse_bins("12")
    ('auto', 12)
    """
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f'--bins must be auto or an integer; got "{text}"') from None


def check_regression_options(
    is_regression: bool, bins: str, class_options: Mapping[str, Any]
) -> None:
    """Raise ArgumentError if `train` has options for both numbers and classes.

    Parameters
    ----------
    is_regression, bins : values of --regress and --bins
    class_options : values of the options that only classifiers have
    """
    if is_regression:
        refuse_options(class_options, "is only for classifiers; leave it out with --regress")
    elif bins != "auto":
        raise ArgumentError("--bins is only for regressors; use it with --regress")


def refuse_options(options: Mapping[str, Any], why: str) -> None:
    """Raise ArgumentError for the first option that has a value."""
    for option, value in options.items():
        if value not in (None, False):
            raise ArgumentError(f"{option} {why}")


def as_numbers(data: Data, source: str) -> NDArray[Any]:
    """Return the targets of samples as floats; DataError with the row if one is not a number."""
    import numpy as np

    labels = data.y
    assert labels is not None, "a label column was requested"
    values = np.empty(len(labels))
    for k, label in enumerate(labels.tolist()):
        try:
            values[k] = float(label)
            is_number = np.isfinite(values[k])
        except ValueError:
            is_number = False
        if not is_number:
            raise DataError(
                f'{os.fspath(source)}, row {data.row_numbers[k]}: the target "{label}" is not a '
                "number. Set --target to another column, or train without --regress."
            )
    return values


class NumberPredictor:
    """The output of `predict` for a regressor.

    Parameters
    ----------
    loaded : LoadedModel with a regressor
    quantiles : comma-separated levels, or None
    interval : confidence level, or None
    is_median : bool, whether to predict the median
    """

    def __init__(
        self, loaded: LoadedModel, quantiles: str | None, interval: float | None, is_median: bool
    ) -> None:
        from polytomy.inputs.numbers import check_confidence_levels, check_levels

        self._loaded, self._interval = loaded, interval
        self._statistic = "median" if is_median else loaded.regressor.statistic
        self._levels = _parse_levels(quantiles)
        check_levels("levels", self._levels)
        if interval is not None:
            check_confidence_levels("interval", interval)

    @property
    def head(self) -> list[str]:
        """The names of the columns."""
        names = ["prediction", *[f"quantile({level:g})" for level in self._levels]]
        if self._interval is not None:
            names += [f"lower({self._interval:g})", f"upper({self._interval:g})"]
        return names

    def predict(self, X: Any) -> list[list[float]]:
        """Return a row of numbers for each sample."""
        import numpy as np

        regressor, X = self._loaded.regressor, self._loaded.transform(X)
        columns = [regressor.predict(X, self._statistic)[:, np.newaxis]]
        if self._levels:
            columns.append(regressor.predict_quantiles(X, self._levels))
        if self._interval is not None:
            columns.append(regressor.predict_interval(X, self._interval))
        rows: list[list[float]] = np.hstack(columns).tolist()
        return rows


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
    lines = [f"{measured['samples']} samples"]
    for name, value in measured.items():
        if name != "samples":
            line = f"{name.replace('_', ' '):30}{value:12.5g}"
            known = (expected or {}).get(name)
            lines.append(line if known is None else f"{line}   expected from training: {known:.5g}")
    return "\n".join(lines)


def _parse_levels(text: str | None) -> list[float]:
    try:
        return [] if text is None else [float(word) for word in text.split(",")]
    except ValueError:
        raise ArgumentError(
            f'--quantiles must be comma-separated numbers, such as 0.1,0.5,0.9; got "{text}"'
        ) from None
