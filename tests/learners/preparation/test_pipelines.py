"""Splitting a pipeline into its transformers and its last step."""

from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC

from polytomy.learners.preparation import list_steps, split_pipeline


def test_transformers_come_in_order_and_idle_steps_are_left_out():
    first, second, last = StandardScaler(), MaxAbsScaler(), SVC()
    steps = [("a", first), ("b", "passthrough"), ("c", None), ("d", second), ("e", last)]
    before, found = split_pipeline(Pipeline(steps))
    assert before == [first, second]
    assert found is last


def test_a_pipeline_of_one_step_has_nothing_before_it():
    last = SVC()
    assert split_pipeline(make_pipeline(last)) == ([], last)


def test_an_estimator_that_is_not_a_pipeline_stands_alone():
    alone = SVC()
    assert split_pipeline(alone) == ([], alone)


def test_only_the_outer_pipeline_is_split():
    inner = make_pipeline(StandardScaler(), SVC())
    assert split_pipeline(make_pipeline(inner)) == ([], inner)


def test_steps_that_do_something_are_listed():
    first, last = StandardScaler(), MaxAbsScaler()
    assert list_steps(make_pipeline(first, "passthrough", None, last)) == [first, last]
    assert list_steps(None) == []
