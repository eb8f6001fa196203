import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import polytomy as pt
from polytomy.errors import DataError
from polytomy.inputs.rows import refuse_dates

X = np.array([[0.0], [1.0], [8.0], [9.0]])
Y = np.array([0, 0, 1, 1])
DATES = np.datetime64("2020-01-01") + X.astype("timedelta64[D]")


@pytest.mark.parametrize(
    "values", [X, X.tolist(), None, 3, X.astype(str), X.astype(object), pd.DataFrame(X)]
)
def test_other_values_pass(values):
    refuse_dates(values, "X")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (DATES, "datetime64[D]"),
        (X.astype("timedelta64[s]"), "timedelta64[s]"),
        (pd.DataFrame({"a": [1.0], "b": ["2020-01-01"]}).astype({"b": "M8[ns]"}), "datetime64[ns]"),
    ],
)
def test_dates_are_refused_with_the_way_out(values, kind):
    with pytest.raises(DataError) as error:
        refuse_dates(values, "X")
    assert str(error.value) == (
        f"X has values of type {kind}, which are not numbers. Convert them, for example to days "
        "since a date."
    )


@pytest.mark.parametrize("dates", [DATES, pd.DataFrame(DATES.astype("datetime64[s]"))])
@pytest.mark.parametrize(
    "entrance",
    [
        lambda dates: pt.PolytomyClassifier(SVC(), cv=2).fit(dates, Y).predict(dates),
        lambda dates: pt.PolytomyClassifier(SVC(), cv=2).fit(X, Y).predict(dates),
        lambda dates: pt.PolytomyClassifier(SVC(), cv=2).fit(X, Y).composition_.decisions(dates),
        lambda dates: pt.distances.centroid(dates, Y),
        lambda dates: pt.designs.empirical_tree(dates, Y),
    ],
)
def test_no_entrance_takes_dates_for_numbers(entrance, dates):
    with pytest.raises(DataError, match="which are not numbers"):
        entrance(dates)


def test_a_pipeline_may_read_the_dates_of_a_frame():
    frame = pd.DataFrame({"day": DATES[:, 0]})
    days = FunctionTransformer(lambda X: X.apply(lambda column: column.dt.day))
    classifier = pt.PolytomyClassifier(make_pipeline(days, LogisticRegression()), calibration=None)
    np.testing.assert_array_equal(classifier.fit(frame, Y).predict(frame), Y)
