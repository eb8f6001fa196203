"""What a test registers is forgotten after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polytomy.calibration import CALIBRATORS, FINAL_CALIBRATIONS
from polytomy.designs import DATA_DESIGNS, DESIGNS
from polytomy.metrics import METRICS
from polytomy.scheme.codes import SHORT_FORMS
from polytomy.solvers import METHODS

REGISTRIES = (
    CALIBRATORS, FINAL_CALIBRATIONS, METHODS, METRICS, DESIGNS, DATA_DESIGNS, SHORT_FORMS
)  # fmt: skip


@contextmanager
def restored_registries() -> Iterator[None]:
    """Forget at the end what was registered since the beginning."""
    before = [dict(registry) for registry in REGISTRIES]
    try:
        yield
    finally:
        for registry, kept in zip(REGISTRIES, before, strict=True):
            for name in [*registry]:
                if name not in kept:
                    del registry[name]
