"""Means, standard deviations, the best pairs, comparisons and ranks."""

import statistics

import numpy as np
import pytest
from scipy.stats import wilcoxon

from polytomy.errors import ArgumentError
from polytomy.trials import Results
from trials.results_cases import ACCURACY, PAIRS, make_results


@pytest.fixture
def results():
    return make_results(ACCURACY)


def test_cells_are_means_and_sample_standard_deviations(results):
    for (dataset, configuration), values in ACCURACY.items():
        cell = results.cell("accuracy", dataset, (configuration, "lsq"))
        assert cell.mean == pytest.approx(statistics.mean(values))
        assert cell.std == pytest.approx(statistics.stdev(values))
        assert cell.n_repeats == 3
    assert results.cell("accuracy", "b_c", ("tree", "rec")) is None


def test_values_are_in_the_order_of_the_repeats(results):
    assert results.values("accuracy", "a", ("pairs", "lsq")).tolist() == [0.5, 0.75, 1.0]
    assert np.isnan(results.values("accuracy", "b_c", ("tree", "rec"))).all()


def test_confusions_and_reliabilities_are_summed_over_the_repeats(results):
    pair = ("tree", "rec")
    assert results.total("confusion", "a", pair).tolist() == [[0 + 1 + 2, 3], [0, 6]]
    assert results.total("reliability", "a", ("tree", "lsq")).tolist() == [[6, 1.5, 3.0]]
    assert results.total("reliability", "a", pair) is None
    assert results.total("confusion", "b_c", pair) is None


def test_the_best_of_each_dataset_is_marked_in_either_direction(results):
    def best(measure):
        table = results.table(measure)
        return [[bool(cell and cell.is_best) for cell in cells] for cells in table.cells]

    assert best("accuracy") == [[True, False], [False, False], [False, True]]
    assert results.table("log_loss").rows == [("pairs", "lsq"), ("tree", "lsq")]
    assert best("log_loss") == [[True, False], [False, True]]
    assert best("n_binaries") == [[False, False]] * 3


def test_all_tied_pairs_are_marked():
    equal = {key: [0.1, 0.2, 0.3] for key in ACCURACY}
    # The same values in another order have a mean that differs in the last digit.
    equal["a", "tree"] = [0.3, 0.2, 0.1]
    table = make_results(equal).table("accuracy")
    assert all(cell.is_best for cells in table.cells for cell in cells if cell)


def test_measures_without_values_have_no_table(results):
    assert [table.measure.name for table in results.tables()] == [
        "accuracy",
        "log_loss",
        "n_binaries",
    ]


def test_pairs_are_compared_split_by_split(results):
    found = {(each.dataset, each.one, each.other): each for each in results.compare("accuracy")}
    outcome = found["a", ("pairs", "lsq"), ("tree", "lsq")].outcome
    assert (outcome.wins, outcome.ties, outcome.losses) == (2, 1, 0)
    # Two splits differ, with equal signs: one of two outcomes in four.
    assert outcome.p_value == pytest.approx(0.5)
    assert ("b_c", ("tree", "rec"), ("tree", "lsq")) not in found
    with pytest.raises(ArgumentError, match='measure="n_binaries" has no best value'):
        results.compare("n_binaries")


def test_ranks_cover_the_datasets_on_which_all_pairs_were_measured(results):
    names, ranking = results.rank("log_loss")
    assert names == [("pairs", "lsq"), ("tree", "lsq")]
    assert ranking.mean_ranks.tolist() == [1.5, 1.5]
    assert results.rank("accuracy") is None  # only one dataset has all pairs
    assert results.rank("n_binaries") is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("accurracy", "a", PAIRS[0]), 'Did you mean "accuracy"?'),
        (("accuracy", "z", PAIRS[0]), "No trials of ('pairs', 'lsq') on 'z'. There are trials of"),
        (("accuracy", "a", ("x", "y")), "No trials of ('x', 'y')"),
    ],
)
def test_unknown_measures_datasets_and_pairs_are_errors(results, arguments, words):
    with pytest.raises(ArgumentError) as caught:
        results.values(*arguments)
    assert words in str(caught.value)


def test_a_frame_has_one_row_per_pair_and_trial(results):
    frame = results.frame()
    assert len(frame) == 18
    assert frame["accuracy"].isna().sum() == 3


def test_trials_of_one_dataset_are_ranked_without_a_test():
    pairs, ranking = make_results(ACCURACY, ["a"]).rank("log_loss")
    assert pairs == [("pairs", "lsq"), ("tree", "lsq")]
    # Better on two of three trials, with one tie.
    np.testing.assert_allclose(ranking.mean_ranks, [(1 + 1.5 + 1) / 3, (2 + 1.5 + 2) / 3])
    assert np.isnan([ranking.p_value, ranking.critical_difference]).all()


def test_cells_have_the_p_value_of_a_comparison_with_the_best(results):
    table = results.table("accuracy")
    expected = wilcoxon(ACCURACY["b_c", "pairs"], ACCURACY["b_c", "tree"], method="exact").pvalue
    assert table.cell(("pairs", "lsq"), 1).p_value == pytest.approx(expected)
    assert table.cell(("tree", "lsq"), 1).p_value is None  # the best
    assert table.cell(("tree", "lsq"), 0).p_value == pytest.approx(0.5)  # one of two in four


def test_a_table_is_a_frame_of_means_and_deviations(results):
    frame = results.table("accuracy").to_frame()
    assert frame.index.names == ["configuration", "method"]
    assert frame["a", "mean"].tolist() == [0.75, 0.5, 0.5]
    np.testing.assert_allclose(frame["b_c", "std"].loc["pairs"], np.std([1, 2, 4], ddof=1) / 8)
    assert np.isnan(frame.loc[("tree", "rec"), ("b_c", "mean")])
    assert results.table("brier_score").to_frame().empty


def test_one_of_each_is_named_in_the_singular():
    results = Results([{}], [("tree", "greedy")], ["a"])
    assert repr(results) == "<Results: 1 trial of 1 pair on 1 dataset>"
