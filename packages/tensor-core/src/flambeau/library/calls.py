"""Calls of registered operators: kernels, fake kernels, gradients, batches."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from flambeau import Tensor, rooms
from flambeau.core import _core
from flambeau.library.operators import Definition


def tensors_in(values: Any) -> Iterator[Tensor]:
    """The tensors among arguments or results, those in lists included."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


#: Called with operator, arguments, keywords and result after each call: counters.
listeners: list[Callable[..., None]] = []


def call(op: Definition, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operator as a program calls it."""
    args, named = op.schema.bind(args, kwargs)
    result = _called(op, args, named)
    for listener in listeners:
        listener(op.name.replace("::", "."), args, named, result)
    return result


def _called(op: Definition, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if op.autocast and (cast := _autocast_kernel(op, (*args, *named.values()))) is not None:
        return cast(*args, **named)
    if op.autograd is not None:
        return op.autograd(*args, **named)
    given = list(tensors_in((*args, *named.values())))
    if "composite" in op.kernels and not (op.fake is not None and any(t.is_meta for t in given)):
        return op.kernels["composite"](*args, **named)
    if not any(t.requires_grad for t in given) and op.vmap is None \
            and not any(_is_batched(t) for t in given):
        return run(op, args, named)
    return _recorded(op, args, named)


def _autocast_kernel(op: Definition, values: tuple[Any, ...]) -> Callable[..., Any] | None:
    """The kernel for blocks of autocast, if a call is in one for its device."""
    device = next((t.device.type for t in tensors_in(values)), "cpu")
    if device not in op.autocast or not rooms.installed("autograd"):
        return None
    from flambeau import is_autocast_enabled

    return op.autocast[device] if is_autocast_enabled(device) else None


def _is_batched(tensor: Tensor) -> bool:
    return _core.level_of(tensor) != 0


def run(op: Definition, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run the kernel for the device of the tensors, or what modes and classes do instead."""
    given = list(tensors_in((*args, *named.values())))
    answer = _below_autograd(op, given, args, named)
    return _run_kernel(op, given, args, named) if answer is NotImplemented else answer


def _below_autograd(op: Definition, given: list[Tensor], args: tuple[Any, ...],
                    named: dict[str, Any]) -> Any:
    """The answer of a mode, or of the class of an argument; NotImplemented where there is none."""
    dispatching: Any = sys.modules.get("flambeau.library.dispatching")
    modes = dispatching.current_modes() if dispatching else ()
    classes = [t for t in given if _core.is_dispatched(t)] if _core.shows_classes_below() else []
    if not modes and not classes:
        return NotImplemented
    func = op.overload()
    given_args, given_named = op.schema.without_defaults(args, named)
    if modes:
        return dispatching.ask_mode(func, given_args, given_named, lambda: run(op, args, named))
    from flambeau.library import subclasses

    return _core.ask_below(subclasses.ask, func, given_args, given_named)


def _run_kernel(op: Definition, given: list[Tensor], args: tuple[Any, ...],
                named: dict[str, Any]) -> Any:
    if any(t.is_meta for t in given) and "meta" not in op.kernels:
        return _fake(op)(*args, **named)
    kernel = _kernel(op, given[0].device.type if given else "cpu")
    result = kernel(*args, **named)
    written = [t for a, value in zip(op.schema.arguments, (*args, *named.values()), strict=True)
               if a.is_write for t in tensors_in((value,))]
    if written and rooms.installed("autograd"):
        rooms.enter("autograd").graph.increment_version(written)
    if op.makes_new:
        _check_alias(op, given, result)
    return result


def _fake(op: Definition) -> Callable[..., Any]:
    if op.fake is None and not op.schema.returns:
        return lambda *args, **named: None
    if op.fake is None:
        raise NotImplementedError(
            f"{op.name}: There was no fake impl registered for this operator, and its arguments "
            "have no values (device 'meta'): say what its results are like with "
            f"@flambeau.library.register_fake(\"{op.name}\")")
    return op.fake


def _kernel(op: Definition, device: str) -> Callable[..., Any]:
    for key in (device, ""):
        if key in op.kernels and key not in op.disabled:
            return op.kernels[key]
    raise NotImplementedError(
        f"Could not run '{op.name}' on device {device!r}: it has kernels for "
        f"{sorted(op.kernels) or 'no device'}; register one with flambeau.library.register_kernel")


def _check_alias(op: Definition, given: list[Tensor], result: Any) -> None:
    from flambeau.core import storage_id

    if result is None or op.schema.returns and any(r.alias_info for r in op.schema.returns):
        return
    results = list(tensors_in(result if isinstance(result, (list, tuple)) else (result,)))
    seen = {storage_id(t) for t in given if t.numel()}
    for t in results:
        if t.numel() and not t.is_meta and storage_id(t) in seen:
            raise RuntimeError(
                f"{op.name} (with implementation in {_where(op)}): The output of this custom "
                "operator (1) must not also be an input to this custom operator and (2) may not "
                "alias any inputs to this custom operator or other returns. The most common way "
                "to trigger this error is if we have y = custom_op(x) and y and x are the same "
                "Tensor. Please instead return a clone of the offending output tensor(s) "
                "(e.g. return x.clone())")
        if t.numel():
            seen.add(storage_id(t))


def _where(op: Definition) -> str:
    kernel = next(iter(op.kernels.values()), None)
    return str(getattr(kernel, "__module__", "?"))


# ---- gradients and batches -----------------------------------------------------------------------
def _recorded(op: Definition, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run through a custom function, which autograd, vmap and forward mode know."""
    rooms.enter("autograd")
    from flambeau.core.pytree import tree_flatten
    from flambeau.library.functions import Shape, custom_function

    if op.function is None:
        op.function = custom_function(op)
    leaves, spec = tree_flatten((args, named))
    shape = Shape(spec)
    return shape.result(op.function.apply(shape, *leaves))
