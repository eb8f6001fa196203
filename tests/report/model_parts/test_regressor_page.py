"""The page of one regressor."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

import polytomy as pt
from polytomy import ModelReport
from report.pages import column, parse_page, table_of


def make_values(seed, n_samples=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3))
    y = np.maximum(X[:, 0] + 0.5 * rng.normal(size=n_samples), -0.5)  # a fifth are the same
    return X, y


@pytest.fixture(scope="module")
def regressor():
    X, y = make_values(0)
    return pt.PolytomyRegressor(LogisticRegression(), n_bins=8, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def samples():
    return make_values(1)


@pytest.fixture(scope="module")
def report(regressor, samples):
    return ModelReport(regressor, *samples)


def test_scores_are_next_to_those_of_training(report, regressor, samples):
    X, y = samples
    page = parse_page(report.html)
    predicted = regressor.predict(X)
    expected = [
        regressor.predict_distribution(X).crps(y).mean(),
        root_mean_squared_error(y, predicted),
        mean_absolute_error(y, predicted),
    ]
    assert column(page, "Scores", "on these samples") == [f"{value:.4g}" for value in expected]
    promised = [f"{value:.4g}" for value in regressor.out_of_fold_score_.values()]
    assert column(page, "Scores", "promised by training") == promised
    assert report.summary.startswith(f"The mean CRPS of these 300 samples is {expected[0]:.4g}; ")


def test_intervals_are_judged_by_level(report, regressor, samples):
    X, y = samples
    intervals = parse_page(report.html).at("intervals")
    shown = column(intervals, "By confidence level", "coverage")
    levels = [
        float(text.rstrip("%")) / 100 for text in column(intervals, "By confidence level", "level")
    ]
    for level, text in zip(levels, shown, strict=True):
        ends = regressor.predict_interval(X, level)
        assert text == f"{pt.metrics.interval_coverage(y, ends):.1%}"


def test_the_pit_of_a_calibrated_regressor_is_level(report):
    figure = parse_page(report.html).at("calibration").find("svg")[0]
    hints = [each.find("title")[0].text for each in figure.find("rect", "bar")]
    counts = [int(hint.split(": ")[1]) for hint in hints]
    assert sum(counts) == 300
    # Chi-squared of ten bins; values above 27.9 have a probability of 0.001.
    assert sum((count - 30) ** 2 / 30 for count in counts) < 27.9


def test_a_distribution_is_drawn_with_its_true_value(report, regressor, samples):
    section = parse_page(report.html).at("distributions")
    assert "Samples are drawn with a fixed seed, at most 60 and 500." in section.text
    fan, scatter = section.find("svg")
    assert len(fan.find("circle")) == 60
    X, y = samples
    pairs = zip(regressor.predict(X), y, strict=True)
    hints = {f"prediction {one:.4g}: true value {other:.4g}" for one, other in pairs}
    assert {each.find("title")[0].text for each in scatter.find("circle")} == hints


def test_worst_samples_have_the_largest_crps(report, regressor, samples):
    X, y = samples
    scores = regressor.predict_distribution(X).crps(y)
    page = parse_page(report.html)
    rows = [int(name) for name in column(page, "Worst samples", "sample")]
    assert rows == np.argsort(-scores, kind="stable")[:12].tolist()


def test_without_true_values_the_page_shows_what_is_known(regressor, samples):
    X, _ = samples
    report = ModelReport(regressor, X)
    page = parse_page(report.html)
    assert report.summary.startswith("Without true values, the errors on these 300 samples are")
    assert not [each for each in page.walk() if each.attributes.get("id") == "calibration"]
    heads, *_ = table_of(page.at("intervals"), "By confidence level")
    assert [head.text for head in heads] == ["level", "mean width"]
    widths = regressor.predict_distribution(X).std()
    rows = [int(name) for name in column(page, "Least sure samples", "sample")]
    assert rows == np.argsort(-widths, kind="stable")[:12].tolist()


def test_small_errors_do_not_make_the_noise_small(regressor, samples):
    X, y = samples
    scores = regressor.predict_distribution(X).crps(y)
    own = np.argsort(scores)[:100]
    _, crps, *_ = table_of(parse_page(ModelReport(regressor, X[own], y[own]).html), "Scores")
    error = scores[own].std(ddof=1) / 10
    promised = regressor.out_of_fold_score_["crps"]
    ratio = np.sqrt(1 + 100 / regressor.interval_correction_.n_effective)
    assert crps[2].text == f"{error:.2g}"
    assert crps[5].text == f"{error * ratio * promised / scores[own].mean():.2g}"


def test_a_few_samples_do_not_tell_what_is_noise(regressor, samples):
    X, y = samples
    for n_samples, named in ((1, "1 sample"), (9, "these 9 samples")):
        report = ModelReport(regressor, X[:n_samples], y[:n_samples])
        assert report.summary.startswith(f"The mean CRPS of {named} is ")
        assert report.summary.endswith(", but the samples are too few to compare.")
        assert set(column(parse_page(report.html), "Scores", "difference is")) == {"unknown"}


def test_values_that_do_not_fit_are_refused(regressor, samples):
    X, y = samples
    for wrong in (y[:3], np.where(y > 1, np.nan, y)):
        with pytest.raises(pt.ArgumentError, match="y must be 300 finite numbers, one for each"):
            ModelReport(regressor, X, wrong)
