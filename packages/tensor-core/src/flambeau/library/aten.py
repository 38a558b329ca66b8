"""``flambeau.ops.aten``: this library's functions under the names of PyTorch's operators."""
from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flambeau
from flambeau.core import _core, functional
from flambeau.core.dims import wrapped_dim

_FILE = Path(__file__).parent / "aten_names.txt"
_SCHEMAS = Path(__file__).parent / "aten_schemas.txt"


@functools.cache
def _table() -> dict[str, list[str]]:
    rows = (line.partition(":") for line in _FILE.read_text(encoding="ascii").splitlines())
    return {name: rest.split() for name, _, rest in rows}


@functools.cache
def _signatures() -> dict[str, dict[str, str]]:
    """``{"add": {"Tensor": "(Tensor self, ...) -> Tensor"}}``; a star first for composites."""
    found: dict[str, dict[str, str]] = {}
    for line in _SCHEMAS.read_text(encoding="ascii").splitlines():
        head, sign, rest = line.partition("(")
        name, _, form = head.lstrip("*").partition(".")
        found.setdefault(name, {})[form or "default"] = "*" * head.startswith("*") + sign + rest
    return found


@functools.cache
def schema(name: str, form: str) -> Any:
    """The signature of a form of an operator; None for what has no function here."""
    text = _signatures().get(name, {}).get(form)
    if text is None:
        return None
    from flambeau.library.schemas import parse_schema

    dot = "" if form == "default" else "." + form
    return parse_schema(f"aten::{name}{dot}{text.lstrip('*')}")


def forms(name: str) -> list[str]:
    """The forms of an operator whose signatures are known."""
    return list(_signatures().get(name, ()))


def is_composite(name: str) -> bool:
    """Whether PyTorch takes all forms of an operator apart before they reach a kernel."""
    texts = [text for form, text in _signatures().get(name, {}).items() if "out" not in form]
    return all(text.startswith("*") for text in texts)


def overloads(name: str) -> list[str]:
    """Names of an operator's forms."""
    return _table().get(name, ["default"])


def knows(name: str) -> bool:
    """Whether PyTorch has an operator of this name, or there is a function for it here."""
    return name in _table() or _found(name) is not None


@functools.cache
def is_listed(name: str) -> bool:
    """Whether PyTorch has an operator of this name, and there is a function for it."""
    return name in _table() and _found(name) is not None


def _convolution(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
                 transposed: bool, output_padding: Any, groups: int) -> Any:
    spatial = weight.ndim - 2
    if transposed:
        return getattr(flambeau, f"conv_transpose{spatial}d")(
            input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(flambeau, f"conv{spatial}d")(input, weight, bias, stride, padding, dilation,
                                                groups)


def _to_copy(x: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    return x.to(dtype=dtype, device=device, copy=True, memory_format=memory_format)


def _slice(x: Any, dim: int = 0, start: int | None = None, end: int | None = None,
           step: int = 1) -> Any:
    return x[(slice(None),) * wrapped_dim("slice", dim, x.ndim) + (slice(start, end, step),)]


def _index(x: Any, indices: Any) -> Any:
    return x[tuple(slice(None) if index is None else index for index in indices)]


def _softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    return flambeau.softmax(x, dim, dtype=flambeau.float32 if half_to_float else None)


def _log_softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    return flambeau.log_softmax(x, dim, dtype=flambeau.float32 if half_to_float else None)


def _native_layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    if list(shape) != list(x.shape[x.ndim - len(shape):]):
        raise _core.ArgumentError(f"native_layer_norm(): normalized_shape is {list(shape)}, and "
                                  f"the input has the shape {list(x.shape)}")
    return _core.call("native_layer_norm", [x, len(shape), weight, bias, eps])


_OWN: dict[str, Callable[..., Any]] = {
    "convolution": _convolution, "_to_copy": _to_copy, "slice": _slice, "index": _index,
    "_softmax": _softmax, "_log_softmax": _log_softmax, "native_layer_norm": _native_layer_norm,
    "_unsafe_view": lambda x, size: x.reshape(size), "lift_fresh": lambda x: x,
    "alias": lambda x: x.view(x.shape), "sym_size": lambda x, dim=None: x.size(dim),
    "sym_stride": lambda x, dim=None: x.stride(dim), "sym_numel": lambda x: x.numel(),
    "threshold_backward": lambda grad, x, threshold: flambeau.where(x <= threshold, 0.0, grad),
    "_local_scalar_dense": lambda x: x.item(), "lift": lambda x: x,
}


def function(name: str) -> Callable[..., Any]:
    """The function, method or kernel for an operator of PyTorch's.

    Raises:
        NotImplementedError: there is none.
    """
    found = _found(name)
    if found is None:
        raise NotImplementedError(f"aten::{name} has no counterpart here; call a public function "
                                  "of flambeau instead")
    return found


def _found(name: str) -> Callable[..., Any] | None:
    if name in _OWN:
        return _OWN[name]
    space, _, rest = name.partition("_")
    homes: list[tuple[Any, str]] = [(flambeau, name), (flambeau.Tensor, name), (functional, name)]
    if rest and space in ("linalg", "fft", "special"):
        homes.insert(0, (getattr(flambeau, space), rest))
    for home, short in homes:
        found: Callable[..., Any] | None = getattr(home, short, None)
        if callable(found) and not isinstance(found, type):
            return found
    return None
