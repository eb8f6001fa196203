"""Convert control text to a syntax tree and back; `polytomy.scheme` interprets it."""

from polytomy.language.lexer import Report, Source, Span
from polytomy.language.parser import MAX_CHARACTERS, parse_text, print_branch

__all__ = ["MAX_CHARACTERS", "Report", "Source", "Span", "parse_text", "print_branch"]
