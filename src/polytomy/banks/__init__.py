"""Many trained binaries evaluated as one."""

from polytomy.banks.bank import Bank, build_bank

__all__ = ["Bank", "build_bank"]
