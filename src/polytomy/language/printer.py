"""Convert a syntax tree to control text, in one canonical layout."""

from __future__ import annotations

from polytomy.language.lexer import escape_quoted
from polytomy.language.nodes import Branch, Coded, Designed, Leaf, OneModel, Word

__all__ = ["print_branch", "print_word"]

# Deeper levels are not indented further; otherwise the text of a chain would grow quadratically.
_DEEPEST_INDENT = 20


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
