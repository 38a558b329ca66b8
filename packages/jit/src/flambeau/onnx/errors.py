"""What ``flambeau.onnx`` raises."""

from __future__ import annotations


class OnnxError(RuntimeError):
    """Something that cannot be written to, or read from, ONNX."""


class ExportError(OnnxError):
    """A program has something that ONNX has no form for."""


class ImportedError(OnnxError):
    """A model has something that cannot be read or computed."""
