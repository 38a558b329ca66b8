"""Moving and converting the tensors of a module in place, so that optimizers keep them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import flambeau
from flambeau import Tensor

from ...parameter import is_lazy
from ._changing import change
from ._tree import Tree

Self = TypeVar("Self", bound="Conversion")


class Conversion(Tree):
    """``to`` and its shorthands. Each changes the module and returns it."""

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, convert floating tensors to a dtype, or both.

        Args:
            args: A device, a floating or complex dtype, a device and a dtype, or a tensor whose
                device and dtype are taken.
            kwargs: ``device``, ``dtype``, ``non_blocking``, and ``memory_format``, the order in
                which parameters and buffers of four and five dimensions lie in memory.

        Returns:
            This module.

        Raises:
            TypeError: The dtype is neither floating nor complex, or an argument is not
                understood.

        Example:
            >>> import flambeau
            >>> from flambeau import nn
            >>> nn.Linear(2, 2).to(flambeau.float64).weight.dtype
            flambeau.float64
        """
        device, dtype = _parse(args, kwargs)
        order = kwargs.get("memory_format")
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"Module.to() converts weights to floating or complex dtypes, not to {dtype}; "
                "convert single tensors with tensor.to(dtype)"
            )

        def convert(tensor: Tensor) -> Tensor:
            if tensor.is_meta and device is not None and flambeau.device(device).type != "meta":
                raise NotImplementedError(_no_values(self, device))
            numeric = tensor.is_floating_point() or tensor.is_complex()
            moved = tensor.to(device=device or tensor.device, dtype=dtype if numeric else None)
            return moved.to(memory_format=order) if order and tensor.ndim in (4, 5) else moved

        return self._apply(convert)

    def cpu(self: Self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self: Self, device: int | None = None) -> Self:
        """Move all parameters and buffers to a CUDA device."""
        return self.to("cuda" if device is None else f"cuda:{device}")

    def float(self: Self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self._convert_floating(flambeau.float32)

    def double(self: Self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self._convert_floating(flambeau.float64)

    def half(self: Self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self._convert_floating(flambeau.float16)

    def bfloat16(self: Self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self._convert_floating(flambeau.bfloat16)

    def type(self: Self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, integer ones too, to one dtype."""
        return self._apply(lambda tensor: tensor.to(dst_type))

    def to_empty(self: Self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying the values, which are then arbitrary."""
        return self._apply(lambda tensor: flambeau.empty_like(tensor, device=device), recurse)

    def share_memory(self: Self) -> Self:
        """Move parameters and buffers to memory that processes share.

        Processes that are forked, or to which the module is sent, then train the same parameters.

        Returns:
            The module itself.
        """
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
        return self

    def _convert_floating(self: Self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the values of every parameter, gradient and buffer by ``fn`` of them.

        A class that keeps tensors elsewhere overrides it, and is asked wherever it stands.
        """
        once = fn if isinstance(fn, _Once) else _Once(fn)
        if recurse:
            for module in self.children():
                module._apply(once)
        with flambeau.no_grad():
            _apply_to_parameters(self, once)
            _apply_to_buffers(self, once)
        return self


class _Once:
    """A conversion that knows what it changed, so that tied members stay tied."""

    def __init__(self, fn: Callable[[Tensor], Tensor]) -> None:
        self.fn = fn
        # The old one, kept alive, and the new.
        self.parameters: dict[int, tuple[Tensor, Tensor]] = {}
        self.buffers: dict[int, tuple[Tensor, Tensor]] = {}

    def __call__(self, tensor: Tensor) -> Tensor:
        return self.fn(tensor)


def _no_values(module: Conversion, device: Any) -> str:
    return (
        f"{type(module).__name__} has tensors on the meta device, which have no values to move; "
        f'make memory with to_empty(device="{device}") and then set the values, with '
        "load_state_dict() or reset_parameters()"
    )


def _apply_to_parameters(module: Any, fn: _Once) -> None:
    for name, param in list(module._parameters.items()):
        if param is None:
            continue
        if id(param) not in fn.parameters:
            fn.parameters[id(param)] = (param, _converted(param, fn))
        made = fn.parameters[id(param)][1]
        if made is not param:
            module._parameters[name] = made


def _converted(param: Any, fn: _Once) -> Any:
    """The parameter with new values, or one instead of it."""
    if is_lazy(param):
        param.convert_(fn)
        return param
    grad = param.grad
    return change(param, fn(param.detach()), None if grad is None else fn(grad.detach()))


def _apply_to_buffers(module: Any, fn: _Once) -> None:
    buffers = module._buffers
    for name, buffer in list(buffers.items()):
        if buffer is None:
            continue
        if is_lazy(buffer):
            buffer.convert_(fn)
            continue
        if id(buffer) not in fn.buffers:
            fn.buffers[id(buffer)] = (buffer, fn(buffer))
        buffers[name] = fn.buffers[id(buffer)][1]


def _parse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Device and dtype, either of which may be ``None``."""
    if "copy" in kwargs:
        raise RuntimeError(
            "Module.to() changes the module itself and has no argument copy; copy "
            "it first, as in copy.deepcopy(module).to(...)"
        )
    known = {"device", "dtype", "tensor", "non_blocking", "memory_format"}
    unknown = sorted(kwargs.keys() - known)
    if unknown:
        raise TypeError(f"Module.to() has no argument {unknown[0]!r}; it has {sorted(known)}")
    given = {**_by_name(args), **kwargs}
    tensor = given.get("tensor")
    if tensor is not None:
        return tensor.device, tensor.dtype
    return given.get("device"), given.get("dtype")


def _by_name(args: tuple[Any, ...]) -> dict[str, Any]:
    """Arguments by position: ``(device, dtype)``, ``(dtype)`` or ``(tensor)``, and a bool."""
    names = ["device", "dtype", "non_blocking"]
    if args and isinstance(args[0], flambeau.dtype | Tensor):
        names = ["dtype" if isinstance(args[0], flambeau.dtype) else "tensor", "non_blocking"]
    kinds: dict[str, Any] = {
        "device": str | int | flambeau.device,
        "dtype": flambeau.dtype,
        "tensor": Tensor,
        "non_blocking": bool,
    }
    for name, value in zip([*names, None], args, strict=False):
        fits = name is not None and (value is None or isinstance(value, kinds[name]))
        if not fits or (name == "device" and isinstance(value, bool)):
            raise TypeError(
                "Module.to() takes a device, a dtype, both in this order, or a tensor, and then "
                f"non_blocking; not {', '.join(type(arg).__name__ for arg in args)}"
            )
    return dict(zip(names, args, strict=False))
