"""Explanations as values and text."""

import builtins

import pytest

from polytomy.errors import ArgumentError
from polytomy.model.explanations import Explanation, Explanations, Term


def explanation(n_terms=2, **changes):
    terms = tuple(
        Term(f"m{k}", (("a",), ("b", "c")), (0.25, 0.75), 1.0 / (k + 1)) for k in range(n_terms)
    )
    values = {
        "sample": 0,
        "winner": "b",
        "runner_up": "a",
        "scores": (0.7, 0.3),
        "scale": "log-odds",
        "method": "path",
        "difference": 1.4,
        "terms": terms,
        "rest": {"final calibration": -0.1},
        "prediction": "b",
    }
    return Explanation(**{**values, **changes})


def test_the_text_has_every_number():
    assert str(explanation()).splitlines() == [
        "sample 0: b (P = 0.7) over a (P = 0.3), log-odds 1.4",
        "     adds  partition",
        "   +1.000  m0  a: 0.25 / b c: 0.75",
        "   +0.500  m1  a: 0.25 / b c: 0.75",
        "   -0.100  final calibration",
    ]


def test_many_partitions_are_summed_up():
    lines = str(explanation(14)).splitlines()
    assert len(lines) == 2 + 10 + 1 + 1
    left = sum(1 / (k + 1) for k in range(10, 14))
    assert lines[12] == f"{left:+9.3f}  4 more partitions"


def test_scores_are_called_scores():
    text = str(explanation(scale="score", scores=(3, 1)))
    assert text.startswith("sample 0: b (score = 3) over a (score = 1), difference of scores 1.4")


def test_long_sides_are_shortened():
    many = Term("m", (tuple(range(9)), ("x" * 100,)), (0.5, 0.5), 0.0)
    assert many.describe().startswith("0 1 2 and 6 more: 0.50 / xxx")
    assert len(many.describe()) == 60


def test_records_have_the_numbers_that_sum_to_the_difference():
    records = Explanations([explanation(), explanation(sample=1)]).records()
    assert [record["sample"] for record in records] == [0, 0, 0, 1, 1, 1]
    assert [record["kind"] for record in records[:3]] == ["partition", "partition", "rest"]
    assert sum(record["adds"] for record in records[:3]) == pytest.approx(1.4)
    assert records[0]["answers"] == (0.25, 0.75)


def test_a_frame_has_the_records(monkeypatch):
    pytest.importorskip("pandas")
    explained = Explanations([explanation()])
    frame = explained.to_frame()
    assert frame["adds"].tolist() == [record["adds"] for record in explained.records()]
    real = builtins.__import__

    def without_pandas(name, *arguments, **options):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ArgumentError, match=r"a frame needs pandas, which is not installed"):
        explained.to_frame()


def test_explanations_are_a_sequence():
    explained = Explanations([explanation(sample=k) for k in range(3)])
    assert len(explained) == 3
    assert [each.sample for each in explained] == [0, 1, 2]
    assert explained[-1].sample == 2
    assert [each.sample for each in explained[1:]] == [1, 2]
    assert str(explained[:2]).count("sample") == 2
    assert repr(explained) == "<Explanations of 3 samples; print them to read them>"


def test_one_partition_that_is_not_shown_is_in_the_singular():
    terms = tuple(Term(f"m{k}", (("a",), ("b",)), (0.5, 0.5), 0.0) for k in range(11))
    one = Explanation(0, "b", "a", (0.7, 0.3), "log-odds", "path", 0.0, terms, {}, "b")
    assert str(one).endswith("   +0.000  1 more partition")
    assert repr(Explanations([one])) == "<Explanations of 1 sample; print them to read them>"
