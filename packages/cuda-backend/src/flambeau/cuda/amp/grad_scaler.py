"""Scaling of losses, by the module that older programs import it from."""
from flambeau.cuda.amp import GradScaler

__all__ = ["GradScaler"]
