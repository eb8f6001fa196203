"""The command line, `polytomy`."""

from polytomy.cli.app import main

__all__ = ["main"]
