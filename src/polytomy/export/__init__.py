"""Fitted classifiers as ONNX models, which run without Python (the extra ``onnx``)."""

from polytomy.export.onnx_model import to_onnx

__all__ = ["to_onnx"]
