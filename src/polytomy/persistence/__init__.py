"""Saved models: polytomy's own files, LIBSVM's, and control files that name models."""

from polytomy.persistence.control_models import load_control
from polytomy.persistence.front import load
from polytomy.persistence.info import ModelInfo, read_info
from polytomy.persistence.libsvm_models import read_libsvm, write_libsvm
from polytomy.persistence.saving import save

__all__ = [
    "ModelInfo",
    "load",
    "load_control",
    "read_info",
    "read_libsvm",
    "save",
    "write_libsvm",
]
