"""Where PyTorch has ``autocast``."""

from flambeau.autograd._autocast import (
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
