"""Networks as programs of operators, with their parameters, that can be saved as data.

``export`` records what a module computes; the program runs without the module's Python, for all
sizes that are named. Names and meaning are those of PyTorch's ``torch.export``.
"""

from __future__ import annotations

from flambeau.export._files import load, save
from flambeau.export._record import export, export_for_training, unflatten
from flambeau.export.dynamic_shapes import Dim, dims
from flambeau.export.exported_program import ExportedProgram, default_decompositions
from flambeau.export.graph_signature import ExportGraphSignature

__all__ = ["Dim", "ExportGraphSignature", "ExportedProgram", "default_decompositions",
           "dims", "export",
           "export_for_training", "load", "save", "unflatten"]
