import numpy as np
import pytest

from polytomy import designs
from polytomy.errors import ArgumentError

ALL = designs.DESIGNS | designs.LABEL_DESIGNS | designs.DATA_DESIGNS


def made():
    random = np.random.default_rng(0)
    y = np.repeat(list("abcd"), 10)
    return random.normal(size=(40, 3)) + (y == "a")[:, np.newaxis], y


@pytest.mark.parametrize("name", designs.SCHEME_NAMES)
def test_every_name_is_a_public_function_with_underscores(name):
    function = name.replace("-", "_")
    assert function in designs.__all__
    expected = ALL[name].make if name in ALL else designs.ENSEMBLES[name]
    assert getattr(designs, function) is expected


def test_every_name_is_one_design_with_its_own_summary():
    assert len(set(designs.SCHEME_NAMES)) == len(designs.SCHEME_NAMES)
    assert len({entry.summary for entry in ALL.values()}) == len(ALL)
    assert all(designs.find_design(name) == entry for name, entry in ALL.items())


@pytest.mark.parametrize("name", designs.DESIGNS)
def test_a_design_is_made_from_classes_by_its_name(name):
    entry = designs.find_design(name)
    assert not entry.needs_data
    options = {"random_state": 3} if "random_state" in entry.options else {}
    assert designs.design(name, 5, **options) == entry.make(5, **options)
    scheme = designs.design(name, list("abc"), name="land", **options)
    assert scheme == entry.make(list("abc"), name="land", **options)
    assert str(scheme.partitions[0].binary).startswith("land")


@pytest.mark.parametrize("name", designs.DATA_DESIGNS)
def test_a_design_is_made_from_data_by_its_name(name):
    X, y = made()
    entry = designs.find_design(name)
    assert entry.needs_data
    options = {"random_state": 0} if "random_state" in entry.options else {}
    scheme = designs.design(name, X=X, y=y, name="land", **options)
    assert scheme == entry.make(X, y, name="land", **options)
    assert sorted(scheme.classes) == list("abcd")
    assert str(scheme.partitions[0].binary).startswith("land")


@pytest.mark.parametrize(("name", "ternary"), [("random", False), ("random-ternary", True)])
def test_the_number_of_partitions_reaches_the_random_codes(name, ternary):
    scheme = designs.design(name, 6, n_partitions=9, random_state=1)
    assert scheme.n_partitions == 9
    assert scheme == designs.random_code(6, n_partitions=9, ternary=ternary, random_state=1)


def test_the_number_of_partitions_reaches_the_data_driven_code():
    X, y = made()
    assert designs.design("data-driven", X=X, y=y, n_partitions=5).n_partitions == 5


@pytest.mark.parametrize(
    "name", ["one-vs-one", "one-vs-rest", "exhaustive", "adjacent", "chain", "tree"]
)
def test_an_option_that_does_not_apply_is_refused_with_the_designs_it_is_for(name):
    words = f"random_state=3 does not apply to '{name}'; it is for orthogonal, random, random-tern"
    with pytest.raises(ArgumentError, match=words) as caught:
        designs.design(name, 4, random_state=3)
    assert caught.value.parameter == "random_state"
    words = f"n_partitions=3 does not apply to '{name}'; it is for random, random-ternary."
    with pytest.raises(ArgumentError, match=words):
        designs.design(name, 4, n_partitions=3)


@pytest.mark.parametrize(
    ("option", "takers"),
    [({"random_state": 1}, "class-balanced-tree, "), ({"n_partitions": 3}, "data-driven")],
)
def test_designs_from_data_refuse_options_too(option, takers):
    words = f"=. does not apply to 'empirical-tree'; it is for {takers}"
    with pytest.raises(ArgumentError, match=words):
        designs.design("empirical-tree", X=[[0.0], [1.0]], y=[0, 1], **option)


@pytest.mark.parametrize("given", [{}, {"X": [[0.0]]}, {"y": [0]}])
def test_designs_from_data_need_data(given):
    words = "'empirical-tree' is made from training data. Pass X and y."
    with pytest.raises(ArgumentError, match=words):
        designs.design("empirical-tree", **given)


@pytest.mark.parametrize("name", [3, None, ["tree"], "", "tree-of-life"])
def test_an_unknown_name_is_refused_with_all_designs(name):
    with pytest.raises(
        ArgumentError, match=r"is not a design\. Use one of one-vs-one, one-vs-rest"
    ):
        designs.design(name, 3)


@pytest.mark.parametrize(
    ("typed", "meant"), [("one-vs-ret", "one-vs-rest"), ("emprical-tree", "empirical-tree")]
)
def test_a_similar_name_is_suggested(typed, meant):
    with pytest.raises(ArgumentError, match=rf'Did you mean "{meant}"\?'):
        designs.design(typed, 3)


@pytest.mark.parametrize("name", designs.ENSEMBLES)
def test_an_ensemble_is_not_a_single_scheme(name):
    with pytest.raises(ArgumentError, match=f"'{name}' is an ensemble of several schemes"):
        designs.design(name, 4)


def test_sides_and_partitions_reach_the_n_ary_code():
    scheme = designs.design("n-ary", 9, sides=3, n_partitions=5, random_state=1)
    assert scheme == designs.n_ary_code(9, sides=3, rows=5, random_state=1)
    assert scheme.code.n_sides.tolist() == [3] * 5
    with pytest.raises(ArgumentError, match=r"sides=3 does not apply to 'random'; it is for n-ary"):
        designs.design("random", 9, sides=3)


def test_labels_that_are_paths_are_a_design():
    paths = ["comp/mac", "comp/pc", "sci"]
    assert designs.design("paths", paths) == designs.from_paths(paths)
    dotted = ["comp.mac", "comp.pc", "sci"]
    scheme = designs.design("paths", dotted, separator=".", name="groups")
    assert scheme == designs.from_paths(dotted, separator=".", name="groups")
    words = "separator=\".\" does not apply to 'tree'; it is for paths"
    with pytest.raises(ArgumentError, match=words):
        designs.design("tree", 3, separator=".")


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (3, '"paths" needs classes whose labels are strings, such as "comp/sys/mac"; got 0.'),
        (["a/b", 1], 'whose labels are strings, such as "comp/sys/mac"; got 1.'),
        (
            ["comp.mac", "comp.pc"],
            '"paths" needs labels with "/" between their parts; \'comp.mac\' and the other classes '
            'have none. Another separator, such as separator=".", can be passed to the design, '
            "designs.from_paths.",
        ),
    ],
)
def test_labels_that_are_not_paths_are_refused(labels, words):
    with pytest.raises(ArgumentError) as caught:
        designs.design("paths", labels)
    assert words in str(caught.value)
