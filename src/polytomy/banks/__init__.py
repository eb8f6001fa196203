"""Many trained binaries evaluated as one."""

from polytomy.banks.bank import Bank

__all__ = ["Bank"]
