"""The history of sparse tensors: what autograd hears of calls that are no operators.

Sparse tensors have parts, which are dense: indices, and values. Calls compute with the parts, so
that derivatives are those of the operators they use; two functions lead from a sparse tensor to
its values and back (``values_of``, ``filled``), and `tie` is what both are made with.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.core import _core, functions

Tensor = _core.Tensor
_op = {**functions, **_core.operators()}


def recording(tensors: Sequence[Any]) -> bool:
    """Whether autograd has to hear of a call with these arguments."""
    return _core.is_grad_enabled() and any(t.requires_grad for t in tensors)


def tie(name: str, result: Any, inputs: Sequence[Any], backward: Callable[..., tuple],
        saved: Sequence[Any] = ()) -> Any:
    """Give a result its history, where one of the inputs has one.

    Args:
        name: What the node is called.
        result: A tensor without history.
        inputs: The tensors it was made of.
        backward: From the result's gradient and one bool per input to one gradient per input.
        saved: Tensors that ``backward`` reads; writing to them before it runs is an error.

    Returns:
        ``result``.
    """
    for t in inputs:
        if _core.level_of(t):
            raise NotImplementedError(
                f"{name}: a tensor of a transform (vmap, jvp, ...) cannot be part of a sparse one; "
                "write x.to_dense() inside the function, or use grad, vjp or autograd.grad")
    differentiable = result.is_floating_point() or result.is_complex()
    if differentiable and recording(inputs):
        result._attach_backward(name, inputs, backward, tuple(saved))
    return result


#: Nodes of tensors made of values: of a gradient they take what is at their indices alone.
_SAMPLING = ("SparseCooTensorBackward0", "SparseTensorBackward0")


def is_sampled(x: Any) -> bool:
    """Whether of a sparse tensor's gradient only what is at its own indices counts.

    True where nothing is recorded, and where the tensor was made of values; a leaf is given all
    of a gradient, of the elements that it does not store too.

    Args:
        x: A sparse tensor.
    """
    if not (x.requires_grad and _core.is_grad_enabled()):
        return True
    node = x.grad_fn
    return node is not None and node.name() in _SAMPLING


def whole(name: str, result: Any, x: Any, backward: Callable[[Any], Any]) -> Any:
    """Give a linear function's result its history: the gradient is that of all elements.

    Args:
        name: What the node is called.
        result: What was computed of ``x``; its history is dropped.
        x: The sparse tensor.
        backward: From the result's gradient, of any layout, to that of ``x``.

    Returns:
        The result.
    """
    return tie(name, result.detach(), (x,), lambda g, needs: (backward(g),))


def conjugate(x: Any) -> Any:
    """``x.conj()``; real tensors are returned as they are."""
    return _op["conj"](x) if x.is_complex() else x
