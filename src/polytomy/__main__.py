"""`python -m polytomy` is the command line."""

from polytomy.cli import main

main()
