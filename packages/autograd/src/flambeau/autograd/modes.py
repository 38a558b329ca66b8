"""Modes of recording: ``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``."""
from flambeau.autograd._engine import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
           "no_grad", "set_grad_enabled"]
