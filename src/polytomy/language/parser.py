"""Tokens to syntax tree.

::

    branch      := model "{" branch+ "}" | CLASS
    model       := TWOCLASS | partition+ | "@" DESIGN [TWOCLASS]
    partition   := TWOCLASS CLASS+ "/" CLASS+ ";"

Inside braces the words ``a b m 0 / 1;`` could be read in more than one way. They mean the classes
``a`` and ``b`` followed by a partition named ``m``: going back from the slash, the integers are the
partition's, the word before them is its binary, and what stands before that are classes. A binary
is therefore never an unquoted integer.

The parser keeps its own stack, so nesting is limited by memory alone. After a problem it goes on at
the next ``;``, ``{`` or ``}`` and so finds the other problems of the text.
"""

from __future__ import annotations

from polytomy.errors import ControlError, Problem
from polytomy.language.lexer import Kind, Token, find_half_character, tokenize
from polytomy.language.nodes import Branch, Coded, Designed, Leaf, Partition, TwoWay, Word
from polytomy.language.span import Report, Source, Span

__all__ = ["MAX_CHARACTERS", "parse_text"]

# One-vs-one of 1000 classes is about 14 million characters; reading a text of this size takes
# less than 3 GB of memory, whatever the text is.
MAX_CHARACTERS = 16 * 2**20


def parse_text(source: Source) -> Branch:
    """Return the syntax tree of a control text, or raise ControlError with all its problems."""
    if len(source.text) > MAX_CHARACTERS:
        message = (
            f"the text has {len(source.text):,} characters; the limit is {MAX_CHARACTERS:,}. "
            "Write designs in short form, for example @one-vs-one {...}"
        )
        raise ControlError((Problem(source.name, 1, 1, message),))
    half = find_half_character(source.text)
    if half >= 0:
        message = "half a character stands here, so this is no text; decode the file as UTF-8"
        raise ControlError((source.problem(Span(half, half + 1), message),))
    report = Report(source)
    branches = _Parser(report).parse()
    report.raise_if_any()
    return branches[0]


class _Frame:
    """An open brace: what stands before it, and the branches read so far."""

    __slots__ = ("branches", "head", "n_problems", "opened")

    def __init__(
        self, head: Word | tuple[Partition, ...] | _Design | None, opened: Token, n_problems: int
    ) -> None:
        self.head = head
        self.opened = opened
        self.n_problems = n_problems  # found before the brace
        self.branches: list[Branch] = []


class _Design:
    """A design that waits for its brace."""

    __slots__ = ("binary", "name")

    def __init__(self, name: Token) -> None:
        self.name = name
        self.binary: Word | None = None


class _Parser:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.frames: list[_Frame] = []
        self.top: list[Branch] = []
        self.branches = self.top  # of the innermost open brace
        self.words: list[Token] = []  # not yet known to be classes, a binary or indices
        self.slashes: list[tuple[int, Token]] = []  # number of words before each
        self.partitions: list[Partition] = []  # waiting for their brace
        self.design: _Design | None = None  # waiting for its brace

    def parse(self) -> list[Branch]:
        """Return the branches at the top: just one, if there is no problem."""
        word, integer, quoted = Kind.WORD, Kind.INTEGER, Kind.QUOTED
        for token in tokenize(self.report):
            kind = token[0]
            if kind is integer or kind is word or kind is quoted:
                if self.design is None:
                    self.words.append(token)
                else:
                    self._name_design(token)
            elif kind is Kind.SLASH:
                self.slashes.append((len(self.words), token))
            elif kind is Kind.SEMICOLON:
                self._end_partition(token)
            elif kind is Kind.OPEN:
                self._open(token)
            elif kind is Kind.CLOSE:
                self._close(token)
            elif kind is Kind.DESIGN:
                self._start_design(token)
            else:
                self._end(token)
        return self.top

    def _complain(self, token: Token | Word, message: str) -> None:
        self.report.add(token.span, message)

    # -- what a token does ------------------------------------------------------------------

    def _end_partition(self, semicolon: Token) -> None:
        if self.design is not None:
            self._complain(semicolon, "a design is followed by its branches in braces, not by ';'")
            return
        words, slashes = self.words, self.slashes
        self.words, self.slashes = [], []
        if not words and not slashes:
            self._complain(semicolon, "';' ends a partition, and none stands before it; remove it")
            return
        partition = self._read_partition(words, slashes, semicolon)
        # A partition with a problem still counts as one, or its braces would be a second problem.
        self.partitions.append(partition or _BROKEN_PARTITION)

    def _read_partition(
        self, words: list[Token], slashes: list[tuple[int, Token]], semicolon: Token
    ) -> Partition | None:
        if not slashes:
            message = "a partition needs '/' between its two sides: name 0 1 / 2;"
            self._complain(words[0], message)
            return None
        if len(slashes) > 1:
            self._complain(slashes[1][1], "a partition has one '/'; end it with ';'")
            return None
        cut, slash = slashes[0]
        first = cut  # of the indices left of the slash
        while first > 0 and words[first - 1].kind is Kind.INTEGER:
            first -= 1
        if first == 0:
            message = (
                "a partition starts with the name of its binary, or with a specification in "
                'quotes, "" for the default one'
            )
            self._complain(words[0] if cut else slash, message)
            return None
        strangers = [word for word in words[cut:] if word.kind is not Kind.INTEGER]
        if first == cut > 1:
            strangers.insert(0, words[cut - 1])
        for word in strangers:
            message = (
                f"{_word(word).shown} stands where the index of a branch is expected; a partition "
                "counts the branches of its model from 0"
            )
            self._complain(word, message)
        if strangers:
            return None
        if first == cut or cut == len(words):
            side, place = ("left", slash) if first == cut else ("right", semicolon)
            message = f"nothing stands {side} of '/'; each side names a branch or more"
            self._complain(place, message)
            return None
        self._add_leaves(words[: first - 1])
        return Partition(
            _word(words[first - 1]),
            tuple([int(word.text) for word in words[first:cut]]),
            tuple([int(word.text) for word in words[cut:]]),
            words[first - 1].start,
            semicolon.end,
        )

    def _open(self, brace: Token) -> None:
        if self.slashes and self.design is None:
            # A partition without ';' still counts as one, or its words would be more problems.
            self.words = []
            self.partitions.append(_BROKEN_PARTITION)
        self._drop_slashes()
        words, self.words = self.words, []
        head: Word | tuple[Partition, ...] | _Design | None = None
        if self.design is not None:
            head, self.design = self.design, None
        elif self.partitions:
            self._refuse_between(words)
            head, self.partitions = tuple(self.partitions), []
        elif words:
            binary = words.pop()
            if binary.kind is Kind.INTEGER:
                message = (
                    f"{binary.text} cannot name a binary: a number is a class. Write a word, or a "
                    "specification in quotes"
                )
                self._complain(binary, message)
            self._add_leaves(words)
            head = _word(binary)
        else:
            message = 'a brace follows a binary, partitions or a design: name {a b}, or "" {a b}'
            self._complain(brace, message)
        self.frames.append(_Frame(head, brace, len(self.report.problems)))
        self.branches = self.frames[-1].branches

    def _close(self, brace: Token) -> None:
        self._finish_words(brace)
        if not self.frames:
            self._complain(brace, "'}' closes nothing")
            return
        frame = self.frames.pop()
        self.branches = self.frames[-1].branches if self.frames else self.top
        if not frame.branches and frame.n_problems == len(self.report.problems):
            self._complain(frame.opened, "these braces are empty; write the branches in them")
        branches = tuple(frame.branches)
        if isinstance(frame.head, Word):
            span = Span(frame.head.start, brace.end)
            self.branches.append(TwoWay(frame.head, branches, span))
        elif isinstance(frame.head, _Design):
            name = frame.head.name
            span = Span(name.start, brace.end)
            self.branches.append(Designed(name.text, frame.head.binary, branches, span))
        elif frame.head is not None:
            span = Span(frame.head[0].start, brace.end)
            self.branches.append(Coded(frame.head, branches, span))

    def _start_design(self, token: Token) -> None:
        self._finish_words(token)
        if not token.text:
            self._complain(token, "'@' is followed by the name of a design: @one-vs-one {a b c}")
        self.design = _Design(token)

    def _name_design(self, token: Token) -> None:
        assert self.design is not None
        if self.design.binary is not None or token.kind is Kind.INTEGER:
            message = (
                f"{_word(token).shown} stands between a design and its braces; only a name or a "
            )
            self._complain(token, message + "specification may")
        self.design.binary = _word(token)

    def _end(self, end: Token) -> None:
        self._finish_words(end)
        if self.frames:
            count = len(self.frames)
            more = f", and {count - 1} more inside it are not" if count > 1 else ""
            self._complain(self.frames[0].opened, f"'{{' is not closed{more}; add '}}'")
        elif len(self.top) > 1:
            message = (
                "the text ends with its first branch, yet more follows; put the branches in braces "
                "after a binary or partitions"
            )
            self.report.add(self.top[1].span, message)
        elif not self.top and not self.report.problems:
            message = "the text is empty; write a class, or a model with its branches in braces"
            self._complain(end, message)

    # -- words that turn out to be classes ----------------------------------------------------

    def _finish_words(self, following: Token) -> None:
        """Take the waiting words as classes; nothing else may wait."""
        self._drop_slashes()
        words, self.words = self.words, []
        if self.design is not None:
            self._complain(self.design.name, "a design is followed by its branches in braces")
            self.design = None
        if self.partitions:
            self._refuse_between(words)
            if not words:
                message = "partitions are followed by the branches they divide: {a b c}"
                self._complain(following, message)
            self.partitions = []
        else:
            self._add_leaves(words)

    def _add_leaves(self, words: list[Token]) -> None:
        if words and self.partitions:
            self._refuse_between(words)
        else:
            self.branches.extend([Leaf(_word(word)) for word in words])

    def _refuse_between(self, words: list[Token]) -> None:
        if words:
            message = (
                f"{_word(words[0]).shown} stands between partitions and their branches; the "
                "branches go in braces right after the last ';'"
            )
            self._complain(words[0], message)

    def _drop_slashes(self) -> None:
        for _, slash in self.slashes[:1]:
            self._complain(slash, "'/' belongs in a partition that ends with ';': name 0 / 1;")
        self.slashes = []


_BROKEN_PARTITION = Partition(Word("", True, 0, 0), (), (), 0, 0)


def _word(token: Token) -> Word:
    return Word(token.text, token.kind is Kind.QUOTED, token.start, token.end)
