from polytomy.scheme import BinaryName, ClassRef, NodeRef, parse


def test_a_name_prints_as_it_is_and_a_specification_in_quotes():
    assert str(BinaryName("corn")) == "corn"
    assert str(BinaryName('a "b"', is_specification=True)) == '"a \\"b\\""'


def test_a_node_of_two_branches_is_two_way_unless_its_sides_are_exchanged():
    assert parse("m 0/1; {a b}").nodes[0].is_two_way
    assert not parse("m 1/0; {a b}").nodes[0].is_two_way
    assert not parse("@adjacent {a b c}").nodes[0].is_two_way


def test_branches_start_where_the_classes_before_them_end():
    found = parse("m 0/1; n 0/2; o 1/2; {a left {b c} right {d e}}")
    assert found.nodes[0].branches == (ClassRef(0), NodeRef(1), NodeRef(2))
    assert found.branch_starts == [(0, 1, 3, 5), (1, 2, 3), (3, 4, 5)]


def test_a_single_class_has_no_branches():
    assert parse("corn").branch_starts == []
