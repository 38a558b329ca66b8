"""Functions of ``flambeau`` that change nothing: see ``table.py``."""
from flambeau.core.compat.modules import fill

__all__ = list(fill(__name__))
