"""Saved models: polytomy's own files, LIBSVM's, and control files that name models."""

from polytomy.persistence.control_models import load_control
from polytomy.persistence.front import FileKind, OpenedModel, find_kind, load, open_model
from polytomy.persistence.info import ModelInfo, read_info
from polytomy.persistence.libsvm_models import read_libsvm
from polytomy.persistence.libsvm_writing import write_libsvm
from polytomy.persistence.saving import save

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
    "write_libsvm",
]
