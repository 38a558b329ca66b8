"""Modes that see calls below autograd, under the name that PyTorch's programs import."""
import flambeau.library  # noqa: F401, whole before its modules: Note [first uses]
from flambeau.library.dispatching import TorchDispatchMode

__all__ = ["TorchDispatchMode"]
