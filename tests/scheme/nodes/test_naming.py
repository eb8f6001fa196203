from polytomy import designs, parse
from polytomy.scheme import BinaryName
from polytomy.scheme.nodes import branch_base, number_binaries, own_base, partition_name


def test_partitions_are_numbered_with_two_digits_or_more():
    assert [partition_name("land", row) for row in (0, 12, 100)] == [
        "land-00",
        "land-12",
        "land-100",
    ]
    assert number_binaries("m", 2) == (BinaryName("m-00"), BinaryName("m-01"))


def test_a_branch_is_named_by_its_path():
    assert branch_base("land.00", 1, 2) == "land.00.01"


def test_a_path_that_is_too_long_restarts_at_the_number_of_its_node():
    assert branch_base("a" * 237, 1, 7) == "a" * 237 + ".01"
    assert branch_base("a" * 238, 1, 7) == "node00007"


def test_nodes_below_inherit_the_name_of_the_only_binary_or_the_base_of_numbered_ones():
    assert own_base((BinaryName("land"),), "inherited") == "land"
    assert own_base(number_binaries("land", 3), "inherited") == "land"


def test_nodes_below_other_binaries_inherit_the_base_of_the_node():
    assert own_base((BinaryName("svc", True),), "inherited") == "inherited"
    assert own_base((BinaryName("a"), BinaryName("b")), "inherited") == "inherited"
    assert own_base(number_binaries("land", 3)[::-1], "inherited") == "inherited"
    assert own_base(number_binaries("", 2), "inherited") == "inherited"


def test_nodes_are_named_by_their_models_or_numbers():
    scheme = parse('land {@one-vs-one crops {a b c} "svc C=1" {d e} x 0/1; y 1/2; z 0/2; {f g h}}')
    assert scheme.node_names == ("land", "crops", "node 2", "node 3")


def test_nodes_of_the_same_name_are_told_apart_by_the_nodes_above():
    hierarchy = {
        "field": {"corn": None, "other": ["a", "b"]},
        "forest": {"other": ["c", "d"], "x": 0},
    }
    scheme = designs.from_hierarchy(hierarchy, name="land")
    assert scheme.node_names == ("land", "field", "field/other", "forest", "forest/other")
    twice = parse("m {m {a b} m {c d}}")
    assert twice.node_names == ("m", "m/m (node 1)", "m/m (node 2)")
