"""Numerical trials: compare schemes and solvers on datasets over repeated splits."""

from polytomy.trials.datasets import BUNDLED, CATALOGUE, Dataset, KnownDataset, load_datasets
from polytomy.trials.protocol import PAPER_PAIRS, Pair, Protocol, measure_trial, pairs_from
from polytomy.trials.results import (
    MEASURES,
    Cell,
    Comparison,
    Measure,
    Paired,
    Ranking,
    Results,
    Table,
    compare_pairs,
    rank_methods,
)
from polytomy.trials.running import Progress, run
from polytomy.trials.summary import Beside, Published, beside_published, find_published, summarise
from polytomy.trials.tables import table_to_latex, table_to_markdown, write_tables

__all__ = [
    "BUNDLED",
    "CATALOGUE",
    "MEASURES",
    "PAPER_PAIRS",
    "Beside",
    "Cell",
    "Comparison",
    "Dataset",
    "KnownDataset",
    "Measure",
    "Pair",
    "Paired",
    "Progress",
    "Protocol",
    "Published",
    "Ranking",
    "Results",
    "Table",
    "beside_published",
    "compare_pairs",
    "find_published",
    "load_datasets",
    "measure_trial",
    "pairs_from",
    "rank_methods",
    "run",
    "summarise",
    "table_to_latex",
    "table_to_markdown",
    "write_tables",
]
