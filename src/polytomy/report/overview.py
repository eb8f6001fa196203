"""The first sections: the best pairs, and the comparison with the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polytomy.report.markup import Child, Markup, tag
from polytomy.report.names import Name, badge, legend, pair_label
from polytomy.report.parts import data_table, details, heading, number_cell, section
from polytomy.report.tables import beside_table, verdict_table
from polytomy.trials import MEASURES, Beside, Cell, Results
from polytomy.trials.results import PairName
from polytomy.trials.tables import format_cell

__all__ = ["count_trials", "overview_section", "published_section"]

_CARD_MEASURES = ("uncertainty_coefficient", "log_loss", "fit_seconds", "predict_seconds")
_MOST_BADGES = 3
_TABLE_MEASURES = ("uncertainty_coefficient", "accuracy", "log_loss")


def count_trials(results: Results) -> dict[str, int]:
    """Return the number of finished trials of each dataset."""
    names = [record["dataset"] for record in results.records]
    return {dataset: names.count(dataset) for dataset in results.datasets}


def overview_section(
    results: Results, beside: Sequence[Beside], names: Mapping[PairName, Name]
) -> Markup:
    """Return the best pairs over all datasets, and on each."""
    cards = [
        *(_best_card(results, each, names) for each in _CARD_MEASURES),
        _published_card(beside),
    ]
    return section(
        "overview",
        "Overview",
        _unfinished_warning(results),
        tag("div", [card for card in cards if card], class_="cards"),
        legend(results),
        _best_table(results, names),
    )


def _unfinished_warning(results: Results) -> Markup | None:
    # Datasets without a finished trial are only in the facts.
    counts = dict.fromkeys(results.facts or (), 0) | count_trials(results)
    if len(set(counts.values())) < 2:
        return None
    most = max(counts.values())
    behind = ", ".join(
        f"{name} has {count} of {most} trials" for name, count in counts.items() if count < most
    )
    return tag("p", f"The run is not finished: {behind}.", class_="warning")


def _card(title: str, main: Child, note: Child) -> Markup:
    return tag(
        "div",
        tag("p", title, class_="title"),
        tag("p", main, class_="main"),
        tag("p", note, class_="detail"),
        class_="card",
    )


def _best_card(results: Results, measure: str, names: Mapping[PairName, Name]) -> Markup | None:
    """Return the pair with the best mean rank, or for one dataset the best mean."""
    title = MEASURES[measure].title.removesuffix(" (seconds)")
    table = results.table(measure)
    if len(table.rows) < 2:
        return None
    ranked = results.rank(measure)
    if ranked is not None:
        pairs, ranking = ranked
        ranks = ranking.mean_ranks.tolist()
        best = [pair for pair, rank in zip(pairs, ranks, strict=True) if rank == min(ranks)]
        note = f"mean rank {min(ranks):.2f} of {len(pairs)}, over {ranking.n_datasets} datasets"
    elif len(table.datasets) == 1:
        cells = {pair: row[0] for pair, row in zip(table.rows, table.cells, strict=True)}
        best = [pair for pair, cell in cells.items() if cell and cell.is_best]
        found = cells[best[0]] if best else None
        note = "" if found is None else format_cell(found)
        note += " seconds" if measure.endswith("seconds") else ""
    else:
        return None
    return _card(f"Best {_lower_first(title)}", [pair_label(names[pair]) for pair in best], note)


def _is_time(each: Beside) -> bool:
    return each.measure.endswith("seconds")


def _published_card(beside: Sequence[Beside]) -> Markup | None:
    scores = [each for each in beside if not _is_time(each)]
    if not scores:
        return None
    n_good = sum(each.verdict != "worse" for each in scores)
    note = f"{n_good} of {len(scores)} scores agree with the published ones or are better"
    return _card("Compared with the paper", f"{n_good / len(scores):.0%}", note)


def _best_table(results: Results, names: Mapping[PairName, Name]) -> Markup | None:
    """Return the size of each dataset, and its best pairs."""
    tables = [table for table in map(results.table, _TABLE_MEASURES) if table.rows]
    if not tables:
        return None
    facts, counts = results.facts or {}, count_trials(results)
    heads = [heading("dataset", is_number=False)]
    heads += [heading(text, first="largest") for text in ("samples", "features", "classes")]
    heads.append(heading("trials", first="largest"))
    heads += [
        heading(f"best {_lower_first(table.measure.title)}", first=table.measure.best)
        for table in tables
    ]
    rows = []
    for k, dataset in enumerate(results.datasets):
        own = facts.get(dataset, {})
        sizes = own.get("n_samples"), own.get("n_features"), len(own.get("classes", ())) or None
        rows.append(
            [
                tag("th", dataset, scope="row"),
                *(number_cell(size, "" if size is None else f"{size:,}") for size in sizes),
                number_cell(counts[dataset]),
                *(
                    _best_cell(
                        dict(zip(table.rows, (r[k] for r in table.cells), strict=True)), names
                    )
                    for table in tables
                ),
            ]
        )
    return data_table("Datasets and the best pairs on each", heads, rows)


def _best_cell(cells: Mapping[PairName, Cell | None], names: Mapping[PairName, Name]) -> Markup:
    best = {pair: cell for pair, cell in cells.items() if cell and cell.is_best}
    if not best:
        return number_cell(None)
    cell = next(iter(best.values()))
    if len(best) > _MOST_BADGES:
        tied = tag("span", f"{len(best)} tied", class_="winners method")
        return number_cell(cell.mean, tied, format_cell(cell))
    marks = [tag("span", badge(names[pair]), tag("span", f" {names[pair].text}", class_="unseen"),
                 title=names[pair].text) for pair in best]  # fmt: skip
    return number_cell(cell.mean, tag("span", marks, class_="winners"), format_cell(cell))


def _lower_first(title: str) -> str:
    return title[0].lower() + title[1:]


def published_section(beside: Sequence[Beside], names: Mapping[PairName, Name]) -> Markup | None:
    """Return the comparison with the published figures, measure by measure."""
    if not beside:
        return None
    worse = [each for each in beside if each.verdict == "worse" and not _is_time(each)]
    note = (
        "Our results compared with the tables in Peter Mills, “Solving for multi-class: a survey "
        "and synthesis”. A result agrees if it is within two published standard deviations. "
        "The published times were measured on another machine and do not count towards the "
        "percentage in the overview."
    )
    number = f"{len(worse)} score{'s' if len(worse) != 1 else ''}"
    return section(
        "published",
        "Compared with the paper",
        tag("p", note),
        verdict_table(beside),
        details(f"{number} worse than published", beside_table(worse, names)) if worse else None,
    )
