"""Automatic differentiation: a tape of what tensors went through, walked backwards.

``y.backward()`` and ``grad(y, x)`` compute gradients; ``rule`` states the derivative of an
operator; ``Function`` is a custom forward with a custom backward.
"""
from flambeau.autograd._engine import TENSOR_ATTRIBUTES, install_tape
from flambeau.autograd._table import no_derivative, rule
from flambeau.autograd.function import Function
from flambeau.autograd.functional import backward, grad
from flambeau.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from flambeau.core import install_tensor_methods

install_tape()
install_tensor_methods(TENSOR_ATTRIBUTES)

_CHECKS = ("GradcheckError", "gradcheck", "gradgradcheck")


def __getattr__(name: str):
    """The checker and the graph's classes are imported when they are first used."""
    from importlib import import_module

    if name in _CHECKS:
        return getattr(import_module("flambeau.autograd.checks"), name)
    if name in ("checks", "forward_ad", "graph"):
        return import_module(f"flambeau.autograd.{name}")
    raise AttributeError(f"module 'flambeau.autograd' has no attribute {name!r}")


__all__ = ["Function", "GradcheckError", "backward", "enable_grad", "grad", "gradcheck",
           "gradgradcheck", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
           "no_derivative", "no_grad", "rule", "set_grad_enabled"]
