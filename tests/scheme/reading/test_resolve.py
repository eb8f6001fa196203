import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ControlError, ControlWarning
from polytomy.scheme import BinaryName, parse
from polytomy.scheme import reading as resolve
from polytomy.scheme.code_checks import MAX_ENTRIES
from strategies import near_texts


def problems(text):
    with pytest.raises(ControlError) as caught:
        parse(text)
    return [(p.line, p.column, p.message) for p in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("x {2 y {3 z {2 4}}}", 1, 14, "class 2 is already used at 1:4; use each class once"),
        ("m 0 / 2; {a b}", 1, 7, "there is no branch 2; the model has 2 branches, counted"),
        ("m 0 / 0 1; {a b}", 1, 7, "branch 0 is already in this partition, at 1:3"),
        ("m 0 0 / 1; {a b}", 1, 5, "branch 0 is already in this partition, at 1:3"),
        ("m 0 / 1; {a b c}", 1, 15, "class c is in no partition; add its index to one"),
        ("m 0 / 1 2; {a b c}", 1, 17, "no partition separates class b and class c"),
        ("m 0 / 1 2; {a b n {c d}}", 1, 17, "no partition separates class b and branch 2"),
        ("m {a}", 1, 1, "m has only one branch"),
        ('"svc" {a}', 1, 1, '"svc" has only one branch'),
        ("m 0 / 1 / 3; {a b c}", 1, 11, "there is no branch 3; the model has 3 branches"),
        ("m 0 / 1 / 0 2; {a b c}", 1, 11, "branch 0 is already in this partition, at 1:3"),
        ("m 0 / 1 / 2 3; {a b c d}", 1, 23, "no partition separates class c and class d"),
        ("m 0 / 1 / 2; {a b c d}", 1, 21, "class d is in no partition; add its index to one"),
        ('"-k 5" A {a b}', 1, 8, "A stands for adaptive Gaussian filtering of libAGF"),
        ('"" G {a b}', 1, 4, "G stands for an external program of libAGF"),
        ('"-m 1" K {a b}', 1, 8, "K takes the option -k, the number of neighbours; got -m"),
        ("@one-vs-two {a b}", 1, 1, "@one-vs-two is not a design; the designs are @one-vs-one"),
        ("@orthogona {a b}", 1, 1, 'Did you mean "@orthogonal"? To write a tree'),
        ("@one-vs-one {a}", 1, 1, "a design needs at least two branches"),
        ("@exhaustive {" + " ".join(map(str, range(21))) + "}", 1, 1, "1,048,575"),
        ('"." {a b}', 1, 1, 'there is no specification before "."'),
        ('m 0/1; "." 0/2; n 1/2; {a b c}', 1, 8, 'there is no specification before "."'),
    ],
)  # fmt: skip
def test_a_problem_has_its_place_and_words(text, line, column, words):
    found = problems(text)
    assert found[0][:2] == (line, column)
    assert words in found[0][2]


def test_all_problems_of_a_text_are_reported_together():
    text = "m 0 / 5; n 0 / 1;\n{\n  a\n  x {b}\n  @nothing {e f}\n  a\n}"
    assert [place[:2] for place in problems(text)] == [(1, 7), (4, 3), (5, 3), (6, 3)]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("@one-vs-rset {a b n {c d", [(1, 1), (1, 14)]),  # two braces are not closed
        ("m {\n  @adjcent {a b}\n  n 0 / ; {c d}\n}", [(2, 3), (3, 9)]),
        ("@adjcent x y {a b}\n@ovo {c d}", [(1, 1), (1, 12), (2, 1), (2, 1)]),
    ],
)
def test_unknown_designs_are_listed_with_mistakes_of_syntax(text, places):
    found = problems(text)
    assert [place[:2] for place in found] == places
    assert sum("is not a design; the designs are @one-vs-one" in words for *_, words in found) > 0


def test_a_partition_counts_branches_not_labels():
    scheme = parse("m 0 / 1 2; n 1 / 2; {7 5 9}")
    assert scheme.classes == (7, 5, 9)
    assert scheme.code.matrix.tolist() == [[-1, 1, 1], [0, -1, 1]]


def test_a_model_with_braces_is_a_partition_with_a_side_for_each_branch():
    assert parse("m {a b c}") == parse("m 0 / 1 / 2; {a b c}")
    assert parse("@direct m {a b c}") == parse("m-00 {a b c}")


def test_partitions_may_have_different_numbers_of_sides():
    code = parse("m 0 / 1 3 / 2; n 3 / 1; {a b c d}").code
    assert code.sides.tolist() == [[0, 1, 2, 1], [-1, 1, -1, 0]]
    assert code.rows_per_partition.tolist() == [3, 1]


def test_partitions_that_leave_probabilities_open_are_warned_of():
    with pytest.warns(ControlWarning, match="among class a, class b, class c, class d and"):
        parse("m 0 / 1 / 2; n 3 / 4; {a b c d e}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse("m 0 / 1 / 2 3 4; n 3 / 4 / 2; {a b c d e}")


def test_the_letter_of_nearest_neighbours_is_read_after_options():
    scheme = parse('"-k 5" K {a b "" K {c d e} "red soil" K {f g}}')
    assert scheme.classes == ("a", "b", "c", "d", "e", "red soil", "f", "g")
    assert [str(node.binaries[0]) for node in scheme.nodes] == [
        '"k-neighbors n_neighbors=5"',
        '"k-neighbors n_neighbors=11"',
        "K",
    ]


def test_a_dot_repeats_the_specification_before_it():
    scheme = parse('"svc C=1" 0/1; name 0/2; "." 1/2; {a b c}')
    assert [str(b) for b in scheme.nodes[0].binaries] == ['"svc C=1"', "name", '"svc C=1"']


def test_a_dot_repeats_the_specification_of_the_sibling_else_of_the_parent():
    scheme = parse('"one" { "." {a b} "two" { "." {c d} "." {e f} } }')
    assert [node.binaries[0].text for node in scheme.nodes] == ["one", "one", "two", "two", "two"]
    scheme = parse('"one" { "two" {a b} "." {c d} }')
    assert [node.binaries[0].text for node in scheme.nodes] == ["one", "two", "two"]


def test_the_empty_specification_is_one_to_repeat():
    scheme = parse('"" { "." {a b} c }')
    assert scheme.nodes[1].binaries == (BinaryName("", is_specification=True),)


def test_a_design_expands_into_plain_grammar():
    assert str(parse("@one-vs-rest {a b c}")) == (
        "one-vs-rest-00 1 2 / 0;\none-vs-rest-01 0 2 / 1;\none-vs-rest-02 0 1 / 2;\n{a b c}"
    )


def test_binaries_of_designs_are_named_by_their_path_or_the_given_name():
    text = "top { @adjacent {a b c} @one-vs-one given {d e @adjacent {f g h}} }"
    names = [[b.text for b in node.binaries] for node in parse(text).nodes]
    assert names == [
        ["top"],
        ["top.00-00", "top.00-01"],
        ["given-00", "given-01", "given-02"],
        ["given.02-00", "given.02-01"],
    ]


def test_a_design_with_a_specification_gives_it_to_every_partition():
    scheme = parse('@adjacent "svc C=10" {a b "." {c d}}')
    assert {b.text for node in scheme.nodes for b in node.binaries} == {"svc C=10"}


def test_a_name_may_stand_at_several_partitions():
    assert len(set(parse("m 0/1; m 0/2; m 1/2; {a b c}").nodes[0].binaries)) == 1


def test_an_undetermined_code_gives_a_warning():
    with pytest.warns(ControlWarning, match=r"f:1:3: .* class a, class b, class c and class d;"):
        parse("  m 0/1; n 2/3; {a b c d}", "f")


def test_many_branches_are_named_in_part():
    pairs = "".join(f"m {2 * i}/{2 * i + 1};" for i in range(20))
    with pytest.warns(ControlWarning, match=r"class c0, .*, class c9 and 30 more; add partitions"):
        parse(f"{pairs} {{{' '.join(f'c{i}' for i in range(40))}}}")
    alike = " ".join(f"c{i}" for i in range(1, 40))
    indices = " ".join(map(str, range(1, 40)))
    assert (
        "class c10 and 29 more; add one that does"
        in problems(f"m 0 / {indices}; {{c0 {alike}}}")[0][2]
    )


def test_a_code_of_thousands_of_branches_is_not_checked_for_determinedness():
    # The search takes time and memory that a short text could use up.
    pairs = "".join(f"m {2 * i}/{2 * i + 1};" for i in range(1501))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(f"{pairs} {{{' '.join(map(str, range(3002)))}}}")


def test_a_determined_code_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse("m 0/1; n 1/2; o 2/3; {a b c d}")


def test_a_code_that_would_fill_the_memory_is_refused():
    classes = " ".join(f"c{i}" for i in range(5000))
    words = f"a coding matrix has at most {MAX_ENTRIES:,}."
    assert words in problems(f"@one-vs-one {{{classes}}}")[0][2]


def test_codes_that_would_fill_the_memory_together_are_refused(monkeypatch):
    # Four codes of 70 classes have 4 × 70 × 70 × 69 / 2 entries: each alone is below the limit.
    monkeypatch.setattr(resolve, "MAX_ENTRIES", 500_000)
    many = " ".join(f"@one-vs-one {{{' '.join(f'c{k}_{i}' for i in range(70))}}}" for k in range(4))
    (problem,) = problems(f"@one-vs-one {{{many}}}")
    assert "the codes up to here exceed the limit of 500,000 entries" in problem[2]


@given(st.one_of(st.text(), near_texts))
def test_any_text_gives_a_scheme_or_a_control_error(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ControlWarning)
        try:
            scheme = parse(text)
        except ControlError:
            return
        assert parse(str(scheme)) == scheme
        assert parse(scheme.compact()) == scheme
