"""Model files: polytomy's own, LIBSVM's, and control files that name models."""

from polytomy.persistence.detection import FileKind, OpenedModel, find_kind, load, open_model
from polytomy.persistence.info import ModelInfo, read_info
from polytomy.persistence.libagf.control_files import load_control
from polytomy.persistence.libsvm.model_writer import write_libsvm
from polytomy.persistence.libsvm.models import read_libsvm
from polytomy.persistence.own.saving import save

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
