"""Parts of models made again from their states, right or wrong."""

from polytomy.states import State, find_kind_of


def state_of(instance):
    """Return the state of an instance of a registered kind."""
    return dict(find_kind_of(instance).state(instance))


def remake(instance, **changes):
    """Return what is made from the state of an instance after some of its values are changed."""
    values = {**state_of(instance), **changes}
    return find_kind_of(instance).from_state(State(values, "it"))
