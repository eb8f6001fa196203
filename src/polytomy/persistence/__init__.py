"""Model files: polytomy's own, LIBSVM's, and control files that name models."""

from polytomy.persistence.libagf_files import load_control, write_borders
from polytomy.persistence.libsvm_models import read_libsvm, write_libsvm
from polytomy.persistence.saving import (
    FileKind,
    ModelInfo,
    OpenedModel,
    find_kind,
    load,
    open_model,
    read_info,
    save,
)

__all__ = [
    "FileKind",
    "ModelInfo",
    "OpenedModel",
    "find_kind",
    "load",
    "load_control",
    "open_model",
    "read_info",
    "read_libsvm",
    "save",
    "write_borders",
    "write_libsvm",
]
