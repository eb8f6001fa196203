"""The command line: `polytomy design`, `check`, `show`, `flatten`, …"""

from polytomy.cli.app import main

__all__ = ["main"]
