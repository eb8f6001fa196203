import numpy as np
import pytest

from polytomy.errors import ArgumentError
from polytomy.inputs.seeds import as_generator


def test_a_seed_of_any_integer_type_is_the_same_seed():
    assert as_generator(3).random() == as_generator(np.uint8(3)).random()


def test_a_generator_is_returned_unchanged():
    generator = np.random.default_rng()
    assert as_generator(generator) is generator


def test_a_legacy_generator_advances():
    legacy = np.random.RandomState(0)
    assert as_generator(legacy).random() != as_generator(legacy).random()
    again = np.random.RandomState(0)
    assert as_generator(again).random() == as_generator(np.random.RandomState(0)).random()


def test_none_gives_different_numbers_each_time():
    assert as_generator(None).random() != as_generator(None).random()


@pytest.mark.parametrize("random_state", [1.5, "1", True, [1]])
def test_invalid_random_states_are_refused(random_state):
    with pytest.raises(ArgumentError, match=r"must be a whole number, a numpy\.random\.Generator"):
        as_generator(random_state)


def test_a_negative_seed_is_refused():
    with pytest.raises(ArgumentError, match=r"random_state=-2 is negative\. Use 0 or more\."):
        as_generator(-2)
