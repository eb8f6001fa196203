"""Pairs of a configuration and a method."""

import numpy as np
import pytest

import polytomy as pt
from polytomy.errors import ArgumentError, ControlError
from polytomy.trials import PAPER_PAIRS, pairs_from


def names(pairs):
    return [(pair.configuration, pair.method) for pair in pairs]


def test_the_default_is_six_configurations_in_eight_pairs():
    assert pairs_from() == list(PAPER_PAIRS)
    assert len(PAPER_PAIRS) == 8
    assert len({pair.configuration for pair in PAPER_PAIRS}) == 6


def test_solvers_apply_to_schemes_without_their_own():
    found = pairs_from(["adjacent", ("tree", "greedy")], ["voting", "divergence"])
    assert names(found) == [("adjacent", "voting"), ("adjacent", "divergence"), ("tree", "greedy")]
    assert names(pairs_from("adjacent")) == [("adjacent", "auto")]
    assert len(pairs_from(solvers="divergence")) == 6


def test_pairs_with_probabilities_are_followed_by_calibrated_ones():
    found = pairs_from(calibrated=True)
    assert [pair for pair in found if pair.final_calibration is None] == list(PAPER_PAIRS)
    calibrated = {pair.configuration: pair for pair in found if pair.final_calibration}
    assert set(calibrated) == {pair.configuration for pair in PAPER_PAIRS}
    for pair in calibrated.values():
        plain = found[found.index(pair) - 1]
        assert pair == plain._replace(method="least-squares + calibrated", final_calibration="auto")
    assert names(pairs_from(["tree"], ["greedy", "divergence"], calibrated=True)) == [
        ("tree", "greedy"),
        ("tree", "divergence"),
        ("tree", "divergence + calibrated"),
    ]


def test_only_calibrated_pairs_describe_a_final_calibration():
    plain, calibrated = pairs_from(["adjacent"], calibrated=True)
    described = {
        "configuration": "adjacent",
        "method": "auto",
        "scheme": "adjacent",
        "solver": "auto",
    }
    assert plain.describe() == described
    assert calibrated.describe() == described | {
        "method": "auto + calibrated",
        "final_calibration": "auto",
    }


def test_a_dict_names_schemes_of_any_kind():
    scheme = pt.parse("m {a n {b c}}")

    def own_solver(scheme, decisions):
        return decisions

    found = pairs_from({"mine": scheme, "matrix": np.array([[-1, 1]])}, [own_solver])
    assert names(found) == [("mine", "own_solver"), ("matrix", "own_solver")]
    assert found[0].describe()["scheme"] == str(scheme)
    assert found[0].describe()["solver"].endswith("own_solver")


def test_a_control_file_is_identified_by_its_content(tmp_path):
    path = tmp_path / "m.control"
    for form in (str(path), path):
        path.write_text("m {a b}")
        assert pairs_from([form])[0].describe()["scheme"] == "m {a b}"
        path.write_text("m {b a}")
        assert pairs_from([form])[0].describe()["scheme"] == "m {b a}"


def test_equal_schemes_have_equal_descriptions():
    class Maker:
        def __call__(self, X, y):
            return "tree"

    def described():
        schemes = {
            "matrix": np.array([[-1, 1]]),
            "code": pt.CodingMatrix([[-1, 1]]),
            "design": "tree",
            "text": "m{a b}",
            "object": Maker(),
        }
        return [pair.describe() for pair in pairs_from(schemes)]

    first = described()
    assert described() == first
    assert [each["scheme"] for each in first[:4]] == ["[[-1, 1]]", "[[-1, 1]]", "tree", "m {a b}"]
    assert first[4]["scheme"].endswith("Maker")


@pytest.mark.parametrize(
    ("schemes", "solvers", "error", "words"),
    [
        (["one-vs-on"], None, ArgumentError, 'Did you mean "one-vs-one"?'),
        (["m {a"], None, ControlError, "'{' is not closed"),
        (["tree"], ["gredy"], ArgumentError, 'Did you mean "greedy"?'),
        (
            ["tree", "tree"],
            None,
            ArgumentError,
            "Two pairs are named 'tree, auto'. Pass a dict",
        ),
        (
            ["tree"],
            [],
            ArgumentError,
            "There is nothing to compare. Pass at least one scheme in schemes",
        ),
        (3, None, ArgumentError, "schemes=3 must be a list or a dict of schemes."),
    ],
)
def test_invalid_schemes_and_solvers_are_errors_before_any_data_is_seen(
    schemes, solvers, error, words
):
    with pytest.raises(error) as caught:
        pairs_from(schemes, solvers)
    assert words in str(caught.value)


def test_two_schemes_of_one_name_are_an_error():
    def make(X, y):
        return "tree"

    other = type("Other", (), {"__name__": "make", "__call__": lambda self, X, y: "tree"})()
    with pytest.raises(ArgumentError, match="Two schemes are named 'make'"):
        pairs_from([(make, "voting"), (other, "hamming")])
    large = np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1]])
    with pytest.raises(ArgumentError, match="Two schemes are named"):
        pairs_from([(large, "voting"), (large.copy(), "hamming")])
