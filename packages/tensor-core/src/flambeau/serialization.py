"""``save`` and ``load`` under the name of the module that has them in PyTorch."""
from flambeau.core import load, save

__all__ = ["load", "save"]
