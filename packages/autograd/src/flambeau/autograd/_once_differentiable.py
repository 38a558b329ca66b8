"""The mark on a ``backward`` that is not differentiable itself."""
from __future__ import annotations

import functools
from collections.abc import Callable

from flambeau.autograd._engine import (
    NodeFunction,
    alias_of,
    attach_function,
    is_grad_enabled,
    needs_grad,
    no_grad,
)
from flambeau.core import Tensor

__all__ = ["once_differentiable"]


class _NotTwice(NodeFunction):
    """The node on gradients of a function that is differentiable once."""

    def run(self, node, grads, needs):
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable: "
            "write its backward() in differentiable operators and remove the mark")


def once_differentiable(backward: Callable) -> Callable:
    """Mark a ``backward`` that is not differentiable itself; differentiating it raises.

    Args:
        backward: the static method ``backward(ctx, *grads)``.

    Returns:
        The method, run with recording switched off.

    Example:
        >>> from flambeau.autograd.function import once_differentiable
        >>> once_differentiable(lambda ctx, g: g * 2)(None, 3)
        6
    """
    @functools.wraps(backward)
    def run(ctx, *grads):
        records = is_grad_enabled() and any(needs_grad(g) for g in grads)
        with no_grad():
            result = backward(ctx, *grads)
        if not records:
            return result
        results = result if isinstance(result, tuple) else (result,)
        outputs = [alias_of(r) if isinstance(r, Tensor) else r for r in results]
        attach_function("NotTwice", _NotTwice(), None, list(grads),
                        [o if isinstance(o, Tensor) else None for o in outputs])
        return tuple(outputs)
    return run
