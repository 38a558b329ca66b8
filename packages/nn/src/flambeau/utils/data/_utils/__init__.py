"""Where PyTorch keeps parts of the loader; programs import collating functions from here."""

from . import collate

__all__ = ["collate"]
