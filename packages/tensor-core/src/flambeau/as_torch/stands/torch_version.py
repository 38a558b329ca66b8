"""Versions that compare by their numbers: the class of ``torch.__version__``."""
from __future__ import annotations

from flambeau.as_torch.versions import VERSION, TorchVersion

__all__ = ["TorchVersion", "internal_version"]

internal_version = str(VERSION)
