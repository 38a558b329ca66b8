"""Calls with nested tensors: what their class is shown, and which function runs it.

Calls that compute element by element run on the values. Others are in a table for each layout;
what is not in it has no meaning for samples of different lengths, and is refused.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core import _core
from flambeau.core.wrapped import called, is_pointwise
from flambeau.nested._jagged import NestedTensor, jagged
from flambeau.nested._tensor import Nested

JAGGED: dict[str, Callable[..., Any]] = {}
STRIDED: dict[str, Callable[..., Any]] = {}

#: Calls of other kinds that compute element by element, and keep the shape of what they are given.
_BY_ELEMENT = frozenset(
    "alpha_dropout bfloat16 bool byte celu cfloat char clamp clamp_max clamp_min clone "
    "copy cpu cuda double dropout elu empty_like feature_alpha_dropout float full_like gelu "
    "half hardsigmoid hardswish hardtanh int isclose leaky_relu logit logsigmoid long masked_fill "
    "mish nan_to_num ones_like pin_memory rand_like randn_like relu relu6 rrelu selu short silu "
    "softplus softshrink sigmoid tanh tanhshrink threshold to type type_as where zero zeros_like "
    "fill bernoulli normal uniform square isneginf isposinf isreal rsub true_divide float_power "
    "chalf cdouble softsign heaviside deg2rad rad2deg".split())


def handles(*names: str, into: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Enter a function in a table under these names."""
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        into.update(dict.fromkeys(names, function))
        return function

    return enter


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call that was shown to a nested tensor's class.

    Args:
        func: What is called.
        args: By position.
        kwargs: By name.

    Raises:
        NotImplementedError: The call has no meaning for nested tensors.
    """
    if getattr(func, "__name__", "") in ("__get__", "__set__", "__delete__"):
        with _core.DisableTorchFunction():
            return func(*args, **kwargs)
    func, args, name, inplace = called(func, args)
    first = first_nested(args, kwargs)
    table = JAGGED if isinstance(first, NestedTensor) else STRIDED
    if name in table:
        result = table[name](*args, **kwargs)
        return written(args[0], result) if inplace else result
    if name in _BY_ELEMENT or is_pointwise(func, name):
        return by_element(func, first, args, kwargs)
    if table is STRIDED:
        from flambeau.nested._samples import sample_by_sample

        return sample_by_sample(func, name, args, kwargs)
    raise NotImplementedError(
        f"{name}() is not implemented for nested tensors: write "
        f"[{name}(x) for x in nested.unbind()], or x.to_padded_tensor(0.0) and a mask")


def first_nested(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The first nested argument, or element of an argument that is a list."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, Nested):
            return value
        if isinstance(value, (list, tuple)):
            found = first_nested(tuple(value), {})
            if found is not None:
                return found
    return None


def written(target: Any, result: Any) -> Any:
    """Write a result into a nested tensor."""
    target._values.copy_(result._values if isinstance(result, Nested) else result)
    return target


def by_element(func: Any, like: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call on values; dense tensors broadcast over samples."""
    given = [_values_of(like, value) for value in args]
    named = {key: _values_of(like, value) for key, value in kwargs.items()}
    result = func(*given, **named)
    for value in (*args, kwargs.get("out")):
        if isinstance(value, Nested) and result is value._values:
            return value
    if isinstance(result, _core.Tensor):
        return like._like(result)
    return result


def _values_of(like: Any, value: Any) -> Any:
    if isinstance(value, Nested):
        return matching(like, value)
    if not isinstance(value, _core.Tensor) or value.ndim == 0:
        return value
    if isinstance(like, NestedTensor):
        return broadcast(like, value)
    from flambeau.nested._samples import broadcast_over

    return broadcast_over(like, value)


def matching(like: Any, other: Any) -> Any:
    """The values of another nested tensor, whose samples must lie as those of ``like``."""
    if type(other) is not type(like):
        raise RuntimeError("nested tensors of the layouts jagged and strided do not go together: "
                           "make one with layout=flambeau.jagged from the other's unbind()")
    if not isinstance(like, NestedTensor):
        if other._sizes != like._sizes:
            raise RuntimeError(f"nested tensors have samples of sizes {like._sizes} and "
                               f"{other._sizes}, which do not agree")
        return other._values
    if not like._ragged.agrees(other._ragged):
        raise RuntimeError(f"cannot call a pointwise function with inputs of shapes {like.shape} "
                           f"and {other.shape}: their samples have lengths "
                           f"{like._ragged.sizes()} and {other._ragged.sizes()}")
    if like._ragged_idx != other._ragged_idx and like.ndim == other.ndim:
        raise RuntimeError(f"inputs of shapes {like.shape} and {other.shape} are ragged in "
                           "different dimensions: transpose one")
    return other._values


def broadcast(like: NestedTensor, dense: Any) -> Any:
    """A dense tensor as it goes with the values: for each element of the ragged dimension."""
    if dense.ndim > like.ndim:
        raise RuntimeError(f"a tensor of {dense.ndim} dimensions does not broadcast with one of "
                           f"shape {like.shape}")
    missing = like.ndim - dense.ndim
    wide = dense.reshape((1,) * missing + tuple(dense.shape))
    ragged, batch, length = like._ragged_idx, wide.shape[0], wide.shape[like._ragged_idx]
    sizes = like._ragged.sizes()
    if batch not in (1, len(sizes)) or (length != 1 and length < max(sizes, default=0)):
        raise RuntimeError(f"a tensor of shape {tuple(dense.shape)} does not broadcast with one of "
                           f"shape {like.shape}, whose samples have lengths {sizes}")
    if batch == 1 and length == 1:
        return wide.squeeze(0)
    total = like._values.shape[ragged - 1]
    rows = like._ragged.rows(total)
    at = (_within(like, total, wide.device) if length > 1 else rows * 0)
    return wide.movedim(ragged, 1)[rows if batch > 1 else rows * 0, at].movedim(0, ragged - 1)


def _within(like: NestedTensor, total: int, device: Any) -> Any:
    """The index inside its sample of each element of the ragged dimension."""
    places = [0] * total
    for start, stop in like._ragged.bounds():
        places[start:stop] = range(stop - start)
    return _core.tensor(places, device=device)


def wrap(like: NestedTensor, values: Any, ragged_idx: int | None = None) -> NestedTensor:
    """Values with the samples of ``like``."""
    return jagged(values, like._ragged, like._ragged_idx if ragged_idx is None else ragged_idx)
