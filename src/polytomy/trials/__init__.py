"""Numerical trials: compare schemes and solvers on datasets over repeated splits."""

from polytomy.trials.catalogue import CATALOGUE, KnownDataset
from polytomy.trials.dataset import Dataset
from polytomy.trials.latex_tables import table_to_latex
from polytomy.trials.measures import MEASURES, Measure
from polytomy.trials.measuring import measure_trial
from polytomy.trials.pairs import PAPER_PAIRS, Pair, pairs_from
from polytomy.trials.progress import Progress
from polytomy.trials.protocol import Protocol
from polytomy.trials.published import Beside, Published, beside_published, find_published
from polytomy.trials.results import Cell, Comparison, Results, Table
from polytomy.trials.running import run
from polytomy.trials.sources import BUNDLED, load_datasets
from polytomy.trials.statistics import Paired, Ranking, compare_pairs, rank_methods
from polytomy.trials.summary import summarise
from polytomy.trials.tables import table_to_markdown, write_tables

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
