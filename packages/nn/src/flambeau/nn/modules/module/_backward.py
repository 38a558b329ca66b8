"""Backward hooks: the gradients where a call begins and ends.

Inputs and outputs pass through ``_Gate``, which does nothing forward. Backward, the gate of the
outputs comes first; it keeps their gradients until the gate of the inputs has those of the inputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.autograd import Function

Grads = tuple[Any, ...]


class _Gate(Function):
    """The identity; gradients go through a function of theirs."""

    @staticmethod
    def forward(through: Callable[[Grads], Grads], *tensors: Tensor) -> Any:
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.through = inputs[0]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.through(grads))


class Watch:
    """One call of a module whose gradients are watched."""

    def __init__(
        self,
        module: Any,
        before: list[Callable[..., Any]],
        after: list[Callable[..., Any]],
    ) -> None:
        self.module = module
        self.before = before
        self.after = after
        self.given: list[int] = []  # which inputs have a gradient
        self.got: list[int] = []  # which outputs have
        self.count_given = 0
        self.count_got = 0
        self.grad_output: Grads | None = None

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, behind a gate."""
        self.count_given = len(args)
        self.given = _watched(args)
        return tuple(_behind(args, self.given, self._at_inputs))

    def outputs(self, result: Any) -> Any:
        """The result, behind a gate."""
        if not isinstance(result, Tensor | tuple):
            index = self._first_tensor_index(result)
            if index is not None:
                result[index] = self.outputs(result[index])
                return result
            warnings.warn(
                "outputs that backward hooks see should be a Tensor or a tuple of Tensors; "
                f"{type(self.module).__name__} returned {type(result).__name__}, so they are not "
                "called",
                stacklevel=4,
            )
            return result
        several = result if isinstance(result, tuple) else (result,)
        self.count_got = len(several)
        self.got = _watched(several)
        passed = _behind(several, self.got, self._at_outputs)
        if not isinstance(result, tuple):
            return passed[0]
        named = hasattr(result, "_fields")
        return type(result)(*passed) if named else type(result)(passed)

    def _first_tensor_index(self, result: Any) -> Any:
        """Where in a dict or list the output lies that hooks of the older kind see: the first."""
        if self.module._is_full_backward_hook is not False:
            return None
        several = result if isinstance(result, dict) else dict(enumerate(result or ()))
        return next((i for i, value in several.items() if isinstance(value, Tensor)), None)

    def _at_outputs(self, grads: Grads) -> Grads:
        full = _spread(grads, self.got, self.count_got)
        for hook in self.before:
            full = _changed(hook(self.module, full), full, "a backward pre-hook", "grad_output")
        self.grad_output = full
        if not self.given:
            self._without_inputs(full)
        return tuple(full[i] for i in self.got)

    def _at_inputs(self, grads: Grads) -> Grads:
        if self.grad_output is None:  # the gradient came by another way than the output
            return grads
        full = _spread(grads, self.given, self.count_given)
        for hook in self.after:
            changed = hook(self.module, full, self.grad_output)
            full = _changed(changed, full, "a backward hook", "grad_input")
        self.grad_output = None
        return tuple(full[i] for i in self.given)

    def _without_inputs(self, grad_output: Grads) -> None:
        """No input has a gradient: the hooks are called as soon as the outputs have theirs."""
        nothing = (None,) * self.count_given
        for hook in self.after:
            changed = hook(self.module, nothing, grad_output)
            if any(grad is not None for grad in changed or ()):
                raise RuntimeError(
                    "a backward hook of a module none of whose inputs has a gradient returns "
                    "None: there is nothing to replace"
                )
        self.grad_output = None


def _watched(values: Sequence[Any]) -> list[int]:
    """Indices of the tensors that a gradient may come to."""
    if not flambeau.is_grad_enabled():
        return []
    return [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]


def _behind(values: Sequence[Any], indices: list[int], through: Any) -> list[Any]:
    passed = list(values)
    if indices:
        gated = _Gate.apply(through, *[values[i] for i in indices])
        for i, tensor in zip(indices, gated, strict=True):
            passed[i] = tensor
    return passed


def _spread(grads: Grads, indices: list[int], count: int) -> Grads:
    full: list[Any] = [None] * count
    for i, grad in zip(indices, grads, strict=True):
        full[i] = grad
    return tuple(full)


def _changed(changed: Any, grads: Grads, what: str, name: str) -> Grads:
    """What a hook made of the gradients."""
    if changed is None:
        return grads
    several = (changed,) if isinstance(changed, Tensor) else tuple(changed)
    if len(several) != len(grads):
        raise RuntimeError(
            f"{what} returned an invalid number of {name}: {len(several)}, where there are "
            f"{len(grads)}"
        )
    return several
