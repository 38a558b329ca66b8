"""Branches and loops on values as functions, which programs hold: ``cond`` and ``while_loop``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.jit import bridge


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
         operands: tuple[Any, ...] | list[Any] = ()) -> Any:
    """``true_fn(*operands)`` where a condition holds, else ``false_fn(*operands)``.

    In ``jit.trace`` both become part of the program, and each run takes one.

    Args:
        pred: a bool, or a tensor of one element.
        true_fn: a function of the operands that gives a tensor, or a tuple, list or dict of them.
        false_fn: another one, with results of the same shapes and dtypes.
        operands: tensors.

    Returns:
        What the function gives.

    Raises:
        RuntimeError: ``pred`` is something else, or ``operands`` no tuple or list.
        TraceError: while it is recorded: the two results have different types.

    Example:
        >>> import flambeau
        >>> from flambeau import jit
        >>> def root(x):
        ...     return flambeau.cond(x.min() < 0, lambda x: x * 0, lambda x: x.sqrt(), (x,))
        >>> program = jit.trace(root, flambeau.ones(2))
        >>> program(flambeau.tensor([4.0, 9.0])), program(flambeau.tensor([-4.0, 9.0]))
        (tensor([2., 3.]), tensor([-0., 0.]))
    """
    if bridge.is_tensor(pred) and pred.numel() != 1:
        raise RuntimeError("cond(): pred must be a bool or a tensor of one element, and has "
                           f"{pred.numel()}; write pred.all() or pred.any()")
    if not (bridge.is_tensor(pred) or isinstance(pred, bool | int | float)):
        raise RuntimeError(f"cond(): Expected pred to be bool or tensor, but got {pred}.")
    if not isinstance(operands, tuple | list):
        raise RuntimeError(f"cond(): operands must be a tuple of tensors, not "
                           f"{type(operands).__name__}; write (x,) for one")
    from flambeau.jit.scripted.flow import choose

    return choose(pred, lambda *given: (true_fn(*given),), lambda *given: (false_fn(*given),),
                  ("the result of cond()",), tuple(operands))[0]


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any],
               carried_inputs: tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
    """``carried_inputs`` after ``body_fn`` was called with them as long as ``cond_fn`` holds.

    In ``jit.trace`` both become part of the program, and each run takes as many steps as it needs.

    Args:
        cond_fn: a function of the inputs that gives a bool, or a tensor of one element.
        body_fn: a function of the inputs that gives the next ones, as a tuple.
        carried_inputs: tensors and numbers, of types that the steps do not change.

    Returns:
        The last ones.

    Raises:
        RuntimeError: ``body_fn`` gives another number of them.
        TraceError: while it is recorded: a step changes a shape or dtype.

    Example:
        >>> import flambeau
        >>> from flambeau.jit import while_loop
        >>> while_loop(lambda x: x.sum() < 9, lambda x: (x * 2,), (flambeau.ones(2),))
        (tensor([8., 8.]),)
    """
    from flambeau.jit.scripted.flow import repeat

    carried = tuple(carried_inputs)
    names = tuple(f"carried_inputs[{i}]" for i in range(len(carried)))

    def step(*state: Any) -> tuple[Any, ...]:
        found = body_fn(*state)
        found = tuple(found) if isinstance(found, list | tuple) else (found,)
        if len(found) != len(carried):
            raise RuntimeError(f"while_loop(): body_fn gives {len(found)} values for "
                               f"{len(carried)} carried_inputs; it must give one for each")
        return found

    return repeat(cond_fn, step, names, carried)
