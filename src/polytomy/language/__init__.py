"""Convert control text to a syntax tree and back; `polytomy.scheme` interprets it."""

from polytomy.language.parser import MAX_CHARACTERS, parse_text
from polytomy.language.printer import print_branch
from polytomy.language.span import Report, Source, Span

__all__ = ["MAX_CHARACTERS", "Report", "Source", "Span", "parse_text", "print_branch"]
