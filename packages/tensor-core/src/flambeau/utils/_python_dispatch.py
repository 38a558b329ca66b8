"""Modes and classes of tensors below autograd, under the names that PyTorch's programs import."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import flambeau.library  # noqa: F401, whole before its modules: Note [first uses]
from flambeau import Tensor
from flambeau.core import _core
from flambeau.core.pytree import tree_flatten, tree_leaves
from flambeau.library.dispatching import TorchDispatchMode, current_modes


class TensorWithFlatten(Protocol):
    """What a class needs so that the tensors inside its tensors can be exchanged."""

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        """Names of the attributes that are tensors, and what else there is."""

    @staticmethod
    def __tensor_unflatten__(inner_tensors: Any, flatten_spec: Any, outer_size: Any,
                             outer_stride: Any) -> Any:
        """A tensor of these inner ones."""


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether ``t`` is a tensor of a class with ``__torch_dispatch__`` that can be flattened."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether tensors of a class can be taken apart and made of other inner tensors."""
    return (issubclass(t, Tensor) and t is not Tensor and _core.is_shown_below(t)
            and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__"))


def transform_subclass(t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None,
                       outer_stride: Any = None) -> Any:
    """The tensor with ``callback(name, inner)`` for each of its inner tensors."""
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, spec = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, spec, size, stride)
    if tuple(made.shape) != tuple(size):
        raise AssertionError(f"Expected return value from {type(t)}__tensor_unflatten__() to have "
                             f"shape equal to {size}, but got: {made.shape}")
    if tuple(made.stride()) != tuple(stride):
        raise AssertionError(f"Expected return value from {type(t)}__tensor_unflatten__() to have "
                             f"stride equal to {stride}, but got: {made.stride()}")
    return made


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a ``__torch_dispatch__`` returns: arguments that were written to are the results.

    Args:
        func: The operator that was called.
        args: Its positional arguments.
        kwargs: Its keywords.
        out: What was computed.

    Returns:
        ``out``, with each result that the operator's signature has for an argument replaced by
        that argument.
    """
    schema = func._schema
    written = [a for a in schema.arguments if a.is_write]
    if not written:
        return out
    given = dict(zip([a.name for a in schema.arguments], args, strict=False)) | (kwargs or {})
    if schema.name == "aten::lift_fresh" or not any(r.alias_info for r in schema.returns):
        return out
    targets = [given[a.name] for a in written if a.name in given]
    return targets[0] if len(schema.returns) == 1 else type(out)(targets)


# ---- which modes and classes are asked ----------------------------------------------------------
def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a ``TorchDispatchMode`` is entered."""
    return bool(current_modes())


any_torch_dispatch_mode_on_stack = is_in_torch_dispatch_mode


def _get_current_dispatch_mode() -> Any:
    modes = current_modes()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    return list(current_modes())


def _push_mode(mode: Any) -> None:
    mode.__enter__()


def _pop_mode(k: Any = None) -> Any:
    mode = current_modes()[-1]
    mode.__exit__(None, None, None)
    return mode


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    modes = [_pop_mode() for _ in range(len(current_modes()))]
    try:
        yield modes
    finally:
        for mode in reversed(modes):
            _push_mode(mode)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that runs each call as it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


__all__ = ["BaseTorchDispatchMode", "TensorWithFlatten", "TorchDispatchMode",
           "_disable_current_modes", "_get_current_dispatch_mode",
           "_get_current_dispatch_mode_stack", "_pop_mode_temporarily",
           "any_torch_dispatch_mode_on_stack", "is_in_torch_dispatch_mode",
           "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type",
           "return_and_correct_aliasing", "transform_subclass", "tree_flatten", "tree_leaves"]
