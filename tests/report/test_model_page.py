"""The page of one classifier."""

import re

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.naive_bayes import GaussianNB

import polytomy as pt
from polytomy import ModelReport
from polytomy.model.composition import Composition
from report.models import KINDS, make_samples
from report.pages import column, parse_page, table_of


@pytest.mark.parametrize("with_labels", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_has_a_page_whose_links_lead_somewhere(kind, with_labels):
    model, X, y = KINDS[kind]()
    report = ModelReport(model, X, y if with_labels else None)
    page = parse_page(report.html)
    keys = [each.attributes["id"] for each in page.walk() if "id" in each.attributes]
    assert len(keys) == len(set(keys))
    links = {each.attributes["href"] for each in page.find("a")}
    assert links <= {f"#{key}" for key in keys}
    assert report.summary in page.at("result").text
    assert ("confusion" in keys) == with_labels
    assert page.at("scheme").find("svg", "scheme")
    assert {f"#{key}" for key in keys if key.startswith("partition-")} <= links
    assert len(page.find("script")) == 1
    assert not re.search(r"(?:https?:)?//\w", report.html)


def test_the_first_table_compares_with_training():
    model, X, y = KINDS["one-vs-one"]()
    page = parse_page(ModelReport(model, X, y).html)
    scores = dict(
        zip(
            column(page, "Scores", "score"),
            column(page, "Scores", "promised by training"),
            strict=True,
        )
    )
    assert scores["accuracy"] == f"{model.out_of_fold_score_['accuracy']:.4g}"
    assert set(column(page, "Scores", "difference is")) <= {
        "within noise",
        "better than promised",
        "worse than promised",
    }


def test_cells_of_the_confusion_matrix_lead_to_their_samples():
    model, X, y = KINDS["tree"]()
    page = parse_page(ModelReport(model, X, y).html)
    predicted = model.predict(X)
    counts = confusion_matrix(y, predicted)
    heads, *rows = table_of(page, "Confusion matrix")
    assert [head.text for head in heads[1:]] == list("0123")
    assert [[cell.text or "0" for cell in row[1:]] for row in rows] == counts.astype(str).tolist()
    for cell in [cell for row in rows for cell in row[1:] if cell.text]:
        key = cell.find("a")[0].attributes["href"][1:]
        panel = page.at(key)
        caption = panel.find("caption")[0].text
        true, other = re.match(r"(\d) predicted as (\d)", caption).groups()
        samples = [int(name) for name in column(panel, caption, "sample")]
        assert len(samples) == min(8, int(cell.text))
        assert set(y[samples]) == {int(true)}
        assert set(predicted[samples]) == {int(other)}


def test_a_partition_lists_the_samples_on_its_wrong_side():
    model, X, y = KINDS["tree"]()
    page = parse_page(ModelReport(model, X, y).html)
    names = column(page, "Partitions, the most errors first", "partition")
    assert sorted(names) == ["a", "b", "c"]
    panel = page.at("partition-1")
    assert panel.find("h4")[0].text == "b"
    decisions = model.decisions(X)[:, 1]
    wrong = np.flatnonzero((y != 0) & ((decisions > 0) != (y > 1)))
    caption = "Samples on the wrong side, the most certain first"
    samples = [int(name) for name in column(panel, caption, "sample")]
    assert samples == wrong[np.argsort(-np.abs(decisions[wrong]))][:8].tolist()


def test_a_partition_without_samples_of_its_classes_has_no_errors():
    model, X, y = KINDS["tree"]()
    page = parse_page(ModelReport(model, X[y < 2], y[y < 2]).html)
    panel = page.at("partition-2")
    assert panel.find("h4")[0].text == "c"
    assert panel.find("dl")[0].text == "−1 side2+1 side3samples0"


def test_explanations_are_those_of_the_classifier():
    model, X, y = KINDS["one-vs-one"]()
    page = parse_page(ModelReport(model, X, y).html)
    cards = [
        each for each in page.find("details") if each.attributes.get("id", "").startswith("sample-")
    ]
    assert len(cards) >= 10
    for card in cards[::5]:
        (explained,) = model.explain(X[[int(card.attributes["id"].removeprefix("sample-"))]])
        caption = f"{explained.winner} over {explained.runner_up}"
        assert column(card, caption, "partition")[: len(explained.terms)] == [
            term.name for term in explained.terms
        ]
        assert column(card, caption, "adds")[0] == f"{explained.terms[0].adds:+.3f}".replace(
            "-", "−"
        )


@pytest.mark.parametrize("kind", ["one-vs-one", "prior", "costs"])
def test_prediction_sets_are_judged_by_level(kind, monkeypatch):
    model, X, y = KINDS[kind]()
    asked = []
    scores = Composition.scores
    with monkeypatch.context() as patch:
        patch.setattr(
            Composition, "scores", lambda *arguments: asked.append(1) or scores(*arguments)
        )
        page = parse_page(ModelReport(model, X, y).html)
    assert len(asked) == 1  # of many binaries, answers take most of the time
    sets = model.predict_set(X, [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
    coverage = pt.metrics.set_coverage(y, sets, model.classes_)
    shown = column(page.at("sets"), "By confidence level", "coverage")
    assert shown == [f"{share:.1%}" for share in coverage]
    sizes = column(page.at("sets"), "By confidence level", "mean size")
    assert sizes == [f"{size:.3g}" for size in pt.metrics.mean_set_size(sets)]


def test_the_cost_of_errors_is_shown_where_costs_are_set():
    model, X, y = KINDS["costs"]()
    page = parse_page(ModelReport(model, X, y).html)
    costs = 5 * (1 - np.eye(4))
    mean = pt.metrics.mean_cost(y, model.predict(X), costs, model.classes_, reject_cost=1.0)
    assert f"on these samples{mean:.4g}" in page.at("costs").text
    n_rejected = np.count_nonzero(model.predict(X) == -1)
    assert f"No prediction was made for {n_rejected} samples." in page.at("confusion").text
    plain, X, y = KINDS["one-vs-one"]()
    assert 'id="costs"' not in ModelReport(plain, X, y).html


def test_a_probability_is_that_of_the_class_that_is_predicted():
    model, X, y = KINDS["costs"]()
    page = parse_page(ModelReport(model, X, y).html)
    proba, predicted = model.predict_proba(X), model.predict(X)
    caption, named = "Samples on the wrong side, the most certain first", 0
    panels = [each for each in page.at("scheme").find("section", "panel") if caption in each.text]
    rows = [row for panel in panels for row in table_of(panel, caption)[1:]]
    for row in rows:
        sample = int(row[0].text)
        is_named = predicted[sample] != -1
        named += is_named
        expected = f"{proba[sample, predicted[sample]]:.3f}" if is_named else ""
        assert row[3].text == expected
    assert 0 < named < len(rows)
    assert ": no prediction, truly " in page.at("samples").text


def test_with_costs_the_scores_are_those_of_the_likeliest_class():
    model, X, y = KINDS["costs"]()
    likeliest = model.classes_[model.predict_proba(X).argmax(axis=1)]
    share = np.mean(likeliest == y)
    assert ModelReport(model, X, y).summary.startswith(
        f"The likeliest class is right for {share:.1%} of these 200 samples; "
    )


def test_one_sample_is_not_these_samples():
    model, X, y = KINDS["one-vs-one"]()
    report = ModelReport(model, X[:1], y[:1])
    assert report.summary.startswith("The classifier is right for 100.0% of 1 sample; training")
    heads, *rows = table_of(parse_page(report.html), "Scores")
    assert [head.text for head in heads][2] == "±"
    assert {row[2].text for row in rows} == {""}  # a single loss has no standard error


def test_without_labels_training_is_quoted_only_for_its_own_prior():
    model, X, _ = KINDS["one-vs-one"]()
    share = model.out_of_fold_score_["accuracy"]
    assert f", by training for {share:.1%}; there are no labels" in ModelReport(model, X).summary
    assert "by training" not in ModelReport(KINDS["prior"]()[0], X).summary


def test_a_shifted_prior_is_pointed_out_with_what_to_do():
    model, X, y = KINDS["one-vs-one"]()
    rare = np.flatnonzero((y != 0) | (np.arange(len(y)) % 10 == 0))
    page = parse_page(ModelReport(model, X[rare], y[rare]).html)
    text = page.at("frequencies").text
    assert "classifier.with_prior(classifier.estimate_prior(X))" in text
    better = model.with_prior(model.estimate_prior(X[rare]))
    losses = [
        pt.metrics.log_loss(y[rare], each.predict_proba(X[rare]), model.classes_)
        for each in (better, model)
    ]
    change = f"the log-loss becomes {losses[0]:.3f} instead of {losses[1]:.3f}"
    assert losses[0] < losses[1]
    assert f"corrects its probabilities: {change}" in text
    assert "with_prior" not in ModelReport(model, X, y).html
    unlabelled = parse_page(ModelReport(model, X[rare]).html)
    assert "The classes do not seem to be as frequent" in unlabelled.at("frequencies").text
    assert "do not seem to be those that the model" in unlabelled.at("result").text


def test_a_prior_that_would_make_the_probabilities_worse_is_not_recommended():
    model, X, y = KINDS["one-vs-one"]()
    # The samples of two classes have changed places, so the estimate is wrong.
    own = np.flatnonzero((y > 1) | (np.arange(len(y)) % 8 == 0))
    swapped = np.where(y[own] == 2, 3, np.where(y[own] == 3, 0, y[own]))
    better = model.with_prior(model.estimate_prior(X[own]))
    losses = [
        pt.metrics.log_loss(swapped, each.predict_proba(X[own]), model.classes_)
        for each in (better, model)
    ]
    assert losses[0] > losses[1]
    text = parse_page(ModelReport(model, X[own], swapped).html).at("frequencies").text
    assert f" would not help: the log-loss becomes {losses[0]:.3f} instead of" in text


def test_a_solver_without_probabilities_gets_a_smaller_page():
    model, X, y = KINDS["scores"]()
    page = parse_page(ModelReport(model, X, y).html)
    text = 'solver="voting" gives scores, not probabilities'
    assert text in page.at("reliability").text
    assert not [each for each in page.walk() if each.attributes.get("id") == "sets"]


def test_labels_and_feature_names_never_become_markup():
    model, X, y = KINDS["frame"]()
    html = ModelReport(model, X, y).html
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html
    assert "&lt;b&gt; = " in html


def test_of_many_samples_some_are_drawn_and_the_page_says_so():
    model, X, y = KINDS["one-vs-one"]()
    report = ModelReport(model, X, y, max_samples=50)
    page = parse_page(report.html)
    assert "of these 50 samples" in report.summary
    assert "The samples are drawn from 200, with a fixed seed." in page.find("header")[0].text
    assert report.html == ModelReport(model, X, y, max_samples=50).html


def test_hundreds_of_classes_fit_on_a_small_page():
    X, _ = make_samples(n_samples=600)
    y = np.arange(600) % 300
    model = pt.PolytomyClassifier(GaussianNB(), "direct", final_calibration=None).fit(X, y)
    html = ModelReport(model, X, y).html
    assert len(html.encode()) < 4e6
    assert "A matrix of 300 classes is too large to draw." in html
    assert "The scheme is too large to draw. Click a name in the table to see" in html
