"""Tables in LVQ ASCII files, the format of LVQ_PAK (Kohonen et al. 1996).

The first line has the number of features; each other line has the features of a sample, separated
by whitespace, and its label. A file may have no labels. Lines that start with # are comments.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from polytomy.datasets.categories import CategoryIndex
from polytomy.datasets.delimited import DelimitedTable, Dialect
from polytomy.datasets.label_index import LabelIndex
from polytomy.datasets.located_errors import error_at
from polytomy.datasets.streams import Source
from polytomy.datasets.table_blocks import RawBlock
from polytomy.datasets.text_lines import line_blocks
from polytomy.errors import DataError, PythonOnly

__all__ = ["LvqTable"]

_COMMENT = b"#"
_MOST_DIGITS = 10


class LvqTable:
    """A table in an LVQ ASCII file.

    Parameters
    ----------
    path : file or stream, gzipped or not
    has_labels : whether to read the labels
    label_index : collects the labels
    """

    feature_names = None
    n_rows = None
    categories: Mapping[int, CategoryIndex] = {}

    def __init__(self, path: Source, *, has_labels: bool, label_index: LabelIndex) -> None:
        source = os.fspath(path)
        head = next(line_blocks(path, 2, comment=_COMMENT), None)
        if head is None:
            raise DataError(f"{source}: the file is empty")
        count = head.lines[0].split()[0]
        if not _is_count(count):
            what = "the first line must start with the number of features"
            raise error_at(source, what, line=head.numbers[0])
        if len(head.lines) < 2:
            raise DataError(f"{source}: the file has no data after the number of features")
        self.n_features = int(count)
        n_fields = len(head.lines[1].split())
        if n_fields not in (self.n_features, self.n_features + 1):
            what = f"expected {self.n_features} features and a label; found {n_fields} fields"
            raise error_at(source, what, line=head.numbers[1])
        is_labelled = n_fields > self.n_features
        if has_labels and not is_labelled:
            raise error_at(
                source,
                "there is no label after the features.",
                PythonOnly(" Use target=None to read the file without labels."),
                line=head.numbers[1],
            )
        self._has_labels, self.label_index = has_labels, label_index
        self._table = DelimitedTable(
            path,
            Dialect(None, header=False, comment=_COMMENT, skip=1),
            target=-1 if is_labelled else None,
            features=self.n_features,
            categories="refuse",
            label_index=label_index if has_labels else LabelIndex(),
        )

    @property
    def bytes_per_row(self) -> int:
        """Size of a sample in memory."""
        return 8 * self.n_features

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        for block in self._table.blocks(n_rows):
            yield block if self._has_labels else block._replace(labels=None)


def _is_count(word: bytes) -> bool:
    return word.isdigit() and int(word[:_MOST_DIGITS]) >= 1 and len(word) < _MOST_DIGITS
