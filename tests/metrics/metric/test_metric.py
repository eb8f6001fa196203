"""What a metric tells about itself, and the registry."""

import pytest

from polytomy.errors import ArgumentError
from polytomy.metrics import METRICS, Metric, register


def test_every_metric_has_its_name_and_a_title_of_its_own():
    assert all(metric.name == name for name, metric in METRICS.items())
    titles = [metric.title for metric in METRICS.values() if metric.is_reported]
    assert len(set(titles)) == len(titles)


def test_the_title_is_the_name_in_words_and_a_heading_has_the_unit():
    metric = Metric("mean_delay", len, unit="days")
    assert (metric.title, metric.short_title) == ("mean delay", "mean delay")
    assert metric.heading == "Mean delay (days)"
    assert Metric("log_loss", len, title="log-loss").heading == "Log-loss"


def test_a_loss_is_smaller_if_it_is_better():
    assert METRICS["accuracy"].as_loss(0.75) == -0.75
    assert METRICS["log_loss"].as_loss(0.75) == 0.75


def test_a_name_can_be_registered_once():
    with pytest.raises(ArgumentError, match="already a metric called 'accuracy'"):
        register(Metric("accuracy", len))
