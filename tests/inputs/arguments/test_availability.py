"""Methods that exist only with some parameters."""

import inspect

import pytest

from polytomy.inputs.arguments import available_unless


class Kettle:
    def __init__(self, water):
        self.water = water

    @available_unless(lambda kettle: "" if kettle.water else "it is empty. Fill it.")
    def boil(self, minutes=3):
        """Boil the water."""
        return minutes * self.water


def test_an_available_method_is_an_ordinary_method():
    kettle = Kettle(2)
    assert kettle.boil(4) == 8
    assert kettle.boil.__name__ == "boil"
    assert kettle.boil.__self__ is kettle


def test_a_missing_method_says_why():
    kettle = Kettle(0)
    assert not hasattr(kettle, "boil")
    with pytest.raises(AttributeError) as caught:
        kettle.boil()
    assert str(caught.value) == "This 'Kettle' has no attribute 'boil': it is empty. Fill it."
    assert (caught.value.name, caught.value.obj) == ("boil", kettle)
    assert str(caught.value.__cause__) == "it is empty. Fill it."


def test_availability_is_decided_at_each_access():
    kettle = Kettle(0)
    kettle.water = 1
    assert kettle.boil() == 3
    kettle.water = 0
    assert not hasattr(kettle, "boil")


def test_the_class_has_the_method_with_its_documentation():
    assert Kettle.boil.__doc__ == "Boil the water."
    assert list(inspect.signature(Kettle.boil).parameters) == ["self", "minutes"]
