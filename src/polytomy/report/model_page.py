"""The page of one classifier: how good it is, where its errors are, and what to do about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy import metrics
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import count_things
from polytomy.inputs.rows import take_rows
from polytomy.markup import Child, Markup, tag
from polytomy.metrics.scores import HEADLINE, reliability_sums
from polytomy.model.answering import find_sets, index_class_order
from polytomy.model.decisions import PriorShift
from polytomy.model.explanations import Explanation
from polytomy.model.sets import INTERVAL
from polytomy.report import figures
from polytomy.report.judging import JudgedModel, PartitionFacts, Priors, tabulate_sides
from polytomy.report.markup import (
    Column,
    Panel,
    choices,
    column_table,
    definition_list,
    details,
    figure,
    gallery,
    note,
    section,
)
from polytomy.report.model_parts import (
    BINS,
    LEVELS,
    Samples,
    ScoreLine,
    describe_promise,
    levels_parts,
    name_samples,
    score_table,
    write_model_page,
)
from polytomy.scheme.pictures import draw_scheme

Indices = NDArray[np.intp]

_MOST_PANELS = 120  # partitions, or cells of the confusion matrix, that show their samples
_MOST_CLASS_FIGURES = 24
_MOST_ROWS = 8  # samples in a table, terms of an explanation
_MOST_CARDS = 10
_MOST_EXPLAINED = 3000  # binaries; explanations by more would take minutes
_MOST_LABELS = 20  # of a side


def write_classifier_page(samples: Samples, y: Any) -> tuple[str, str]:
    """Return the page of a classifier, and its first sentence."""
    model = JudgedModel.judge(samples, y)
    lines = {} if model.truth is None else model.compare_with_training(model.truth)
    sentence, priors = _summarise(model, lines), model.compare_priors()
    sections = {
        "result": ("Result", _result_section(model, sentence, lines, priors)),
        "scheme": ("Scheme", _scheme_section(model)),
        "confusion": ("Confusion", _confusion_section(model)),
        "reliability": ("Reliability", _reliability_section(model)),
        "sets": ("Prediction sets", _sets_section(model)),
        "costs": ("Costs", _costs_section(model)),
        "frequencies": ("Class frequencies", _frequencies_section(model, priors)),
        "samples": ("Samples", _samples_section(model)),
    }
    return write_model_page(samples, repr(model.composition)[1:-1], sections), sentence


# -- the result ------------------------------------------------------------------------------------


def _summarise(model: JudgedModel, lines: Mapping[str, ScoreLine]) -> str:
    n_samples = name_samples(model.n_samples)
    # Scores do not depend on costs, but predictions do.
    subject = "classifier" if model.composition.costs is None else "likeliest class"
    if lines:
        accuracy = lines[HEADLINE]
        text = f"The {subject} is right for {accuracy.value:.1%} of {n_samples}"
        return describe_promise(text, accuracy, f"{accuracy.promised:.1%}", lines.values())
    if not model.composition.gives_probabilities:
        return f"Without labels or probabilities, the errors on {n_samples} are not known."
    expected, final = float(model.scores.max(axis=1).mean()), model.composition.final
    text = f"By its own probabilities, the {subject} is right for {expected:.1%} of {n_samples}"
    promised = ""
    # Training promised nothing for another prior, or if no rows are left to judge by.
    if final is not None and HEADLINE in final.score and model.composition.prior is None:
        promised = f", by training for {final.score[HEADLINE]:.1%}"
    return f"{text}{promised}; there are no labels to check this."


def _result_section(
    model: JudgedModel, sentence: str, lines: Mapping[str, ScoreLine], priors: Priors | None
) -> Markup:
    warning = remark = None
    if priors is not None and priors.is_shifted:
        link = tag("a", "class frequencies", href="#frequencies")
        verb = "are not" if priors.observed is not None else "do not seem to be"
        text = ["The ", link, f" {verb} those that the model assumes."]
        warning = tag("p", text, class_="warning")
    if lines and model.composition.costs is not None:
        text = ["Scores are those of the likeliest class; predictions minimise the costs."]
        remark = note(text)
    table = score_table(list(lines.values())) if lines else None
    return section("result", "Result", tag("p", sentence, class_="result"), warning, table, remark)


# -- samples ---------------------------------------------------------------------------------------


def _samples_section(model: JudgedModel) -> Markup:
    """Return the samples to look at, with their explanations."""
    text = (
        "Unfold a sample to see its features, and what each partition adds to the lead of the "
        "likeliest class over the second."
    )
    is_explained = len(model.composition.binaries) <= _MOST_EXPLAINED
    if not is_explained:
        text = f"With more than {_MOST_EXPLAINED:,} binaries, samples are not explained."
    content: list[Child] = [note(text)]
    seen: set[int] = set()
    for title, rows in model.chosen.items():
        content.append(tag("h3", title))
        explained: Sequence[Explanation | None] = [None] * len(rows)
        if is_explained and len(rows):
            explained = model.samples.model.explain(take_rows(model.samples.X, rows))
        for row, each in zip(rows.tolist(), explained, strict=True):
            content.append(_make_card(model, row, each, None if row in seen else f"sample-{row}"))
            seen.add(row)
        if not len(rows):
            content.append(tag("p", "No sample was predicted as another class."))
    return section("samples", "Samples to look at", content)


def _make_card(
    model: JudgedModel, row: int, explained: Explanation | None, key: str | None
) -> Markup:
    letter = "P" if model.composition.gives_probabilities else "score"
    text, score = f": {model.classes[model.predicted[row]]}", model.predicted_scores[row]
    if not np.isnan(score):
        text += f" ({letter} = {score:.3g})"
    if model.truth is not None:
        is_right = model.truth[row] == model.predicted[row]
        text += ", right" if is_right else f", truly {model.classes[model.truth[row]]}"
    features = note(model.samples.describe(row))
    table = None if explained is None else _explanation_table(explained)
    return details([tag("b", f"sample {model.samples.names[row]}"), text], features, table, key=key)


def _explanation_table(explained: Explanation) -> list[Child]:
    """Return what each partition adds to the lead of the likeliest class, the most first."""
    terms, others = explained.terms[:_MOST_ROWS], explained.terms[_MOST_ROWS:]
    parts = [(term.name, term.describe(), term.adds) for term in terms]
    if others:
        more = count_things(len(others), "more partition")
        parts.append((more, "", sum(term.adds for term in others)))
    parts += [(name, "", adds) for name, adds in explained.rest.items()]
    names, answers, adds = zip(*parts, strict=True)
    longest = max(map(abs, adds)) or 1.0
    bars = [
        tag("span", style=f"width:{6 * abs(value) / longest:.2f}rem",
            class_=f"part {'right' if value >= 0 else 'wrong'}")
        for value in adds
    ]  # fmt: skip
    duel = f"{explained.winner} over {explained.runner_up}"
    lead = f"{duel}: {explained.scale} {explained.difference:.3g}, by {explained.method}"
    if explained.prediction != explained.winner:
        lead += "; the prediction is another because of the costs"
    table = column_table(
        duel,
        Column("partition", names),
        Column("answer", answers),
        Column("adds", adds, "+.3f"),
        Column("", bars),
    )
    return [tag("p", lead), table]


def _sample_table(model: JudgedModel, caption: str, rows: Indices, *columns: Column) -> Markup:
    """Return samples with their classes and probabilities; some are links to their cards."""
    chosen = np.concatenate(list(model.chosen.values()))
    names: list[Child] = [model.samples.names[row] for row in rows.tolist()]
    for k, row in enumerate(rows.tolist()):
        if row in chosen:
            names[k] = tag("a", names[k], href=f"#sample-{row}")
    scores = model.predicted_scores[rows].tolist()
    truth = [] if model.truth is None else [model.classes[k] for k in model.truth[rows]]
    return column_table(
        caption,
        Column("sample", names),
        *([Column("true", truth)] if truth else []),
        Column("predicted", [model.classes[k] for k in model.predicted[rows]]),
        Column("probability" if model.composition.gives_probabilities else "score", scores, ".3f"),
        *columns,
    )


# -- the scheme and the confusion matrix -----------------------------------------------------------


def _scheme_section(model: JudgedModel) -> Markup:
    """Return the picture of the scheme, and each partition with its errors."""
    partitions, n_judged = model.judge_partitions()
    order = np.argsort([-each.error for each in partitions], kind="stable")[:_MOST_PANELS].tolist()
    keys = {k: f"partition-{k}" for k in order}
    pictures = _scheme_pictures(model, partitions, keys)
    hint = "Click a dot or a column of the scheme, or a name in the table, to see a partition."
    if not pictures:
        hint = "The scheme is too large to draw. Click a name in the table to see a partition."
    if len(order) < len(partitions):
        hint += f" The {len(order)} with the most errors of {len(partitions):,} are listed."
    if n_judged < model.n_samples:
        hint += f" They were judged on {n_judged:,} samples, drawn at random with a fixed seed."
    shown = [partitions[k] for k in order]
    table = column_table(
        "Partitions, the most errors first",
        Column("partition", [tag("a", partitions[k].name, href=f"#{keys[k]}") for k in order]),
        Column("sides", [" / ".join(map(_list_labels, each.sides)) for each in shown]),
        Column("samples", [each.n_samples for each in shown], ","),
        Column("error" if model.truth is not None else "expected error",
               [each.error for each in shown], ".1%"),
    )  # fmt: skip
    panels = [
        Panel(keys[k], partitions[k].name, _partition_panel(model, partitions[k])) for k in order
    ]
    folded = details(count_things(len(order), "partition"), table)
    return section("scheme", "Scheme", pictures, choices(panels, hint), folded)


def _scheme_pictures(
    model: JudgedModel, partitions: Sequence[PartitionFacts], keys: Mapping[int, str]
) -> list[Markup]:
    owner = {column: k for k, each in enumerate(partitions) for column in each.columns}
    boxes = []
    for arrangement in model.composition.arrangements:
        owners = [owner[column] for column in arrangement.columns.tolist()]
        links = {row: f"#{keys[k]}" for row, k in enumerate(owners) if k in keys}
        notes = {row: f"{partitions[k].error:.1%}" for row, k in enumerate(owners)}
        drawn = draw_scheme(arrangement.scheme, links, notes)
        if drawn is not None:
            about = {"role": "region", "aria_label": "Scheme", "tabindex": "0"}
            boxes.append(tag("div", drawn, class_="scroll tall", **about))
    return boxes


def _partition_panel(model: JudgedModel, each: PartitionFacts) -> list[Child]:
    names = ["−1 side", "+1 side"] if len(each.sides) == 2 else range(1, len(each.sides) + 1)
    items: list[tuple[Child, Child]] = [
        (name, _list_labels(labels)) for name, labels in zip(names, each.sides, strict=True)
    ]
    items += [("samples", f"{each.n_samples:,}")]
    if each.reliability is None:
        return [definition_list([*items, ("expected error", f"{each.error:.1%}")])]
    if not each.n_samples:
        return [definition_list(items)]
    items += [("wrong", f"{len(each.wrong):,} ({each.error:.1%})")]
    label = f"Reliability of {each.name}"
    drawn = figure("Reliability", figures.draw_reliability(each.reliability, label, "c0"))
    listed: Child = tag("p", "No sample is on the wrong side.")
    if len(each.wrong):
        caption = "Samples on the wrong side, the most certain first"
        chances = Column("P of that side", each.chances[:_MOST_ROWS].tolist(), ".3f")
        listed = [
            tag("p", caption),
            _sample_table(model, caption, each.wrong[:_MOST_ROWS], chances),
        ]
    return [definition_list(items), tag("div", drawn, tag("div", listed), class_="beside")]


def _list_labels(labels: Sequence[Any]) -> str:
    more = len(labels) - _MOST_LABELS
    return " ".join(map(str, labels[:_MOST_LABELS])) + (f" and {more} more" if more > 0 else "")


def _confusion_section(model: JudgedModel) -> Markup | None:
    """Return the confusion matrix in the order of the tree; each cell shows its samples."""
    if model.truth is None:
        return None
    order = np.arange(len(model.classes) - 1)
    if len(model.composition.arrangements) == 1:
        order = np.argsort(model.composition.arrangements[0].positions, kind="stable")
    names = [model.classes[k] for k in order]
    place = np.append(np.argsort(order), len(order))
    rows, columns = place[model.truth], place[model.predicted]
    counts = np.zeros((len(order), len(order) + 1))
    np.add.at(counts, (rows, columns), 1)
    n_none, counts = int(counts[:, -1].sum()), counts[:, :-1]
    is_drawn = len(names) <= figures.MOST_CLASSES
    # Cells with the most errors first; those on the diagonal only if they can be clicked.
    ranks = np.where(np.eye(len(names), dtype=bool), is_drawn * np.minimum(counts, 0.5), counts)
    best = np.argsort(-ranks, axis=None, kind="stable")[:_MOST_PANELS]
    cells = [divmod(int(k), len(names)) for k in best if ranks.flat[k]]
    links = {cell: f"#cell-{cell[0]}-{cell[1]}" for cell in cells}
    panels = []
    for i, k in cells:
        own = np.flatnonzero((rows == i) & (columns == k))
        # Of errors, the most certain are the worst; of right answers, the least certain.
        own = own[np.argsort(model.margins[own] * (1 if i == k else -1), kind="stable")]
        title = f"{names[i]} predicted as {names[k]}: {count_things(len(own), 'sample')}"
        if len(own) > _MOST_ROWS:
            title += f", the {_MOST_ROWS} {'least' if i == k else 'most'} certain"
        panels.append(Panel(links[i, k][1:], title, _sample_table(model, title, own[:_MOST_ROWS])))
    hint = (
        "Correct predictions are blue and errors orange, shaded by their share of the true class, "
        "with a logarithmic scale for errors. Click a number to see its samples."
    )
    if not is_drawn:
        hint = f"A matrix of {len(names)} classes is too large to draw."
    if n_none:
        hint += f" No prediction was made for {count_things(n_none, 'sample')}."
    drawn = figures.draw_confusion(counts, names, "Confusion matrix", links) if is_drawn else None
    errors = figures.list_errors(counts, names, links)
    content = tag("div", drawn, errors, class_="beside"), choices(panels, hint)
    return section("confusion", "Confusion", content)


# -- probabilities, sets, costs, frequencies -------------------------------------------------------


def _reliability_section(model: JudgedModel) -> Markup | None:
    if not model.composition.gives_probabilities:
        text = (
            f'solver="{model.composition.solver}" gives scores, not probabilities. With '
            'with_solver("least-squares"), reliability and prediction sets are shown too.'
        )
        return section("reliability", "Reliability", note(text))
    best = model.scores.max(axis=1)
    if model.truth is None:
        counts = np.histogram(best, BINS)[0].astype(np.float64)
        titles = "probability of the predicted class", "samples"
        drawn = figures.draw_histogram(counts, BINS, titles, "How sure the classifier is")
        return section("reliability", "How sure it is", figure(None, drawn))
    is_right = (model.composition.winners(model.scores) == model.truth).astype(np.intp)
    whole = tabulate_sides(is_right, np.column_stack([1 - best, best]))
    plots = [figure("predicted class", figures.draw_reliability(whole, "Predicted class", "c0"))]
    tables = reliability_sums(model.judged(model.truth), BINS).transpose(0, 2, 1)
    gaps = np.abs(tables[:, :, 1] - tables[:, :, 2]).sum(axis=1) / model.n_samples
    for k in np.argsort(-gaps, kind="stable")[:_MOST_CLASS_FIGURES].tolist():
        caption = [model.classes[k], tag("span", f"gap {gaps[k]:.3f}", class_="unit")]
        drawn = figures.draw_reliability(
            tables[k], f"Reliability of class {model.classes[k]}", "c2"
        )
        plots.append(figure(caption, drawn))
    text = (
        "Observed frequency against predicted probability in bins: points below the dashed "
        "line are overconfident. The line leaves out bins of fewer than five probabilities. Bars "
        "show the number of probabilities in each bin on a logarithmic scale. "
        f"At most {_MOST_CLASS_FIGURES} classes, the largest mean gap first."
    )
    content = note(text), gallery(plots, "small")
    return section("reliability", "Reliability", content)


def _sets_section(model: JudgedModel) -> Markup | None:
    if not model.composition.gives_probabilities:
        return None
    try:
        order = index_class_order(model.samples.model)
        score = "lac" if order is None else INTERVAL
        sets = find_sets(model.composition, model.unshifted, LEVELS, score, order)
    except ArgumentError as error:
        return section("sets", "Prediction sets", note(str(error)))
    covered = None
    if model.truth is not None:
        covered = sets[np.arange(model.n_samples), model.truth].mean(axis=0)
    sizes = sets.sum(axis=1)
    is_one = Column("share with one class", (sizes == 1).mean(axis=0).tolist(), ".1%")
    text = "A set promises to contain the true class at least as often as its level says."
    content = levels_parts("mean size", sizes.mean(axis=0), covered, model.n_samples, is_one)
    return section("sets", "Prediction sets", note(text), content)


def _costs_section(model: JudgedModel) -> Markup | None:
    costs = model.composition.costs
    if costs is None:
        return None
    expected = float(costs.expected(model.scores).min(axis=1).mean())
    items: list[tuple[Child, Child]] = [("expected, by the probabilities", f"{expected:.4g}")]
    if model.truth is None:
        return section("costs", "Mean cost of a prediction", definition_list(items))
    # The last column is the cost of making no prediction.
    matrix = np.column_stack([costs.matrix, np.full(len(costs.matrix), costs.reject_cost or 0.0)])
    paid = matrix[model.truth, model.predicted]
    likeliest = matrix[model.truth, model.composition.winners(model.scores)]
    items += [
        ("on these samples", f"{paid.mean():.4g}"),
        ("if the likeliest class were predicted", f"{likeliest.mean():.4g}"),
    ]
    totals = np.zeros(matrix.shape)
    np.add.at(totals, (model.truth, model.predicted), paid)
    best = np.argsort(-totals, axis=None, kind="stable")[:_MOST_CARDS]
    pairs = [divmod(int(k), matrix.shape[1]) for k in best if totals.flat[k] > 0]
    table = column_table(
        "What costs most",
        Column("true", [model.classes[i] for i, _ in pairs]),
        Column("predicted", [model.classes[k] for _, k in pairs]),
        Column("cost of one", [matrix[pair] for pair in pairs], ".4g"),
        Column("of all", [totals[pair] for pair in pairs], ".4g"),
    )
    return section("costs", "Mean cost of a prediction", definition_list(items), table)


def _frequencies_section(model: JudgedModel, priors: Priors | None) -> Markup | None:
    if priors is None:
        return None
    shares = {
        "assumed by the model": priors.assumed,
        "on these samples": priors.observed,
        "estimated without labels": priors.estimated,
    }
    names = Column("class", model.classes[:-1])
    columns = [
        Column(title, values.tolist(), ".1%")
        for title, values in shares.items()
        if values is not None
    ]
    table = column_table("Class frequencies", names, *columns)
    if len(names.values) > figures.MOST_CLASSES:
        table = details(f"All {len(names.values)} classes", table)
    warning = None
    if priors.is_shifted:
        verb = "are not" if model.truth is not None else "do not seem to be"
        text: list[Child] = [f"The classes {verb} as frequent as the model assumes"]
        if priors.estimated is not None:
            code = tag("code", "classifier.with_prior(classifier.estimate_prior(X))")
            effect = "corrects its probabilities"
            if model.truth is not None:
                shifted = PriorShift(priors.estimated, priors.assumed).apply(model.scores)
                labels = model.composition.classes
                before, after = [metrics.log_loss(labels[model.truth], each, labels)
                                 for each in (model.scores, shifted)]  # fmt: skip
                effect = effect if after < before else "would not help"
                effect += f": the log-loss becomes {after:.3f} instead of {before:.3f}"
            text += [". Without training, ", code, f" {effect}"]
        warning = tag("p", text, ".", class_="warning")
    return section("frequencies", "Class frequencies", warning, table)
