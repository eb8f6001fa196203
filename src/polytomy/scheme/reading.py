"""Schemes from control texts and files: the meaning of a syntax tree."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polytomy.errors import (
    ArgumentError,
    CodeError,
    ControlError,
    ControlWarning,
    Problem,
    SchemeError,
    warn_caller,
)
from polytomy.inputs.arguments import did_you_mean
from polytomy.language import MAX_CHARACTERS, parse_text
from polytomy.language.lexer import Report, Source, Span, TokenKind, tokenize
from polytomy.language.parser import Branch, Coded, Designed, Leaf, OneModel, Word, WrittenPartition
from polytomy.scheme.code_checks import MAX_ENTRIES, join_names
from polytomy.scheme.codes import SHORT_FORMS
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.nodes import (
    DEFAULT_BASE,
    TWO_WAY,
    BinaryName,
    Division,
    Label,
    branch_base,
    grow_nodes,
    number_binaries,
    one_model_code,
    own_base,
    word_to_label,
)
from polytomy.scheme.scheme import Scheme

_NEIGHBOURS = 11  # libAGF's default for -k

_NOT_HERE = {
    "A": "adaptive Gaussian filtering",
    "G": "an external program",
}

_REPEAT = "."

# Checking whether a code determines the probabilities takes cubic time and quadratic memory in the
# number of branches, so codes with more branches are not checked.
_MOST_BRANCHES_CHECKED = 3000

# A character is at most four bytes of UTF-8.
_MAX_BYTES = 4 * MAX_CHARACTERS


def parse(text: str, name: str = "<text>") -> Scheme:
    """Return the scheme that a control text describes.

    Parameters
    ----------
    text : the control text, at most 16 Mi characters
    name : name of the text in messages, such as the file name

    Raises
    ------
    ControlError
        With all problems in the text and their positions.

    Warns
    -----
    ControlWarning
        For a code that does not determine the class probabilities.

    Examples
    --------
    >>> scheme = parse("FieldVsForest {CornVsWheat {corn wheat} PineVsOak {pine oak}}")
    >>> scheme.classes
    ('corn', 'wheat', 'pine', 'oak')
    >>> print(scheme)
    FieldVsForest {
      CornVsWheat {corn wheat}
      PineVsOak {pine oak}
    }
    """
    scheme, problems = parse_with_warnings(text, name)
    for problem in problems:
        warn_caller(str(problem), ControlWarning)
    return scheme


def parse_with_warnings(text: str, name: str = "<text>") -> tuple[Scheme, tuple[Problem, ...]]:
    """Return the scheme of a text, and the problems that `parse` would warn about."""
    if not isinstance(text, str):
        kind = type(text).__name__
        raise TypeError(f"a control text must be a str; got {kind}. Use pt.read to read a file.")
    source = Source(text, name)
    return resolve_tree(parse_text(source, explain_design), source)


def resolve_tree(tree: Branch, source: Source) -> tuple[Scheme, tuple[Problem, ...]]:
    """Return the scheme of a syntax tree, and the problems that `parse` would warn about."""
    return _Resolver(source).resolve(tree)


def read(path: str | os.PathLike[str]) -> Scheme:
    """Return the scheme that a control file describes; see `parse`.

    The file must be UTF-8 text. Raises ControlError if its text is invalid, and OSError if it
    cannot be opened.
    """
    return parse(read_text(path), os.fspath(path))


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a control file, or raise ControlError if it is too long or not text."""
    name = os.fspath(path)
    with Path(path).open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    return decode_text(data, name)


def decode_text(data: bytes, name: str) -> str:
    """Decode bytes to text, or raise ControlError if they are too many or not text."""
    if len(data) > _MAX_BYTES:
        message = f"the file is larger than the limit of {_MAX_BYTES:,} bytes"
        raise ControlError((Problem(name, 1, 1, message),))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8 text; save the file as UTF-8"
        raise ControlError((Problem(name, line, column, message),)) from None


@dataclass(slots=True)
class _Level:
    """State shared by the branches inside one pair of braces."""

    base: str | None  # base name of the model that the braces belong to
    specification: str | None  # repeated by "."


class _Resolver:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.report = Report(source)
        self.warnings: list[Problem] = []
        self.places: dict[Label, int] = {}  # offset of each class, in order of appearance
        self.entries = 0  # total number of entries of all codes

    def resolve(self, root: Branch) -> tuple[Scheme, tuple[Problem, ...]]:
        labels, nodes = grow_nodes((root, _Level(None, None), 0), self._divide)
        self.report.raise_if_any()
        return Scheme(labels, nodes), tuple(self.warnings)

    def _divide(self, item: tuple[Branch, _Level, int], number: int) -> Division | Label:
        branch, level, position = item
        if isinstance(branch, Leaf):
            return self._read_class(branch.label)
        return self._read_model(branch, level, position, number)

    def _read_class(self, word: Word) -> Label:
        label = word_to_label(word)
        if label in self.places:
            place = self.source.place_text(self.places[label])
            message = f"class {word.shown} is already used at {place}; use each class once"
            self.report.add(word.span, message)
        self.places.setdefault(label, word.start)
        return label

    def _read_model(
        self, branch: OneModel | Coded | Designed, level: _Level, position: int, number: int
    ) -> Division:
        inherited = DEFAULT_BASE
        if level.base is not None:
            inherited = branch_base(level.base, position, number)
        binaries: tuple[BinaryName, ...]
        if isinstance(branch, OneModel):
            binaries, code = (self._model_of(branch, level),), self._one_model(branch)
        elif isinstance(branch, Coded):
            binaries = tuple([self._binary(p.binary, level) for p in branch.partitions])
            code = self._coded(branch)
        else:
            code = self._designed(branch)
            base = inherited if level.base is not None else branch.design
            binaries = self._designed_binaries(branch, level, code.n_partitions, base)
        inner = _Level(inherited, level.specification)
        if any(not isinstance(child, Leaf) for child in branch.branches):
            inner.base = own_base(binaries, inherited)
        items = [(child, inner, i) for i, child in enumerate(branch.branches)]
        return Division(binaries, code, items)

    # -- binaries -------------------------------------------------------------------------------

    def _binary(self, word: Word, level: _Level) -> BinaryName:
        if not word.quoted:
            return BinaryName(word.text)
        if word.text != _REPEAT:
            level.specification = word.text
        elif level.specification is None:
            message = 'there is no specification before "."; write it out, or "" for the default'
            self.report.add(word.span, message)
        return BinaryName(level.specification or "", is_specification=True)

    def _model_of(self, branch: OneModel, level: _Level) -> BinaryName:
        binary, letter = self._binary(branch.binary, level), branch.code_letter
        if letter is None:
            return binary
        try:
            return BinaryName(translate_letter(letter.text, binary.text), is_specification=True)
        except ArgumentError as error:
            self.report.add(letter.span, str(error))
            return binary

    def _designed_binaries(
        self, branch: Designed, level: _Level, count: int, base: str
    ) -> tuple[BinaryName, ...]:
        if branch.binary is None:
            return number_binaries(base, count)
        binary = self._binary(branch.binary, level)
        if binary.is_specification:
            return (binary,) * count
        return number_binaries(binary.text, count)

    # -- codes ----------------------------------------------------------------------------------

    def _one_model(self, branch: OneModel) -> CodingMatrix:
        count = len(branch.branches)
        if count < 2:
            message = (
                f"{branch.binary.shown} has only one branch; add another, or write the branch "
                "on its own"
            )
            self.report.add(branch.binary.span, message)
            return TWO_WAY
        if count > 2:
            self._count_entries(count**2, branch.span)
        return one_model_code(count)

    def _designed(self, branch: Designed) -> CodingMatrix:
        reason = explain_design(branch.design)
        if not reason:
            try:
                code = SHORT_FORMS[branch.design].expand(len(branch.branches))
            except ArgumentError as error:
                reason = str(error)
        if reason:
            self.report.add(branch.span, reason)
            return TWO_WAY
        self._count_entries(code.n_rows * code.n_classes, branch.span)
        return code

    def _coded(self, branch: Coded) -> CodingMatrix:
        entries = self._entries(branch)
        if entries is None:
            return TWO_WAY
        has_two_sides = max(len(each.sides) for each in branch.partitions) == 2
        try:
            code = CodingMatrix(entries) if has_two_sides else CodingMatrix.from_sides(entries)
        except CodeError as error:
            self._translate(error, branch)
            return TWO_WAY
        if code.n_classes <= _MOST_BRANCHES_CHECKED and not code.is_determined:
            names = join_names([_shown(branch.branches[i], i) for i in code.undetermined])
            message = (
                f"the partitions do not determine how probability is shared among {names}; add "
                "partitions that separate them"
            )
            self.warnings.append(self.source.problem(branch.span, message))
        return code

    def _entries(self, branch: Coded) -> npt.NDArray[np.integer] | None:
        """Return the partitions as written, or None if an index is wrong.

        This is the coding matrix if all have two sides; otherwise the sides of all branches.
        """
        partitions, n_branches = branch.partitions, len(branch.branches)
        counts = [len(partition.sides) for partition in partitions]
        most = max(counts)
        n_rows = sum(1 if count == 2 else count for count in counts)
        self._count_entries(n_rows * n_branches, branch.span)
        entries: npt.NDArray[np.integer]
        if most == 2:
            entries = np.zeros((len(partitions), n_branches), dtype=np.int8)
        else:
            entries = np.full((len(partitions), n_branches), -1, dtype=np.int32)
        written = 0
        for number in range(most):
            rows = np.array([row for row, count in enumerate(counts) if count > number])
            sides = [partitions[row].sides[number] for row in rows.tolist()]
            sizes = [len(side) for side in sides]
            columns = np.fromiter(chain.from_iterable(sides), dtype=np.int64, count=sum(sizes))
            if columns.max() >= n_branches:
                self._report_indices(branch)
                return None
            entries[np.repeat(rows, sizes), columns] = 2 * number - 1 if most == 2 else number
            written += len(columns)
        is_listed = entries != 0 if most == 2 else entries >= 0
        if np.count_nonzero(is_listed) != written:
            self._report_indices(branch)
            return None
        return entries

    def _count_entries(self, count: int, span: Span) -> None:
        self.entries += count
        if self.entries > MAX_ENTRIES:
            # Stop here: the remaining codes could exhaust the memory.
            message = f"the codes up to here exceed the limit of {MAX_ENTRIES:,} entries"
            self.report.add(span, message)
            self.report.raise_if_any()

    def _report_indices(self, branch: Coded) -> None:
        """Report every index that is out of range or repeated in its partition."""
        last = len(branch.branches) - 1
        for partition in branch.partitions:
            seen: dict[int, Span] = {}
            for index, span in _index_places(self.source, partition):
                if index > last:
                    message = (
                        f"there is no branch {index}; the model has {last + 1} branches, counted "
                        f"from 0 to {last}"
                    )
                    self.report.add(span, message)
                elif index in seen:
                    place = self.source.place_text(seen[index].start)
                    message = f"branch {index} is already in this partition, at {place}"
                    self.report.add(span, f"{message}; list it once")
                else:
                    seen[index] = span

    def _translate(self, error: CodeError, branch: Coded) -> None:
        """Report the problems of a code at the branches and partitions they refer to."""
        for problem in error.problems:
            if problem.columns:
                names = [_shown(branch.branches[i], i) for i in problem.columns]
                span = branch.branches[problem.columns[-1]].span
                if len(names) == 1:
                    message = f"{names[0]} is in no partition; add its index to one"
                else:
                    message = f"no partition separates {join_names(names)}; add one that does"
                self.report.add(span, message)
            else:
                row = problem.rows[0] if problem.rows else 0
                self.report.add(branch.partitions[row].span, str(problem))


def explain_design(name: str) -> str:
    """Return why there is no design of this name, with the nearest one; nothing if there is."""
    if name in SHORT_FORMS:
        return ""
    known = [f"@{each}" for each in SHORT_FORMS]
    return (
        f"@{Word(name, False, 0, 0).shown} is not a design; the designs are {', '.join(known)}."
        f"{did_you_mean(f'@{name}', known)} To write a tree, nest braces"
    )


def _index_places(source: Source, partition: WrittenPartition) -> list[tuple[int, Span]]:
    """Return the indices of a partition with their positions.

    The syntax tree does not store the positions of indices, because nearly all are right. So the
    partition is read again.
    """
    offset = partition.binary.end
    piece = Report(Source(source.text[offset : partition.end]))
    return [
        (int(token.text), Span(token.start + offset, token.end + offset))
        for token in tokenize(piece)
        if token.kind is TokenKind.INTEGER
    ]


def _shown(branch: Branch, index: int) -> str:
    if isinstance(branch, Leaf):
        return f"class {branch.label.shown}"
    return f"branch {index}"


def translate_letter(letter: str, options: str) -> str:
    """Return the model specification that a letter and its options stand for.

    Raises ArgumentError if polytomy has no such model.

    Examples
    --------
    >>> translate_letter("K", "-k 5")
    'k-neighbors n_neighbors=5'
    """
    if letter in _NOT_HERE:
        raise ArgumentError(
            f"{letter} stands for {_NOT_HERE[letter]} of libAGF, which is not available; use K "
            "(nearest neighbours), or the specification of a scikit-learn classifier"
        )
    words, n_neighbours = options.split(), _NEIGHBOURS
    while words:
        option, *words = words
        if option != "-k":
            raise ArgumentError(f"K takes the option -k, the number of neighbours; got {option}")
        value, *words = words or [""]
        if not value.isdecimal() or int(value) < 1:
            raise ArgumentError(
                f"-k of K must be a positive whole number; got {value or 'nothing'}"
            )
        n_neighbours = int(value)
    return f"k-neighbors n_neighbors={n_neighbours}"


# -- texts that are not trusted ------------------------------------------------------------------

# Parts of a control text that are not read as partitions or braces.
_QUOTES_AND_COMMENTS = re.compile(r'"(?:[^"\\\n\r]|\\[^\n\r])*"|#[^\n]*')


def parse_bounded(text: str, n_partitions: int) -> Scheme:
    """Return the scheme of a text from a file that is not trusted; SchemeError if it is too large.

    Parameters
    ----------
    text : control text
    n_partitions : number of partitions that it may have
    """
    # A few packed bytes can hold a text that takes minutes to parse.
    bare = _QUOTES_AND_COMMENTS.sub("", text)
    source = Source(text, "scheme")
    if max(bare.count(";"), bare.count("{")) <= n_partitions:
        tree = parse_text(source)
        # A design of a few words can stand for millions of partitions.
        if _count_designed(tree) <= n_partitions:
            return resolve_tree(tree, source)[0]
    raise SchemeError(f"the scheme has more partitions than the {n_partitions} of the model")


def _count_designed(tree: Branch) -> float:
    """Return the number of partitions that designs stand for; infinity if it is not known."""
    waiting, count = [tree], 0.0
    while waiting:
        branch = waiting.pop()
        if isinstance(branch, Designed):
            form = SHORT_FORMS.get(branch.design)
            own = -1 if form is None else form.count_partitions(len(branch.branches))
            count += own if own >= 0 else math.inf
        if not isinstance(branch, Leaf):
            waiting.extend(branch.branches)
    return count
