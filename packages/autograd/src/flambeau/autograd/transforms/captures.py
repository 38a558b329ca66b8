"""The function that a transform differentiates, called so that it can not write to what it
captured: others would see the written values, without the history that the transform has of them.
"""
from __future__ import annotations

from flambeau.autograd._engine import enter_function, exit_function, refuse_saved_hooks
from flambeau.autograd.transforms.stack import STATE, level_of
from flambeau.core import Tensor, _core
from flambeau.core.pytree import tree_flatten

__all__ = ["Inside", "call_guarded", "without_saved_hooks"]


_NO_HOOKS = (
    "flambeau.func.{grad, vjp, jacrev, hessian} don't support saved tensor hooks (save_on_cpu, "
    "saved_tensors_hooks): the hooks would get tensors of the transform, which must not leave it. "
    "Open their block outside, around what is not transformed, or use utils.checkpoint")


class without_saved_hooks:
    """A block of reverse mode, in which hooks on saved tensors are refused."""

    def __enter__(self) -> None:
        refuse_saved_hooks(_NO_HOOKS, False)

    def __exit__(self, *error) -> None:
        refuse_saved_hooks(None)


class Inside:
    """A block that calls the function which a transform was given.

    Args:
        transform: the level or the variables, for the text of tensors.
    """

    def __init__(self, transform) -> None:
        self.transform = transform

    def __enter__(self) -> None:
        STATE.running.append(self.transform)
        enter_function()

    def __exit__(self, *error) -> None:
        exit_function()
        STATE.running.pop()


def call_guarded(transform, func, args, kwargs=None, others=()):
    """Call ``func``; in place it may write to its arguments and to what it makes itself.

    Args:
        transform: what differentiates it, as for :class:`Inside`.
        func: what is called with ``args`` and ``kwargs``.
        args: its positional arguments.
        kwargs: its keyword arguments.
        others: arguments of the user's function that ``func`` brings along.
    """
    kwargs = kwargs or {}
    _core.enter_captures(list(_memory_of(tree_flatten((args, kwargs, others))[0])))
    try:
        with Inside(transform):
            return func(*args, **kwargs)
    finally:
        _core.exit_captures()


def _memory_of(values):
    """Tensors that have all the memory of arguments: tangents have some of their own."""
    for value in values:
        while isinstance(value, Tensor):
            yield value
            if not level_of(value):
                break
            facts = value.__dict__
            yield from _memory_of([facts.get("_tangent")])
            value = facts["_inner"]
