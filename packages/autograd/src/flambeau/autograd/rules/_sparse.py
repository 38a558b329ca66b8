"""Nodes of calls with sparse tensors, whose gradients the core's ``flambeau.sparse`` computes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.autograd._engine import NodeFunction, attach_function, raise_second_time
from flambeau.core import Tensor


class _Backward(NodeFunction):
    """Calls what `attach` was given, unless a tensor that it reads was written to."""

    def __init__(self, name: str, backward: Callable, saved: Sequence[Tensor]) -> None:
        self.name = name
        self.backward: Any = backward
        self.saved = [(t, t._version) for t in saved]

    def run(self, node, grads, needs):
        if self.backward is None:
            raise_second_time(node)
        for tensor, version in self.saved:
            if tensor._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: a tensor of shape {list(tensor.shape)} that "
                    f"{self.name} saved is at version {tensor._version}; expected version "
                    f"{version} instead. Write to a clone()")
        return tuple(self.backward(grads[0], needs))

    def release(self) -> None:
        self.backward = None
        self.saved = []


def attach(result: Tensor, name: str, inputs: Sequence[Tensor], backward: Callable,
           saved: Sequence[Tensor] = ()) -> None:
    """Hang a node on the result of a call.

    Args:
        result: A tensor without history.
        name: What the node is called.
        inputs: The tensors that gradients are wanted of.
        backward: ``backward(grad, needs)`` gives one gradient, or None, per input; ``needs`` has
            a bool for each.
        saved: What ``backward`` reads: writing to it makes it an error.
    """
    attach_function(f"{name}Backward0", _Backward(name, backward, saved), None, list(inputs),
                    [result])
