"""Where PyTorch has ``AdamW``, which differs from ``Adam`` in one option."""

from .adam import AdamW

__all__ = ["AdamW"]
