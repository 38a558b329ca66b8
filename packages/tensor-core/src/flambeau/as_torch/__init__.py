"""PyTorch's name for this library: after this import, `import torch` gives Flambeau.

``python -m flambeau.as_torch script.py arguments`` runs a program unchanged, and so does this
import before the first one of ``torch``. See the guide "Running PyTorch programs unchanged".
"""
from __future__ import annotations

from flambeau.as_torch.finder import install

__all__ = ["install"]

install()
