"""``autocast``: products in half precision, sums and losses in float32."""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import flambeau
from flambeau.autograd._engine import AutocastBlock, innermost_autocast

__all__ = ["autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype", "is_autocast_available",
           "is_autocast_cache_enabled", "is_autocast_enabled", "is_autocast_cpu_enabled",
           "get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "clear_autocast_cache"]

_F = TypeVar("_F", bound=Callable[..., Any])
_HALF = (flambeau.bfloat16, flambeau.float16)
_NO_DEVICE = 255  # a type that no tensor has
_DEFAULTS = {"cpu": flambeau.bfloat16, "cuda": flambeau.float16}


def _type_code(device_type: str) -> int | None:
    """The number of a device type; None where a device of it can be named alone."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if ":" in device_type:
        raise RuntimeError(f"autocast(): device_type is a type without an index, not "
                           f"{device_type!r}: write {device_type.partition(':')[0]!r}")
    code = flambeau.device(device_type).code
    return None if code < 0 else code >> 8


class autocast:
    """Run products in half precision and what needs it in float32, in a block or a function.

    Parameters stay in float32 and so do their gradients: their casts are recorded. Which
    operator runs in what is a column of the operator table; ``docs/guide/mixed-precision`` lists
    it. Wrap the forward pass and the loss, and call ``backward()`` outside.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``; tensors elsewhere are left alone.
        dtype: the lower precision; bfloat16 on the CPU and float16 elsewhere unless given.
        enabled: False makes a block without casts inside another.
        cache_enabled: cast each parameter once per block and not at each use.

    Example:
        >>> import flambeau
        >>> w = flambeau.ones(2, 2, requires_grad=True)
        >>> with flambeau.autocast("cpu", dtype=flambeau.bfloat16):
        ...     y = flambeau.ones(1, 2) @ w
        >>> y.dtype
        flambeau.bfloat16
        >>> y.sum().backward()
        >>> w.grad.dtype
        flambeau.float32
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        self.device = device_type
        self.fast_dtype = _DEFAULTS.get(device_type, flambeau.float16) if dtype is None else dtype
        if not isinstance(self.fast_dtype, flambeau.dtype):
            raise TypeError(f"autocast(dtype=...) is flambeau.bfloat16 or flambeau.float16, not "
                            f"{dtype!r}")
        self._cache_enabled = True if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled)
        self._open: list[AutocastBlock] = []
        code = _type_code(device_type)
        if code is None and self._enabled:
            warnings.warn(f"User provided device_type of '{device_type}', but there is no such "
                          "device here. Disabling", UserWarning, stacklevel=2)
        self._type = _NO_DEVICE if code is None else code
        self._enabled = self._enabled and code is not None
        if self._enabled and self.fast_dtype not in _HALF:
            warnings.warn(
                f"In {device_type} autocast, but the target dtype {self.fast_dtype} is not "
                "supported: it is bfloat16 or float16. Disabling autocast.", UserWarning,
                stacklevel=2)
            self._enabled = False

    def __enter__(self) -> autocast:
        block = AutocastBlock(self._type, self.fast_dtype.code, self._enabled,
                              self._cache_enabled)
        block.__enter__()
        self._open.append(block)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._open.pop().__exit__(kind, value, trace)

    def _again(self) -> autocast:
        """A block that does the same, for one call of a decorated function."""
        copy = autocast.__new__(autocast)
        copy.__dict__.update(self.__dict__, _open=[])
        return copy

    def __call__(self, function: _F) -> _F:
        code = getattr(function, "__code__", None)
        flags = (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE
                 | inspect.CO_ASYNC_GENERATOR)
        if code is not None and code.co_flags & flags:
            from flambeau.autograd._suspending import decorated_suspending

            return decorated_suspending(self._again, function, code.co_flags)  # type: ignore

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]


def _innermost(device_type: str) -> AutocastBlock | None:
    code = _type_code(device_type)
    return None if code is None else innermost_autocast(code)


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this thread casts for a device type.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``.

    Returns:
        bool

    Example:
        >>> import flambeau
        >>> with flambeau.autocast("cpu"):
        ...     flambeau.is_autocast_enabled("cpu")
        True
    """
    block = _innermost(device_type)
    return block is not None and block.enabled


def get_autocast_dtype(device_type: str) -> Any:
    """The lower precision of the innermost block of a device type, or its default.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``.

    Returns:
        A dtype.

    Example:
        >>> import flambeau
        >>> flambeau.get_autocast_dtype("cpu")
        flambeau.bfloat16
    """
    block = _innermost(device_type)
    if block is None:
        return _DEFAULTS.get(device_type, flambeau.float16)
    return next((d for d in _HALF if d.code == block.dtype), flambeau.float32)


def is_autocast_cpu_enabled() -> bool:
    """``is_autocast_enabled("cpu")`` under its older name."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> Any:
    """``get_autocast_dtype("cpu")`` under its older name."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """``get_autocast_dtype("cuda")`` under its older name."""
    return get_autocast_dtype("cuda")


def clear_autocast_cache() -> None:
    """Do nothing: casts of parameters are kept for the length of a block alone."""


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept for the length of a block on the CPU.

    Returns:
        bool

    Example:
        >>> import flambeau
        >>> flambeau.is_autocast_cache_enabled()
        True
    """
    block = innermost_autocast(0)
    return block is None or block.cache_enabled


def is_autocast_available(device_type: str) -> bool:
    """Whether there are devices of this type.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``.

    Returns:
        bool

    Example:
        >>> import flambeau
        >>> flambeau.amp.is_autocast_available("cpu")
        True
    """
    try:
        return _type_code(device_type) is not None
    except (RuntimeError, ValueError):
        return False


def custom_fwd(fwd: Callable | None = None, *, device_type: str,
               cast_inputs: Any = None) -> Callable:
    """Decorate ``forward`` of a custom Function for use under autocast.

    Args:
        fwd: the static method.
        device_type: ``"cpu"`` or ``"cuda"``.
        cast_inputs: cast floating inputs to this dtype and run without autocast; without it the
            method runs in the caller's autocast state.

    Returns:
        The decorated method.

    Example:
        >>> import flambeau
        >>> class Square(flambeau.autograd.Function):
        ...     @staticmethod
        ...     @flambeau.amp.custom_fwd(device_type="cpu", cast_inputs=flambeau.float32)
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     @flambeau.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, g):
        ...         x, = ctx.saved_tensors
        ...         return 2 * x * g
        >>> with flambeau.autocast("cpu"):
        ...     Square.apply(flambeau.ones(2, dtype=flambeau.bfloat16)).dtype
        flambeau.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._autocast_dtype = get_autocast_dtype(device_type)
        ctx._autocast_on = is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._autocast_on:
            return fwd(ctx, *args, **kwargs)
        ctx._autocast_on = False
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, device_type, cast_inputs),
                       **_cast(kwargs, device_type, cast_inputs))

    return run


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorate ``backward`` of a custom Function: it runs in the autocast state of its forward.

    Args:
        bwd: the static method.
        device_type: ``"cpu"`` or ``"cuda"``.

    Returns:
        The decorated method; see :func:`custom_fwd` for an example.
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._autocast_on, dtype=ctx._autocast_dtype):
            return bwd(ctx, *args, **kwargs)

    return run


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Floating tensors of the device in another dtype, in containers too."""
    if isinstance(value, flambeau.Tensor):
        ours = value.is_floating_point() and value.device.type == device_type
        return value.to(dtype) if ours and value.dtype != flambeau.float64 else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype)
                for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value
