"""Control text as a syntax tree, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeAlias

from polytomy.errors import ControlError, Problem
from polytomy.language.lexer import (
    Report,
    Source,
    Span,
    Token,
    TokenKind,
    escape_quoted,
    find_lone_surrogate,
    is_code_letter,
    tokenize,
)

_LONGEST_SHOWN = 40

# Deeper levels are not indented further; otherwise the text of a chain would grow quadratically.
_DEEPEST_INDENT = 20


class Word(NamedTuple):
    """A name, a specification or a label, as written."""

    text: str
    quoted: bool
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Position of the word."""
        return Span(self.start, self.end)

    @property
    def shown(self) -> str:
        """The word as shown in messages: with its quotes, and shortened if it is very long."""
        text = self.text
        if len(text) > _LONGEST_SHOWN:
            text = text[: _LONGEST_SHOWN - 1] + "…"
        return f'"{text}"' if self.quoted else text


class Leaf(NamedTuple):
    """A class: ``corn``."""

    label: Word

    @property
    def span(self) -> Span:
        """Position of the label."""
        return self.label.span


class WrittenPartition(NamedTuple):
    """One partition of branches into two sides or more: ``name 0 1 / 2;``."""

    binary: Word
    sides: tuple[tuple[int, ...], ...]
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Position of the partition, from its binary to its semicolon."""
        return Span(self.start, self.end)


class OneModel(NamedTuple):
    """A classifier that decides between its branches: ``name {a b}`` or ``name {a b c}``.

    `code_letter` is libAGF's letter between options and braces: ``"-k 5" K {a b}``.
    """

    binary: Word
    branches: tuple[Branch, ...]
    span: Span
    code_letter: Word | None = None


class Coded(NamedTuple):
    """Partitions that together decide between branches: ``a 0/1; b 1/2; {x y z}``."""

    partitions: tuple[WrittenPartition, ...]
    branches: tuple[Branch, ...]
    span: Span


class Designed(NamedTuple):
    """A design instead of a list of partitions: ``@one-vs-one {x y z}``.

    `binary` is the specification of all its binaries, the base of their numbered names, or None.
    """

    design: str
    binary: Word | None
    branches: tuple[Branch, ...]
    span: Span


Branch: TypeAlias = Leaf | OneModel | Coded | Designed


def print_branch(branch: Branch) -> str:
    """Return the control text of a syntax tree, without a line break at the end.

    If all branches of a model are classes, they share a line; otherwise each branch has its own.
    """
    lines: list[str] = []
    waiting: list[tuple[Branch | str, int]] = [(branch, 0)]
    while waiting:
        item, depth = waiting.pop()
        indent = "  " * min(depth, _DEEPEST_INDENT)
        if isinstance(item, str):
            lines.append(indent + item)
            continue
        if isinstance(item, Leaf):
            lines.append(indent + print_word(item.label))
            continue
        head = ""
        if isinstance(item, OneModel):
            words = [item.binary] if item.code_letter is None else [item.binary, item.code_letter]
            head = " ".join(map(print_word, words)) + " "
        elif isinstance(item, Designed):
            binary = "" if item.binary is None else print_word(item.binary) + " "
            head = f"@{item.design} {binary}"
        elif isinstance(item, Coded):
            for partition in item.partitions:
                sides = " / ".join([" ".join(map(str, side)) for side in partition.sides])
                lines.append(f"{indent}{print_word(partition.binary)} {sides};")
        leaves = [child.label for child in item.branches if isinstance(child, Leaf)]
        if len(leaves) == len(item.branches):
            lines.append(f"{indent}{head}{{{' '.join(map(print_word, leaves))}}}")
        else:
            lines.append(f"{indent}{head}{{")
            waiting.append(("}", depth))
            waiting.extend([(child, depth + 1) for child in reversed(item.branches)])
    return "\n".join(lines)


def print_word(word: Word) -> str:
    """Return a name, specification or label as it is written, with its quotes if it has any."""
    return escape_quoted(word.text) if word.quoted else word.text


# -- Convert tokens to a syntax tree --


# One-vs-one of 1000 classes takes about 14 million characters. Reading any text of this size takes
# less than 3 GB of memory.
MAX_CHARACTERS = 16 * 2**20


def parse_text(source: Source, explain_design: Callable[[str], str] = lambda name: "") -> Branch:
    """Return the syntax tree of a control text, or raise ControlError with all problems.

    Parameters
    ----------
    source : Source
    explain_design : function of the name of a design that returns what is wrong with it, or nothing
        It is only asked if the text has other problems, so that all are listed together.
    """
    if len(source.text) > MAX_CHARACTERS:
        message = (
            f"the text has {len(source.text):,} characters; the limit is {MAX_CHARACTERS:,}. "
            "Use designs in short form, such as @one-vs-one {...}"
        )
        raise ControlError((Problem(source.name, 1, 1, message),))
    surrogate = find_lone_surrogate(source.text)
    if surrogate >= 0:
        message = "a lone surrogate is not a character; decode the file as UTF-8"
        raise ControlError((source.problem(Span(surrogate, surrogate + 1), message),))
    report = Report(source)
    parser = _Parser(report)
    branches = parser.parse()
    if report.problems:
        for design in parser.designs:
            reason = explain_design(design.text)
            if reason:
                report.add(design.span, reason)
    report.raise_if_any()
    return branches[0]


@dataclass(slots=True)
class _Design:
    """A design whose brace has not been read yet."""

    name: Token
    binary: Word | None = None


@dataclass(slots=True)
class _Frame:
    """An open brace: the model before it, and the branches read so far."""

    make: Callable[[tuple[Branch, ...], Span], Branch] | None  # None after a problem
    start: int
    opened: Token
    n_problems: int  # found before the brace
    branches: list[Branch] = field(default_factory=list)


class _Parser:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.frames: list[_Frame] = []
        self.top: list[Branch] = []
        self.branches = self.top  # branches of the innermost open brace
        self.words: list[Token] = []  # not yet known to be classes, a binary or indices
        self.slashes: list[tuple[int, Token]] = []  # number of words before each
        self.partitions: list[WrittenPartition] = []  # waiting for their brace
        self.design: _Design | None = None  # waiting for its brace
        self.designs: list[Token] = []  # all of the text

    def parse(self) -> list[Branch]:
        """Return the branches at the top level: exactly one if there is no problem."""
        word, integer, quoted = TokenKind.WORD, TokenKind.INTEGER, TokenKind.QUOTED
        for token in tokenize(self.report):
            kind = token[0]
            if kind is integer or kind is word or kind is quoted:
                if self.design is None:
                    self.words.append(token)
                else:
                    self._name_design(token)
            elif kind is TokenKind.SLASH:
                self.slashes.append((len(self.words), token))
            elif kind is TokenKind.SEMICOLON:
                self._end_partition(token)
            elif kind is TokenKind.OPEN:
                self._open(token)
            elif kind is TokenKind.CLOSE:
                self._close(token)
            elif kind is TokenKind.DESIGN:
                self._start_design(token)
            else:
                self._end(token)
        return self.top

    def _complain(self, token: Token | Word, message: str) -> None:
        self.report.add(token.span, message)

    # -- tokens -----------------------------------------------------------------------------

    def _end_partition(self, semicolon: Token) -> None:
        if self.design is not None:
            message = "a design must be followed by its branches in braces, not by ';'"
            self._complain(semicolon, message)
            return
        words, slashes = self.words, self.slashes
        self.words, self.slashes = [], []
        if not words and not slashes:
            self._complain(semicolon, "there is no partition before ';'; remove it")
            return
        partition = self._read_partition(words, slashes, semicolon)
        # A partition with a problem still counts; otherwise its braces would be reported as well.
        self.partitions.append(partition or _BROKEN_PARTITION)

    def _read_partition(
        self, words: list[Token], slashes: list[tuple[int, Token]], semicolon: Token
    ) -> WrittenPartition | None:
        if not slashes:
            message = "a partition needs '/' between its sides: name 0 1 / 2;"
            self._complain(words[0], message)
            return None
        cut, slash = slashes[0]
        first = cut  # position of the first index left of the slash
        while first > 0 and words[first - 1].kind is TokenKind.INTEGER:
            first -= 1
        if first == 0:
            message = (
                "a partition starts with the name of its binary or with a specification in quotes "
                '("" for the default)'
            )
            self._complain(words[0] if cut else slash, message)
            return None
        unexpected = [word for word in words[cut:] if word.kind is not TokenKind.INTEGER]
        if first == cut > 1:
            unexpected.insert(0, words[cut - 1])
        for word in unexpected:
            message = (
                f"expected the index of a branch, counted from 0; got {_token_word(word).shown}"
            )
            self._complain(word, message)
        if unexpected:
            return None
        # Each side ends at a slash, or at the semicolon.
        ends = [*slashes, (len(words), semicolon)]
        starts = [first, *(position for position, _ in slashes)]
        for number, (start, (end, place)) in enumerate(zip(starts, ends, strict=True)):
            if start == end:
                side = _name_side(number, len(ends))
                self._complain(place, f"{side} is empty; each side needs at least one branch")
                return None
        self._add_leaves(words[: first - 1])
        sides = [
            tuple([int(word.text) for word in words[start:end]])
            for start, (end, _) in zip(starts, ends, strict=True)
        ]
        binary = words[first - 1]
        return WrittenPartition(_token_word(binary), tuple(sides), binary.start, semicolon.end)

    def _open(self, brace: Token) -> None:
        if self.slashes and self.design is None:
            # A partition without ';' still counts; otherwise its words would be reported as well.
            self.words = []
            self.partitions.append(_BROKEN_PARTITION)
        self._drop_slashes()
        words, self.words = self.words, []
        make: Callable[[tuple[Branch, ...], Span], Branch] | None = None
        start = brace.start
        if self.design is not None:
            start = self.design.name.start
            make = partial(Designed, self.design.name.text, self.design.binary)
            self.design = None
        elif self.partitions:
            self._refuse_between(words)
            start = self.partitions[0].start
            make = partial(Coded, tuple(self.partitions))
            self.partitions = []
        elif words:
            letter = _token_word(words.pop()) if self._ends_in_letter(words) else None
            binary = words.pop()
            if binary.kind is TokenKind.INTEGER:
                message = (
                    f"{binary.text} cannot name a binary, because it is a number; use a word, or a "
                    "specification in quotes"
                )
                self._complain(binary, message)
            self._add_leaves(words)
            start = binary.start
            make = partial(OneModel, _token_word(binary), code_letter=letter)
        else:
            message = "'{' must follow a binary, partitions or a design: name {a b}, or \"\" {a b}"
            self._complain(brace, message)
        self.frames.append(_Frame(make, start, brace, len(self.report.problems)))
        self.branches = self.frames[-1].branches

    def _close(self, brace: Token) -> None:
        self._finish_words(brace)
        if not self.frames:
            self._complain(brace, "'}' has no matching '{'")
            return
        frame = self.frames.pop()
        self.branches = self.frames[-1].branches if self.frames else self.top
        if not frame.branches and frame.n_problems == len(self.report.problems):
            self._complain(frame.opened, "these braces are empty; put the branches inside")
        if frame.make is not None:
            span = Span(frame.start, brace.end)
            self.branches.append(frame.make(tuple(frame.branches), span))

    @staticmethod
    def _ends_in_letter(words: list[Token]) -> bool:
        """Return whether the last word is a code letter of libAGF, after its options in quotes."""
        if (
            len(words) < 2
            or words[-1].kind is not TokenKind.WORD
            or words[-2].kind is not TokenKind.QUOTED
        ):
            return False
        return is_code_letter(words[-1].text, words[-2].text)

    def _start_design(self, token: Token) -> None:
        self._finish_words(token)
        if not token.text:
            message = "'@' must be followed by the name of a design: @one-vs-one {a b c}"
            self._complain(token, message)
        else:
            self.designs.append(token)
        self.design = _Design(token)

    def _name_design(self, token: Token) -> None:
        assert self.design is not None
        if self.design.binary is not None or token.kind is TokenKind.INTEGER:
            message = (
                f"unexpected {_token_word(token).shown} between a design and its braces; only one "
                "name or specification is allowed there"
            )
            self._complain(token, message)
        self.design.binary = _token_word(token)

    def _end(self, end: Token) -> None:
        self._finish_words(end)
        if self.frames:
            count = len(self.frames)
            message = "'{' is not closed; add '}'"
            if count > 1:
                message = f"{count} braces from here on are not closed; add '}}' for each"
            self._complain(self.frames[0].opened, message)
        elif len(self.top) > 1:
            message = (
                "unexpected text after the first branch; to combine branches, put them in braces "
                "after a binary or partitions"
            )
            self.report.add(self.top[1].span, message)
        elif not self.top and not self.report.problems:
            message = "the text is empty; write a class, or a model with its branches in braces"
            self._complain(end, message)

    # -- words that turn out to be classes ----------------------------------------------------

    def _finish_words(self, following: Token) -> None:
        """Turn the pending words into classes, and report anything else that is pending."""
        self._drop_slashes()
        words, self.words = self.words, []
        if self.design is not None:
            message = "a design must be followed by its branches in braces"
            self._complain(self.design.name, message)
            self.design = None
        if self.partitions:
            self._refuse_between(words)
            if not words:
                message = "partitions must be followed by their branches in braces: {a b c}"
                self._complain(following, message)
            self.partitions = []
        else:
            self._add_leaves(words)

    def _add_leaves(self, words: list[Token]) -> None:
        if words and self.partitions:
            self._refuse_between(words)
        else:
            self.branches.extend([Leaf(_token_word(word)) for word in words])

    def _refuse_between(self, words: list[Token]) -> None:
        if words:
            message = (
                f"unexpected {_token_word(words[0]).shown} between partitions and their branches; "
                "put the branches in braces right after the last ';'"
            )
            self._complain(words[0], message)

    def _drop_slashes(self) -> None:
        for _, slash in self.slashes[:1]:
            message = "'/' is only allowed in a partition, which ends with ';': name 0 / 1;"
            self._complain(slash, message)
        self.slashes = []


_BROKEN_PARTITION = WrittenPartition(Word("", True, 0, 0), (), 0, 0)


def _name_side(number: int, n_sides: int) -> str:
    if n_sides == 2:
        return f"the {('left', 'right')[number]} side of '/'"
    return f"side {number + 1} of {n_sides}"


def _token_word(token: Token) -> Word:
    return Word(token.text, token.kind is TokenKind.QUOTED, token.start, token.end)
