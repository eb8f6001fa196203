"""How good are predicted distributions of a number, compared with other regressors?

- polytomy SVC: `PolytomyRegressor` of RBF SVMs with C=3.
- polytomy boosting: the same with HistGradientBoostingClassifier with 50 trees, and 15 bins.
- quantile boosting: HistGradientBoostingRegressor(loss="quantile"), one model for each of 13
  levels, whose quantiles are sorted, and one with the squared error for the mean. With its default
  of 100 trees, and with 50.
- NGBoost: a normal distribution whose mean and scale are boosted, if ngboost is installed.
- quantile forest: RandomForestQuantileRegressor, if quantile-forest is installed.

All other parameters have their defaults. CRPS and RMSE are in the unit of the target; intervals
have 80 % and 90 % confidence. The number of bins, the tails and the correction of the intervals
were chosen on other data: Friedman's second and third problem, a skewed synthetic target, and
columns of sat, segment and pendigits. Times are processor times for fitting and for predicting the
test samples.

    POLYTOMY_DATA=folder python -m benchmarks regression [splits=3] [dataset ...]
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from benchmarks import data

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "regression.csv"

N_TRAIN, N_TEST = 1000, 2000
CONFIDENCE = (0.8, 0.9)
LEVELS = np.concatenate([[0.01, 0.05], np.arange(1, 10) / 10, [0.95, 0.99]])
Samples = tuple[np.ndarray, np.ndarray]


class Answers(NamedTuple):
    crps: float
    mean: np.ndarray
    intervals: list[np.ndarray]  # one for each confidence level


class Row(NamedTuple):
    dataset: str
    method: str
    split: int
    n_train: int
    crps: float
    rmse: float
    coverage_80: float
    width_80: float
    coverage_90: float
    width_90: float
    fit_seconds: float
    predict_seconds: float


# -- data -----------------------------------------------------------------------------------------


def make_heteroscedastic(rng: np.random.Generator, n: int) -> Samples:
    X = rng.uniform(-2, 2, size=(n, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + (0.1 + 0.4 * np.abs(X[:, 2])) * rng.normal(size=n)


def make_bimodal(rng: np.random.Generator, n: int) -> Samples:
    X = rng.uniform(-1, 1, size=(n, 3))
    sign = np.where(rng.random(n) < 1 / (1 + np.exp(-3 * X[:, 1])), 1.0, -1.0)
    return X, sign * (2 + X[:, 0]) + 0.3 * rng.normal(size=n)


def make_zero_inflated(rng: np.random.Generator, n: int) -> Samples:
    X = rng.normal(size=(n, 4))
    is_dry = rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0]))
    return X, np.where(is_dry, 0.0, rng.gamma(2.0, np.exp(0.5 * X[:, 1])))


def load_humidity() -> Samples:
    """Return seven brightness temperatures and the specific humidity in g/kg."""
    home = data.folder()
    assert home is not None
    X, _ = data.load("humidity_full")
    with gzip.open(home / "humidity_full_sq.csv.gz", "rt") as file:
        humidity = np.array(file.read().split()[1:], dtype=np.float64)
    is_valid = (humidity > 0) & (humidity < 1)  # others are fill values
    return X[is_valid], 1000 * humidity[is_valid]


def load_income() -> Samples:
    """Return the median income of Californian blocks, and their other features and price class."""
    X, price_class = data.load("calhousing8")
    return np.column_stack([X[:, :-1], price_class.astype(float)]), X[:, -1]


MADE: dict[str, Callable[[np.random.Generator, int], Samples]] = {
    "friedman1": lambda rng, n: make_friedman1(n, noise=1.0, random_state=int(rng.integers(2**31))),
    "heteroscedastic": make_heteroscedastic,
    "bimodal": make_bimodal,
    "zero-inflated": make_zero_inflated,
}
LOADED: dict[str, Callable[[], Samples]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "humidity": load_humidity,
    "income": load_income,
}


def splits_of(name: str, n_splits: int) -> Iterator[tuple[Samples, Samples]]:
    """Yield training and test samples: newly generated, or a random split of the dataset."""
    whole = LOADED[name]() if name in LOADED else None
    for seed in range(n_splits):
        rng = np.random.default_rng(seed)
        X, y = MADE[name](rng, N_TRAIN + N_TEST) if whole is None else whole
        order = rng.permutation(len(X))
        n_train = min(N_TRAIN, 2 * len(X) // 3)
        train, test = order[:n_train], order[n_train : n_train + N_TEST]
        yield (X[train], y[train]), (X[test], y[test])


# -- methods --------------------------------------------------------------------------------------


def fit_polytomy(estimator: Any, n_bins: Any) -> Callable[..., Any]:
    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Callable[..., Answers]:
        model = pt.PolytomyRegressor(
            estimator, n_bins, random_state=seed, shared_preprocessing=True
        ).fit(X, y)

        def predict(X: np.ndarray, y: np.ndarray) -> Answers:
            distribution = model.predict_distribution(X)
            ends = model.predict_interval(X, CONFIDENCE)
            return Answers(
                pt.metrics.crps(y, distribution),
                distribution.mean(),
                [ends[:, :, 0], ends[:, :, 1]],
            )

        return predict

    return fit


def fit_quantile_boosting(max_iter: int) -> Callable[..., Any]:
    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Callable[..., Answers]:
        def boost(**options: Any) -> Any:
            model = HistGradientBoostingRegressor(**options, max_iter=max_iter, random_state=seed)
            return model.fit(X, y)

        models = [boost(loss="quantile", quantile=level) for level in LEVELS]
        mean_model = boost()
        lowest, highest = y.min(), y.max()

        def predict(X: np.ndarray, y: np.ndarray) -> Answers:
            quantiles = np.sort(np.column_stack([model.predict(X) for model in models]), axis=1)
            ends = np.minimum(lowest, quantiles[:, :1]), np.maximum(highest, quantiles[:, -1:])
            edges = np.hstack([ends[0], quantiles, ends[1]])
            crps = pt.metrics.crps(y, edges, np.diff(LEVELS, prepend=0.0, append=1.0))
            intervals = []
            for level in CONFIDENCE:
                tail = (1 - level) / 2
                columns = [int(np.argmin(np.abs(LEVELS - each))) for each in (tail, 1 - tail)]
                intervals.append(quantiles[:, columns])
            return Answers(crps, mean_model.predict(X), intervals)

        return predict

    return fit


def fit_ngboost(X: np.ndarray, y: np.ndarray, seed: int) -> Callable[..., Answers]:
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=seed).fit(X, y)

    def predict(X: np.ndarray, y: np.ndarray) -> Answers:
        found = model.pred_dist(X)
        normal = stats.norm(found.loc, found.scale)
        z = (y - found.loc) / found.scale
        # Gneiting and Raftery (2007), equation (20)
        unit = z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi)
        intervals = [np.column_stack(normal.interval(level)) for level in CONFIDENCE]
        return Answers(float(np.mean(found.scale * unit)), found.loc, intervals)

    return predict


def fit_quantile_forest(X: np.ndarray, y: np.ndarray, seed: int) -> Callable[..., Answers]:
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=seed).fit(X, y)

    def predict(X: np.ndarray, y: np.ndarray) -> Answers:
        draws = model.predict(X, quantiles=((np.arange(100) + 0.5) / 100).tolist())
        tails = [(1 - level) / 2 for level in CONFIDENCE]
        intervals = [model.predict(X, quantiles=[tail, 1 - tail]) for tail in tails]
        mean = model.predict(X, quantiles="mean")
        return Answers(pt.metrics.crps_of_samples(y, draws), mean, intervals)

    return predict


METHODS: dict[str, Callable[..., Any]] = {
    "polytomy SVC": fit_polytomy(make_pipeline(StandardScaler(), SVC(C=3)), "auto"),
    "polytomy boosting": fit_polytomy(HistGradientBoostingClassifier(max_iter=50), 15),
    "quantile boosting": fit_quantile_boosting(100),
    "quantile boosting, 50 trees": fit_quantile_boosting(50),
}
if importlib.util.find_spec("ngboost"):
    METHODS["NGBoost"] = fit_ngboost
if importlib.util.find_spec("quantile_forest"):
    METHODS["quantile forest"] = fit_quantile_forest


# -- measuring ------------------------------------------------------------------------------------


def measure(name: str, method: str, split: int, train: Samples, test: Samples) -> Row:
    start = time.process_time()
    predict = METHODS[method](*train, split)
    middle = time.process_time()
    answers = predict(*test)
    end = time.process_time()
    judged = [
        value
        for ends in answers.intervals
        for value in (
            pt.metrics.interval_coverage(test[1], ends),
            float(np.mean(ends[:, 1] - ends[:, 0])),
        )
    ]
    rmse = float(np.sqrt(np.mean((test[1] - answers.mean) ** 2)))
    return Row(
        name,
        method,
        split,
        len(train[1]),
        answers.crps,
        rmse,
        *judged,
        middle - start,
        end - middle,
    )


def show(rows: list[Row]) -> None:
    """Print the means over the splits, with standard errors."""
    columns = Row._fields[4:]
    for method in dict.fromkeys(row.method for row in rows):
        table = np.array([row[4:] for row in rows if row.method == method])
        errors = table.std(axis=0, ddof=1) / np.sqrt(len(table)) if len(table) > 1 else table[0] * 0
        cells = [
            f"{column} {mean:.4g}±{error:.1g}"
            for column, mean, error in zip(columns, table.mean(axis=0), errors, strict=True)
        ]
        print(f"{rows[0].dataset:16}{method:28}" + "  ".join(cells), flush=True)


def main(words: list[str]) -> None:
    (n_splits,) = [int(word[7:]) for word in words if word.startswith("splits=")] or [3]
    names = [word for word in words if not word.startswith("splits=")]
    has_data = bool(data.available(["humidity_full"]))
    known = [name for name in (*LOADED, *MADE) if has_data or name not in ("income", "humidity")]
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names or known:
            own = [
                measure(name, method, split, train, test)
                for split, (train, test) in enumerate(splits_of(name, n_splits))
                for method in METHODS
            ]
            show(own)
            rows += own
            if not names and has_data:
                write(rows)


def write(rows: list[Row]) -> None:
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
