"""Branches and loops as functions: `torch.cond`, `torch.while_loop`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core import Tensor


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
         operands: tuple[Any, ...] | list[Any] = ()) -> Any:
    """``true_fn(*operands)`` where a condition holds, else ``false_fn(*operands)``.

    Args:
        pred: A bool, or a tensor of one bool.
        true_fn: A function of the operands.
        false_fn: Another one.
        operands: Tensors.

    Raises:
        RuntimeError: ``pred`` is something else, or ``operands`` no tuple or list.
    """
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError("cond(): pred must be a bool or a tensor of one element, and has "
                           f"{pred.numel()}; write pred.all() or pred.any()")
    if not isinstance(pred, Tensor | bool | int | float):
        raise RuntimeError(f"cond(): Expected pred to be bool or tensor, but got {pred}.")
    if not isinstance(operands, tuple | list):
        raise RuntimeError(f"cond(): operands must be a tuple of tensors, not "
                           f"{type(operands).__name__}; write (x,) for one")
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any],
               carried_inputs: tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
    """``carried_inputs`` after ``body_fn`` was called with them as long as ``cond_fn`` holds.

    Args:
        cond_fn: A function of the inputs that gives a bool, or a tensor of one bool.
        body_fn: A function of the inputs that gives the next ones, as a tuple.
        carried_inputs: Tensors and ints.

    Raises:
        RuntimeError: ``body_fn`` gives another number of them.
    """
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        found = body_fn(*carried)
        found = tuple(found) if isinstance(found, list | tuple) else (found,)
        if len(found) != len(carried):
            raise RuntimeError(f"while_loop(): body_fn gives {len(found)} values for "
                               f"{len(carried)} carried_inputs; it must give one for each")
        carried = found
    return carried
