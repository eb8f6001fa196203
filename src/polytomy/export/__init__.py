"""Export of fitted classifiers to ONNX, to run them without Python."""

from polytomy.export.onnx_model import to_onnx

__all__ = ["to_onnx"]
