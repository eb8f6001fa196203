"""Seeds of partitions and of estimators."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from polytomy.inputs.seeds import borrow_generator, partition_seeds, seed_all

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(0, 20), st.integers(0, 20))
def test_the_seed_of_a_partition_does_not_depend_on_later_partitions(seed, n_first, n_more):
    first = partition_seeds(seed, n_first)
    assert partition_seeds(seed, n_first + n_more)[:n_first] == first
    assert partition_seeds(np.random.RandomState(seed), n_first) == first
    assert all(isinstance(each, int) and 0 <= each < 2**31 for each in first)


@given(seeds, seeds)
def test_a_borrowed_generator_draws_what_a_new_one_draws(earlier, seed):
    borrow_generator(earlier).normal()  # one more is kept for the next draw
    borrowed, new = borrow_generator(seed), np.random.RandomState(seed)
    assert borrowed.normal() == new.normal()
    assert borrowed.permutation(9).tolist() == new.permutation(9).tolist()


def test_partitions_have_different_seeds():
    assert len(set(partition_seeds(3, 50))) == 50
    assert partition_seeds(3, 50) != partition_seeds(4, 50)


def test_without_a_random_state_there_are_no_seeds():
    assert partition_seeds(None, 2) == [None, None]


def states(estimator):
    named = estimator.get_params(deep=True).items()
    return {name: value for name, value in named if name.endswith("random_state")}


@given(seeds)
def test_a_seed_sets_every_random_state_to_a_value_of_its_own(seed):
    one, same = (make_pipeline(BaggingClassifier(SGDClassifier(random_state=1))) for _ in range(2))
    seed_all(one, seed)
    seed_all(same, seed)
    assert states(one) == states(same)
    assert len(set(states(one).values())) == 2


def test_no_seed_leaves_every_random_state():
    estimator = BaggingClassifier(SGDClassifier(random_state=1), random_state=5)
    seed_all(estimator, None)
    assert states(estimator) == {"random_state": 5, "estimator__random_state": 1}


def test_an_estimator_without_randomness_is_not_changed():
    estimator = GaussianNB()
    seed_all(estimator, 3)
    assert estimator.get_params() == GaussianNB().get_params()
