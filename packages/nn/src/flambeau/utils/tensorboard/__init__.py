"""Curves, images and texts for TensorBoard, written by the package ``tensorboard``.

Install it with ``pip install flambeau-nn[tensorboard]``.
"""

from __future__ import annotations

from .file_writer import FileWriter
from .writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
