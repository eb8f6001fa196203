"""The report of one model on some samples, as a page for notebooks and browsers."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from polytomy.inputs.arguments import as_count
from polytomy.regression import PolytomyRegressor
from polytomy.report.model_page import write_classifier_page
from polytomy.report.model_parts import Samples, write_regressor_page
from polytomy.trials.store import write_content


class ModelReport:
    """A page about one fitted model on some samples: how good is it, and where are its errors?

    It opens with one sentence and one table: the scores on these samples, those that training had
    promised, and whether the difference is noise. Then come the scheme, in which a click on a
    partition shows its errors, the confusion matrix, the reliability of the probabilities,
    prediction sets, costs, class frequencies, and the samples to look at, with explanations. For a
    regressor: its distributions against the truth, calibration, intervals, and the worst samples.

    The page is one file that loads nothing. In a notebook, the report shows itself.

    Parameters
    ----------
    estimator : fitted PolytomyClassifier or PolytomyRegressor, or a pipeline or search of one
    X : samples that the model was not trained on
    y : array of shape (n_samples,), optional
        Their labels. Without them, the page shows what can be said without them.
    max_samples : int, default=20000
        Of more samples, so many are drawn at random, with a fixed seed.
    feature_names : list of str, optional
        Names of the columns of X, by default those of a frame.

    Attributes
    ----------
    html : str, the page
    summary : str, its first sentence

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = pt.PolytomyClassifier("svc C=10", random_state=0).fit(X[::2], y[::2])
    >>> report = pt.ModelReport(classifier, X[1::2], y[1::2])
    >>> print(report.summary)
    The classifier is right for 98.7% of these 75 samples; training had promised 94.7%, and the
    difference is within noise.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        max_samples: int = 20_000,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        most = as_count("max_samples", max_samples)
        samples = Samples.draw(estimator, X, most, feature_names)
        is_regressor = isinstance(samples.model, PolytomyRegressor)
        write = write_regressor_page if is_regressor else write_classifier_page
        self.html, self.summary = write(samples, y)

    def __repr__(self) -> str:
        return f"<ModelReport: {self.summary} Use write_html(path) or open() to see it.>"

    def _repr_html_(self) -> str:
        # The frame keeps the styles of page and notebook apart, and its script from the notebook.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="Model report" '
            'style="width: 100%; height: 700px; border: 0"></iframe>'
        )

    def write_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, and return its path."""
        target = Path(path)
        write_content(target, self.html.encode("utf-8", "replace"))
        return target

    def open(self) -> Path:
        """Open the page in a web browser, from a temporary file; return its path."""
        target = self.write_html(Path(tempfile.mkdtemp(prefix="polytomy-"), "report.html"))
        webbrowser.open(target.as_uri())
        return target
