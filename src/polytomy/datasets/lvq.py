"""LVQ ASCII: a first line with the number of features, then rows of features and a label.

The format of LVQ_PAK (Kohonen et al. 1996). Lines that begin with # are comments; the labels may
be left out of all rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from polytomy.datasets.categories import CategoryIndex
from polytomy.datasets.delimited import DelimitedTable, Dialect
from polytomy.datasets.labels import LabelIndex
from polytomy.datasets.lines import line_blocks
from polytomy.datasets.places import problem_at
from polytomy.datasets.streams import Source
from polytomy.datasets.table import RawBlock
from polytomy.errors import DataError

__all__ = ["LvqTable"]

_COMMENT = b"#"


class LvqTable:
    """A table in LVQ ASCII.

    Parameters
    ----------
    path : file or stream, gzipped or not
    has_labels : whether the labels are wanted
    index : where the labels are collected
    """

    feature_names = None
    categories: Mapping[int, CategoryIndex] = {}

    def __init__(self, path: Source, *, has_labels: bool, index: LabelIndex) -> None:
        source = os.fspath(path)
        head = next(line_blocks(path, 2, comment=_COMMENT), None)
        if head is None:
            raise DataError(f"{source}: the file is empty")
        count = head.lines[0].split()[0]
        if not count.isdigit() or int(count) < 1:
            what = "the first line must begin with the number of features"
            raise problem_at(source, what, line=head.numbers[0])
        if len(head.lines) < 2:
            raise DataError(f"{source}: there is a number of features but no data")
        self.n_features = int(count)
        n_fields = len(head.lines[1].split())
        if n_fields not in (self.n_features, self.n_features + 1):
            what = f"there are {n_fields} fields for {self.n_features} features and a label"
            raise problem_at(source, what, line=head.numbers[1])
        is_labelled = n_fields > self.n_features
        if has_labels and not is_labelled:
            what = (
                "there is no label after the features. Say target=None to read them without labels"
            )
            raise problem_at(source, what, line=head.numbers[1])
        self._has_labels, self.index = has_labels, index
        self._table = DelimitedTable(
            path,
            Dialect(None, header=False, comment=_COMMENT, skip=1),
            target=-1 if is_labelled else None,
            features=self.n_features,
            categories="refuse",
            index=index if has_labels else LabelIndex(),
        )

    @property
    def bytes_of_row(self) -> int:
        """Bytes that a sample takes."""
        return 8 * self.n_features

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, so many at a time; DataError says where one is wrong."""
        for block in self._table.blocks(n_rows):
            yield block if self._has_labels else block._replace(labels=None)
