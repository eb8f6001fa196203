"""Kinds that are registered here work everywhere, and no file of `src` knows their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import polytomy as pt
from command_line import call_main
from onnx_sessions import run_model
from polytomy.calibration import register_calibrator, register_final_calibration
from polytomy.designs import Design, from_matrix, from_tree
from polytomy.errors import ArgumentError
from polytomy.metrics import JudgedSamples, Metric, mean_over_samples
from polytomy.solvers import ONE_VS_ONE, Method
from registries import restored_registries

X, Y = load_iris(return_X_y=True)


def couple_softly(code: Any, decisions: Any) -> Any:
    """Return the softmax of the votes."""
    odds = np.exp(pt.decode(code, decisions, "voting"))
    return odds / odds.sum(axis=1, keepdims=True)


def draw_softly(graph: Any, decisions: Any, code: Any) -> Any:
    return graph.add("Softmax", decisions @ code.matrix.astype(float), axis=1)


def skip_pairs(classes: Any, *, name: str = "skipping") -> Any:
    """Return the cuts of the classes, and the first against the last."""
    matrix = pt.designs.adjacent(classes).code.matrix
    ends = np.zeros((1, matrix.shape[1]), dtype=int)
    ends[0, 0], ends[0, -1] = -1, 1
    return from_matrix(np.vstack([matrix, ends]), classes, name=name)


def split_by_mean(X: Any, y: Any, *, name: str = "means") -> Any:
    """Return the chain of the classes in the order of their means."""
    labels = np.unique(y)
    order = labels[np.argsort([np.mean(np.asarray(X)[y == label]) for label in labels])].tolist()
    nested = order[-1]
    for label in order[-2::-1]:
        nested = [label, nested]
    return from_tree(nested, name=name)


def find_margins(judged: JudgedSamples) -> Any:
    """Return how much more probable the true class is than the most probable other class."""
    rows = np.arange(len(judged.truth))
    others = judged.proba.copy()
    others[rows, judged.truth] = 0.0
    return judged.proba[rows, judged.truth] - others.max(axis=1)


class BinningCalibrator:
    """The share of the +1 side in each of five bins of decision values."""

    def fit(self, decision_values: Any, target: Any, sample_weight: Any = None) -> Any:
        self.edges_ = np.quantile(decision_values, [0.2, 0.4, 0.6, 0.8])
        bins = np.searchsorted(self.edges_, decision_values)
        weight = np.ones(len(bins)) if sample_weight is None else sample_weight
        positive = np.bincount(bins, weight * target, minlength=5)
        self.shares_ = (positive + 1) / (np.bincount(bins, weight, minlength=5) + 2)
        return self

    def predict(self, decision_values: Any) -> Any:
        return self.shares_[np.searchsorted(self.edges_, decision_values)]

    @staticmethod
    def to_onnx(graph: Any, values: Any, calibrators: Any) -> Any:
        edges = np.array([each.edges_ for each in calibrators])
        steps = np.array([2 * np.diff(each.shares_) for each in calibrators])
        first = np.array([2 * each.shares_[0] - 1 for each in calibrators])
        # A step is taken by values above its edge: the sign of the difference, clipped.
        taken = graph.add("Clip", graph.add("Sign", values.with_axis(2) - edges), 0.0, 1.0)
        return graph.add("Squeeze", (taken * steps).sum(axis=2), np.array([2])) + first

    def state(self) -> Any:
        return {"edges": self.edges_, "shares": self.shares_} if hasattr(self, "edges_") else {}

    @classmethod
    def from_state(cls, state: Any) -> Any:
        made = cls()
        if "edges" in state:
            made.edges_ = state.floats("edges", (4,))
            made.shares_ = state.floats("shares", (5,), 0.0, 1.0)
        return made


class Mixture:
    """Probabilities mixed with the frequencies of the classes."""

    def __init__(self, share: float, frequencies: Any) -> None:
        self.share, self.frequencies = share, frequencies

    def apply(self, probabilities: Any, decisions: Any) -> Any:
        return (1 - self.share) * probabilities + self.share * self.frequencies

    def to_onnx(self, graph: Any, probabilities: Any, decisions: Any) -> Any:
        return probabilities * (1 - self.share) + self.share * self.frequencies

    def state(self) -> Any:
        return {"share": self.share, "frequencies": self.frequencies}

    @classmethod
    def from_state(cls, state: Any) -> Any:
        return cls(state.number("share", 0.0, 1.0), state.floats("frequencies", (None,), 0.0, 1.0))


def fit_mixture(answers: Any) -> Mixture:
    counts = np.bincount(answers.class_indices, minlength=answers.probabilities.shape[1])
    return Mixture(0.25, counts / counts.sum())


@pytest.fixture
def registered() -> Iterator[None]:
    with restored_registries():
        register_all()
        yield


def register_all() -> None:
    pt.metrics.register(
        Metric(
            "mean_margin",
            mean_over_samples(find_margins),
            needs=("probabilities",),
            larger_is_better=True,
            range=(-1.0, 1.0),
            losses=lambda judged: -find_margins(judged),
        )
    )
    method = Method("softly", couple_softly, needs=ONE_VS_ONE, to_onnx=draw_softly)
    pt.solvers.register(method)
    pt.designs.register(Design("skipping", skip_pairs, "cuts and a pair", uses_order=True))
    pt.designs.register(Design("mean-tree", split_by_mean, "a chain of means", needs_data=True))
    register_calibrator("binning", BinningCalibrator)
    register_final_calibration("mixture", fit_mixture, kind=Mixture)


@pytest.fixture
def iris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    rows = np.column_stack([X, Y])[np.random.default_rng(0).permutation(len(Y))]
    lines = [",".join([*map(str, row[:-1]), f"k{int(row[-1])}"]) for row in rows]
    Path("iris.csv").write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")
    return "iris.csv"


def check_saved(classifier: pt.PolytomyClassifier, path: Path) -> None:
    pt.save(classifier, path)
    loaded = pt.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
    assert loaded.get_params()["solver"] == classifier.solver
    assert loaded.get_params()["scheme"] == classifier.scheme


def test_a_solver_fits_predicts_and_is_saved(registered: None, tmp_path: Path) -> None:
    classifier = pt.PolytomyClassifier(SVC(), solver="softly", random_state=0).fit(X, Y)
    plain = pt.PolytomyClassifier(
        SVC(), solver="softly", final_calibration=None, random_state=0
    ).fit(X, Y)
    expected = couple_softly(plain.scheme_.code, plain.composition_.bank.decisions(X))
    np.testing.assert_allclose(plain.predict_proba(X), expected, atol=1e-12)
    check_saved(classifier, tmp_path / "softly.polytomy")


def test_a_solver_says_why_it_does_not_take_a_code(registered: None) -> None:
    classifier = pt.PolytomyClassifier(SVC(), scheme="one-vs-rest", solver="softly")
    words = r'solver="softly" needs a one-vs-one code; partition 0 has three classes'
    with pytest.raises(ArgumentError, match=words):
        classifier.fit(X, Y)


def test_a_solver_is_exported(registered: None) -> None:
    pytest.importorskip("onnx")
    classifier = pt.PolytomyClassifier(SVC(), solver="softly", random_state=0).fit(X, Y)
    found = run_model(pt.to_onnx(classifier, dtype="float64"), X)
    np.testing.assert_allclose(found["probabilities"], classifier.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("scheme", ["skipping", "@skipping {0 1 2}", "mean-tree", "@mean-tree"])
def test_a_design_fits_predicts_and_is_saved(registered: None, tmp_path: Path, scheme: str) -> None:
    classifier = pt.PolytomyClassifier(SVC(), scheme=scheme, random_state=0).fit(X, Y)
    assert classifier.score(X, Y) > 0.9
    assert classifier.scheme_.n_partitions == (3 if "skipping" in scheme else 2)
    check_saved(classifier, tmp_path / "design.polytomy")


def test_designs_are_nodes_of_control_texts_and_hierarchies(registered: None) -> None:
    scheme = pt.parse("top {a @skipping {b c d}}")
    assert [node.code.n_partitions for node in scheme.nodes] == [1, 3]
    nested = pt.designs.from_hierarchy({"x": ["a"], "y": ["b", "c", "d"]}, nodes="skipping")
    assert [node.code.n_partitions for node in nested.nodes] == [1, 3]
    # A text that others read does not use the name.
    assert "@skipping" not in scheme.compact()


def test_a_calibrator_fits_predicts_and_is_saved(registered: None, tmp_path: Path) -> None:
    options: dict[str, Any] = {"calibration": "binning", "final_calibration": None}
    classifier = pt.PolytomyClassifier(SVC(), random_state=0, **options).fit(X, Y)
    for binary in classifier.binaries_:
        expected = 2 * binary.calibrator.predict(binary.scores(X)) - 1
        np.testing.assert_allclose(binary.decisions(X), expected, atol=1e-12)
        assert len(np.unique(binary.decisions(X))) <= 5
    check_saved(classifier, tmp_path / "binning.polytomy")


def test_a_final_calibration_fits_predicts_and_is_saved(registered: None, tmp_path: Path) -> None:
    plain = pt.PolytomyClassifier(SVC(), random_state=0).fit(X, Y).composition_
    classifier = pt.PolytomyClassifier(SVC(), final_calibration="mixture", random_state=0).fit(X, Y)
    solved = plain.couple(classifier.composition_.bank.decisions(X))
    np.testing.assert_allclose(classifier.predict_proba(X), 0.75 * solved + 0.25 / 3, atol=1e-9)
    assert classifier.out_of_fold_score_["accuracy"] > 0.9
    assert classifier.predict_set(X[:3]).shape == (3, 3)
    check_saved(classifier, tmp_path / "mixture.polytomy")


@pytest.mark.parametrize(
    "options", [{"calibration": "binning"}, {"final_calibration": "mixture"}], ids=str
)
def test_calibrations_are_exported(registered: None, options: dict[str, str]) -> None:
    pytest.importorskip("onnx")
    classifier = pt.PolytomyClassifier(SVC(), random_state=0, **options).fit(X, Y)
    found = run_model(pt.to_onnx(classifier, dtype="float64"), X)
    np.testing.assert_allclose(found["probabilities"], classifier.predict_proba(X), atol=1e-9)


def test_a_search_compares_them(registered: None) -> None:
    candidates = [("one-vs-one", "softly"), "skipping", "mean-tree"]
    search = pt.SchemeSearchCV(SVC(), candidates, random_state=0).fit(X, Y)
    assert len(search.cv_results_["mean_test_score"]) == 3
    assert search.predict_proba(X).shape == (150, 3)


def test_trials_compare_them(registered: None, tmp_path: Path) -> None:
    pairs = [("one-vs-one", "softly"), "skipping", "mean-tree"]
    results = pt.trials.run("iris", schemes=pairs, repeats=1, seed=0, folder=tmp_path)
    text = pt.trials.table_to_markdown(results.table("accuracy"))
    assert all(name in text for name in ("softly", "skipping", "mean-tree"))


def test_trials_measure_a_metric_and_report_it(registered: None, tmp_path: Path) -> None:
    results = pt.trials.run(
        "iris", schemes=["one-vs-one", ("tree", "greedy")], repeats=2, folder=tmp_path, report=True
    )
    table = results.table("mean_margin")
    assert (table.measure.title, table.measure.best) == ("Mean margin", "largest")
    assert [name for name, _ in table.rows] == ["one-vs-one", "one-vs-one"]  # one is calibrated
    assert all(-1 <= cell.mean <= 1 for (cell,) in table.cells)
    assert {each.measure for each in results.compare("mean_margin")} == {"mean_margin"}
    assert r"\caption{Mean margin: mean" in pt.trials.table_to_latex(table)
    assert "## Mean margin" in (tmp_path / "tables.md").read_text()
    assert "mean_margin" in (tmp_path / "trials.csv").read_text().splitlines()[0]
    assert "Mean margin" in (tmp_path / "report.html").read_text()
    assert pt.trials.Results.read(tmp_path).table("mean_margin").cells == table.cells


def test_a_search_is_decided_by_a_metric(registered: None) -> None:
    search = pt.SchemeSearchCV(
        SVC(), ["one-vs-one", "one-vs-rest"], scoring="mean_margin", random_state=0
    ).fit(X, Y)
    means = search.cv_results_["mean_mean_margin"]
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], means)
    assert search.best_score_ == means[search.best_index_]


def test_the_command_line_evaluates_and_searches_by_a_metric(registered: None, iris: str) -> None:
    line = ["--target", "kind", "--seed", "0"]
    assert call_main(["train", iris, *line, "-o", "m.polytomy"]).code == 0
    outcome = call_main(["evaluate", "m.polytomy", iris, "--json"])
    model = pt.load("m.polytomy")
    data = pt.datasets.read_data(iris, target="kind")
    proba = model.predict_proba(data.X)
    truth = np.searchsorted(model.classes_, data.y)
    judged = JudgedSamples(truth, proba, np.ones(len(truth)), [], proba.argmax(axis=1))
    assert json.loads(outcome.out)["mean_margin"] == pytest.approx(find_margins(judged).mean())
    assert "mean margin" in call_main(["evaluate", "m.polytomy", iris]).out
    options = ["-c", "one-vs-one", "-c", "tree", "--folds", "2", "--score", "mean_margin"]
    outcome = call_main(["search", iris, *line, *options])
    assert outcome.code == 0, outcome
    assert "mean margin" in outcome.out


def test_the_command_line_takes_them(registered: None, iris: str) -> None:
    line = ["train", iris, "--target", "kind", "-o", "m.polytomy"]
    listed = call_main(["train", "--help"]).out + call_main(["design", "--help"]).out
    names = ("softly", "binning", "mixture", "skipping", "mean-tree")
    assert all(name in listed for name in names)
    assert call_main([*line, "--solver", "softly"]).code == 0
    assert call_main(["predict", "m.polytomy", iris]).out.startswith("prediction")
    assert call_main([*line, "--calibration", "binning"]).code == 0
    assert call_main([*line, "--final-calibration", "mixture"]).code == 0
    assert "mixture" in call_main(["info", "m.polytomy"]).out
    assert call_main([*line, "--scheme", "skipping"]).code == 0
    assert call_main([*line, "--scheme", "mean-tree"]).code == 0
    outcome = call_main(["design", "skipping", "--labels", "a,b,c"])
    assert outcome.out.startswith("skipping-00 0 / 1 2;"), outcome


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"already a calibration called 'isotonic'"):
        register_calibrator("isotonic", BinningCalibrator)
    with pytest.raises(ArgumentError, match=r"already a final calibration called 'auto'"):
        register_final_calibration("auto", fit_mixture)
    with pytest.raises(ArgumentError, match=r"already a solver called 'price'"):
        pt.solvers.register(Method("price", couple_softly))
    with pytest.raises(ArgumentError, match=r"already a scheme called 'random-trees'"):
        pt.designs.register(Design("random-trees", skip_pairs))
