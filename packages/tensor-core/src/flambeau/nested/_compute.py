"""Reductions, softmax, products, attention and layers of jagged tensors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core import _core, functions
from flambeau.nested._calls import JAGGED, handles, matching, wrap
from flambeau.nested._jagged import NestedTensor, compact, of_parts
from flambeau.nested._tensor import Nested

_op = {**functions, **_core.operators()}


# ---- reductions ----------------------------------------------------------------------------------


def _dims(name: str, x: NestedTensor, dim: Any) -> list[int]:
    given = list(range(x.ndim)) if dim is None or dim == () else [dim] if isinstance(dim, int) \
        else list(dim)
    for d in given:
        if not -x.ndim <= d < x.ndim:
            raise IndexError(f"{name}(): dimension {d} is not one of {x.ndim} dimensions")
    return sorted({d % x.ndim for d in given})


def _reduction(name: str) -> Callable[..., Any]:
    def reduce(x: NestedTensor, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        func, x = _op[name], compact(x)
        if dim is None and name in _WITHOUT_DIM:
            return func(x._values, **options)
        dims, ragged = _dims(name, x, dim), x._ragged_idx
        if 0 in dims and ragged not in dims:
            raise RuntimeError(f"{name}(): reducing along the batch dimension but not the ragged "
                               "dimension is not supported for nested tensors: write it for "
                               "x.to_padded_tensor(...)")
        inner = [d - 1 for d in dims if d]
        axes: Any = inner[0] if name in _ONE_DIM and len(inner) == 1 else inner
        if 0 in dims:
            result = func(x._values, axes, keepdim=keepdim, **options)
            return result.unsqueeze(0) if keepdim else result
        if ragged in dims:
            return _stacked([func(part, axes, keepdim=keepdim, **options)
                             for part in x._parts()])
        left = ragged - (0 if keepdim else sum(d < ragged for d in dims))
        return _each(func(x._values, axes, keepdim=keepdim, **options),
                     lambda values: wrap(x, values, left))

    reduce.__name__, reduce.__doc__ = name, f"``{name}`` over all elements or some dimensions."
    return reduce


def _each(result: Any, make: Callable[[Any], Any]) -> Any:
    return make(result) if isinstance(result, _core.Tensor) else type(result)(map(make, result))


def _stacked(results: list[Any]) -> Any:
    if isinstance(results[0], _core.Tensor):
        return _op["stack"](results)
    return type(results[0])(_op["stack"](list(column)) for column in zip(*results, strict=True))


_WITHOUT_DIM = {"max", "min", "argmax", "argmin", "median", "prod", "sum", "mean", "any", "all",
                "var", "std", "amax", "amin"}
_ONE_DIM = {"max", "min", "argmax", "argmin", "median", "prod", "cumsum"}
for _name in ("sum", "mean", "amax", "amin", "max", "min", "prod", "any", "all", "var", "std",
              "logsumexp", "argmax", "argmin", "median"):
    JAGGED[_name] = _reduction(_name)


def _along(name: str) -> Callable[..., Any]:
    def along(x: NestedTensor, dim: int, *rest: Any, **options: Any) -> NestedTensor:
        options = {k: v for k, v in options.items() if not k.startswith("_")}
        at, func = _dims(name, x, dim)[0], _op[name]
        if at == 0:
            raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension "
                               "for NestedTensor, which counts samples")
        if at != x._ragged_idx:
            return wrap(x, func(x._values, at - 1, **options))
        x = compact(x)
        return of_parts([func(part, at - 1, **options) for part in x._parts()], x._ragged_idx,
                        x._ragged)

    along.__name__, along.__doc__ = name, f"``{name}`` along a dimension, in every sample."
    return along


for _name in ("softmax", "log_softmax", "cumsum", "cumprod", "flip"):
    JAGGED[_name] = _along(_name)


@handles("equal", into=JAGGED)
def equal(x: Any, y: Any) -> bool:
    """Whether samples have the same lengths and elements."""
    if not isinstance(x, NestedTensor) or not isinstance(y, NestedTensor):
        return False
    x, y = compact(x), compact(y)
    return x._ragged.agrees(y._ragged) and bool(_op["equal"](x._values, y._values))


@handles("allclose", into=JAGGED)
def allclose(x: NestedTensor, y: NestedTensor, *args: Any, **options: Any) -> bool:
    """Whether all elements are close."""
    return bool(_op["allclose"](x._values, matching(x, y), *args, **options))


@handles("is_same_size", into=JAGGED)
def is_same_size(x: Any, y: Any) -> bool:
    """Whether both are nested, with samples of the same sizes."""
    return isinstance(y, NestedTensor) and isinstance(x, NestedTensor) and x.shape == y.shape


# ---- layers --------------------------------------------------------------------------------------


def _on_values(name: str, behind: Callable[..., int]) -> Callable[..., Any]:
    """A function of the last dimensions, which are dense."""
    def layer(x: NestedTensor, *args: Any, **options: Any) -> NestedTensor:
        if x._ragged_idx >= x.ndim - behind(*args, **options):
            raise RuntimeError(f"{name}(): the last dimensions of {x.shape} must be dense: "
                               "transpose the ragged one away")
        func = _op.get(name) or _namespaced(name)
        return wrap(x, func(x._values, *args, **options))

    layer.__name__, layer.__doc__ = name, f"``{name}`` of every sample."
    return layer


def _namespaced(name: str) -> Any:
    from flambeau.core import namespaces

    return namespaces["nn.functional"][name]


JAGGED["linear"] = _on_values("linear", lambda *args, **options: 1)
for _name in ("layer_norm", "rms_norm"):
    JAGGED[_name] = _on_values(_name, lambda shape=(), *args, normalized_shape=None, **options:
                               len(normalized_shape or shape))


@handles("embedding", into=JAGGED)
def embedding(input: NestedTensor, weight: Any, *args: Any, **options: Any) -> NestedTensor:
    """Rows of a table, for the indices of every sample."""
    return wrap(input, _namespaced("embedding")(input._values, weight, *args, **options))


@handles("glu", into=JAGGED)
def glu(x: NestedTensor, dim: int = -1) -> NestedTensor:
    """One half of a dense dimension, gated by the other."""
    return wrap(x, _namespaced("glu")(x._values, dim if dim < 0 else dim - 1))


# ---- products ------------------------------------------------------------------------------------


def _samples(x: Any, count: int) -> list[Any]:
    if isinstance(x, Nested):
        return list(x._parts())
    if x.ndim < 3:
        return [x] * count
    if x.shape[0] not in (1, count):
        raise RuntimeError(f"matmul(): a tensor of shape {tuple(x.shape)} has not one matrix for "
                           f"each of {count} samples")
    return list(x.expand(count, *x.shape[1:]).unbind(0))


@handles("matmul", "bmm", "mm", into=JAGGED)
def matmul(x: Any, y: Any) -> Any:
    """Products of matrices, sample by sample."""
    nested = x if isinstance(x, NestedTensor) else y
    if nested is x and not isinstance(y, Nested) and y.ndim == 2 and x._ragged_idx < x.ndim - 1:
        return wrap(x, x._values @ y)
    rows = isinstance(x, NestedTensor) and x._ragged_idx == x.ndim - 2
    columns = isinstance(y, NestedTensor) and y._ragged_idx == y.ndim - 1
    inner = isinstance(x, NestedTensor) and x._ragged_idx == x.ndim - 1
    if rows and columns:
        raise RuntimeError(f"matmul(): not supported between inputs of shapes {x.shape} and "
                           f"{y.shape}: the product would be ragged in two dimensions")
    count = len(nested)
    results = [a @ b for a, b in zip(_samples(x, count), _samples(y, count), strict=True)]
    if inner or (not rows and not columns and nested is y and y._ragged_idx == y.ndim - 2):
        return _op["stack"](results)
    at = results[0].ndim - 1 if rows else results[0].ndim if columns else nested._ragged_idx
    return of_parts(results, at, nested._ragged)


@handles("scaled_dot_product_attention", into=JAGGED)
def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None,
                                 dropout_p: float = 0.0, is_causal: bool = False,
                                 scale: float | None = None, enable_gqa: bool = False
                                 ) -> NestedTensor:
    """Attention inside each sample: none of it is spent on padding."""
    if attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention(): attn_mask is not supported with nested "
                           "tensors; samples see themselves alone, and is_causal=True is known")
    nested = next(x for x in (query, key, value) if isinstance(x, NestedTensor))
    count = len(nested)
    func = _namespaced("scaled_dot_product_attention")
    results = [
        func(q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), dropout_p=dropout_p,
             is_causal=is_causal, scale=scale, enable_gqa=enable_gqa).squeeze(0)
        for q, k, v in zip(*(_samples(x, count) for x in (query, key, value)), strict=True)]
    if not isinstance(query, NestedTensor):
        return _op["stack"](results)
    return of_parts(results, query._ragged_idx, query._ragged)
