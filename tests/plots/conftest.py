"""Draw without a display, and close all figures after each test."""

import matplotlib.pyplot as plt
import pytest

plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")
