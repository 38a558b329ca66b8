"""See ``core/compat/table.py``."""
from flambeau.core.compat.modules import fill

__all__ = list(fill(__name__))
