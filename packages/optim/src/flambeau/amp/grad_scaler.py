"""Where PyTorch has ``GradScaler``."""

from flambeau.optim.grad_scaler import GradScaler, OptState

__all__ = ["GradScaler", "OptState"]
