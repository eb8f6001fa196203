"""Numerical trials: compare schemes and solvers on datasets over repeated splits."""

from polytomy.trials.catalogue import CATALOGUE, KnownDataset
from polytomy.trials.datasets import BUNDLED, Dataset, load_datasets
from polytomy.trials.measures import MEASURES, Measure
from polytomy.trials.measuring import measure_trial
from polytomy.trials.protocol import PAPER_PAIRS, Pair, Protocol, pairs_from
from polytomy.trials.published import Beside, Published, beside_published, find_published
from polytomy.trials.results import Cell, Comparison, Results, Table
from polytomy.trials.running import Progress, run
from polytomy.trials.statistics import Paired, Ranking, compare_pairs, rank_methods
from polytomy.trials.summary import summarise
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
