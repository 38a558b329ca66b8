"""The recorded graph: its nodes, hooks on several tensors, what happens to saved tensors."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.autograd import _engine
from flambeau.autograd._context import FunctionCtx
from flambeau.autograd._draw import draw
from flambeau.autograd._edge import GradientEdge
from flambeau.autograd._engine import (
    AccumulateGrad,
    RemovableHandle,
    pass_number,
    pop_saved_hooks,
    push_saved_hooks,
    reached_now,
    record_of,
    refuse_saved_hooks,
)
from flambeau.autograd._mutation import allow_mutation_on_saved_tensors
from flambeau.core import Tensor, _core, is_inference_mode_enabled, ops

__all__ = ["AccumulateGrad", "GradientEdge", "Node", "RemovableHandle",
           "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "draw",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu",
           "saved_tensors_hooks"]


class _NodeMeta(type):
    """Answers isinstance and issubclass for what is a node without being made by ``Node``."""

    _kinds = (_engine.Node, AccumulateGrad, FunctionCtx)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls._kinds)

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, cls._kinds)


class Node(metaclass=_NodeMeta):
    """What ``y.grad_fn`` is, the ends of the graph at leaves, and the ctx of custom functions.

    A virtual base class: it is there for ``isinstance`` and ``issubclass``.

    Example:
        >>> import flambeau
        >>> y = flambeau.ones(2, requires_grad=True).exp()
        >>> isinstance(y.grad_fn, flambeau.autograd.graph.Node)
        True
    """


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor arrives, without holding the tensor.

    Args:
        tensor: a tensor that requires grad.

    Returns:
        An edge that ``autograd.grad`` and ``backward(inputs=...)`` take in place of the tensor.

    Raises:
        RuntimeError: the tensor does not require grad.

    Example:
        >>> import flambeau
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> y = x * 2
        >>> edge = flambeau.autograd.graph.get_gradient_edge(y)
        >>> flambeau.autograd.grad((y * 3).sum(), edge)
        (tensor([3., 3.]),)
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not "
                           "require gradients: call requires_grad_() on it first")
    return GradientEdge(record_of(tensor), tensor.output_nr)


class saved_tensors_hooks:
    """Choose how tensors that a block saves for backward are kept.

    Args:
        pack_hook: from a tensor to anything; called when an operator saves it.
        unpack_hook: from what ``pack_hook`` gave to a tensor with the same values; called when
            a backward pass needs it.

    Example:
        >>> import flambeau
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> seen = []
        >>> with flambeau.autograd.graph.saved_tensors_hooks(
        ...         lambda t: seen.append(tuple(t.shape)) or t, lambda t: t):
        ...     y = (x * x).sum()
        >>> seen
        [(2,), (2,)]
    """

    _ours = False                       # Flambeau's own, which work inside transforms

    def __init__(self, pack_hook: Callable[[Tensor], Any],
                 unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        push_saved_hooks(self.pack_hook, self.unpack_hook, self._ours)
        _blocks.hooks = (*saved_tensors_hooks_around(), self)

    def __exit__(self, *exception: object) -> None:
        _blocks.hooks = saved_tensors_hooks_around()[:-1]
        pop_saved_hooks()


_blocks = threading.local()


def saved_tensors_hooks_around() -> tuple[saved_tensors_hooks, ...]:
    """The blocks of hooks that this thread is in, the outermost first."""
    found: tuple[saved_tensors_hooks, ...] = getattr(_blocks, "hooks", ())
    return found


class save_on_cpu(saved_tensors_hooks):
    """Keep what a block saves for backward in the CPU's memory, and bring it back when needed.

    Args:
        pin_memory: accepted as in PyTorch; memory is never pinned.
        device_type: accepted as in PyTorch.

    Example:
        >>> import flambeau
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> with flambeau.autograd.graph.save_on_cpu():
        ...     y = x.exp().sum()
        >>> y.backward()
        >>> x.grad
        tensor([2.7183, 2.7183])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            copy = ops.clone(tensor) if tensor.device.type == "cpu" else tensor.cpu()
            return tensor.device, copy

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks:
    """Refuse hooks on saved tensors in a block.

    Args:
        error_message: what the error says.

    Example:
        >>> from flambeau.autograd import graph
        >>> with graph.disable_saved_tensors_hooks("not in here"):
        ...     with graph.save_on_cpu():
        ...         pass
        Traceback (most recent call last):
        RuntimeError: not in here
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        refuse_saved_hooks(self.error_message)

    def __exit__(self, *exception: object) -> None:
        refuse_saved_hooks(None)


class _MultiHandle:
    """Takes several hooks away at once."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take the hooks away. Does nothing the second time."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable, *,
                             mode: str = "all") -> _MultiHandle:
    """Call a function when the gradients of several tensors are known.

    Args:
        tensors: tensors that require grad.
        fn: with ``mode="all"`` called once per backward pass with a list of their gradients,
            None for those the pass does not reach; with ``"any"`` with the first of them.
        mode: ``"all"`` or ``"any"``.

    Returns:
        A handle with ``remove()``.

    Raises:
        ValueError: another mode.

    Example:
        >>> import flambeau
        >>> a, b = (flambeau.ones(1, requires_grad=True) for _ in range(2))
        >>> handle = flambeau.autograd.graph.register_multi_grad_hook(
        ...     (a, b), lambda grads: print([g.item() for g in grads]))
        >>> (2 * a + 3 * b).backward()
        [2.0, 3.0]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    wait = _WaitForAll(tensors, fn) if mode == "all" else _WaitForAny(fn)
    return _MultiHandle([t.register_hook(wait.hook(i)) for i, t in enumerate(tensors)])


class _WaitForAll:
    """Collects the gradients of one pass; how many will come is asked when the first arrives."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable) -> None:
        self.records = [record_of(t) for t in tensors]
        self.fn = fn
        self.lock = threading.Lock()
        self.passes: dict[int, list[Any]] = {}  # arrivals to wait for, gradients

    def hook(self, index: int) -> Callable[[Tensor], None]:
        def arrived(grad: Tensor | None) -> None:
            number = pass_number()
            with self.lock:
                if number not in self.passes:
                    self.passes[number] = [reached_now(self.records), [None] * len(self.records)]
                arrivals = self.passes[number]
                arrivals[0] -= 1
                grads = arrivals[1]
                grads[index] = grad
                done = arrivals[0] <= 0
                if done:
                    del self.passes[number]
            if done:
                self.fn(grads)

        return arrived


class _WaitForAny:
    """Calls once per pass."""

    def __init__(self, fn: Callable) -> None:
        self.fn = fn
        self.lock = threading.Lock()
        self.last = -1

    def hook(self, index: int) -> Callable[[Tensor], None]:
        def arrived(grad: Tensor | None) -> None:
            if grad is None:
                return
            number = pass_number()
            with self.lock:
                first, self.last = number != self.last, number
            if first:
                self.fn(grad)

        return arrived


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count a write that happened behind the library's back (through a NumPy view, say).

    Args:
        tensor: the tensor, or several.

    Raises:
        RuntimeError: it was made in inference mode.

    Example:
        >>> import flambeau
        >>> x = flambeau.zeros(2)
        >>> flambeau.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if t.is_inference() and not is_inference_mode_enabled():
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed: its "
                "writes are not counted; make a normal tensor first, x = x.clone()")
        _core.bump_version(t)
