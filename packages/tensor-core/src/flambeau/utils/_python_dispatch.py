"""Modes that see calls below autograd, under the name that PyTorch's programs import."""
from flambeau.library.dispatching import TorchDispatchMode

__all__ = ["TorchDispatchMode"]
