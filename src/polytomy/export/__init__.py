"""Fitted classifiers as ONNX models, which run without Python (the extra ``onnx``)."""

from polytomy.export.front import to_onnx

__all__ = ["to_onnx"]
