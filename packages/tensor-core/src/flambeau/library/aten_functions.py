"""Operators of PyTorch's that are no public function here: written as it calls them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import rooms
from flambeau.core import _core, functional
from flambeau.core.dims import wrapped_dim


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


def _attention(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False,
               *, attn_mask: Any = None, scale: float | None = None) -> Any:
    if dropout_p:
        raise NotImplementedError(
            "_scaled_dot_product_flash_attention_for_cpu(): dropout_p must be 0, as in PyTorch; "
            "call nn.functional.scaled_dot_product_attention")
    return _core.call("attention", [query, key, value, attn_mask, is_causal, scale])


def _native_batch_norm(x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
                       training: bool, momentum: float, eps: float) -> tuple[Any, Any, Any]:
    """The result, and what it was normalized with: nothing where that is given."""
    result = functional.batch_norm(x, running_mean, running_var, weight, bias, training, momentum,
                                   eps)
    if not training:
        return result, x.new_empty(0), x.new_empty(0)
    return result, *_statistics(x.transpose(0, 1).flatten(1), eps)


def _native_group_norm(x: Any, weight: Any, bias: Any, n: int, channels: int, rest: int,
                       groups: int, eps: float) -> Any:
    return _core.call("native_group_norm", [x, weight, bias, groups, eps])


def _statistics(rows: Any, eps: float) -> tuple[Any, Any]:
    """The mean of rows, and what their difference from it is multiplied by."""
    var, mean = flambeau.var_mean(rows, -1, correction=0)
    return mean, (var + eps).rsqrt()


def _native_dropout(x: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """The result and the elements that were kept."""
    if train is False:
        return x.clone(), flambeau.ones_like(x, dtype=flambeau.bool)
    kept = flambeau.empty_like(x).bernoulli_(1 - p).bool()
    return x * kept * (0.0 if p == 1 else 1 / (1 - p)), kept


def _embedding_renorm_(weight: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    functional.embedding(indices, weight, max_norm=max_norm, norm_type=norm_type)
    return weight


def _as_strided_(x: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    offset = x.storage_offset() if storage_offset is None else storage_offset
    return x.set_(x.untyped_storage(), offset, size, stride)


def _norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    others = None if dim == -1 else [d for d in range(v.ndim) if d != wrapped_dim(
        "norm_except_dim", dim, v.ndim)]
    return flambeau.linalg.vector_norm(v, pow, others, keepdim=others is not None)


def _frobenius_norm(x: Any, dim: Any, keepdim: bool = False) -> Any:
    return flambeau.linalg.vector_norm(x, 2, dim, keepdim)


def _hash_tensor(x: Any, dim: Any = (), keepdim: bool = False, mode: int = 0) -> Any:
    """The exclusive or of all elements' bits, as numbers of 64 bits."""
    if mode != 0:
        raise RuntimeError(f"hash_tensor(): Unknown hash_tensor mode: {mode}; the one mode is 0")
    if x.is_complex():
        raise NotImplementedError("hash_tensor(): not implemented for complex numbers; write "
                                  "flambeau.view_as_real(x)")
    wide = x.to(flambeau.float64 if x.is_floating_point() else flambeau.int64)
    dims = [wrapped_dim("hash_tensor", d, x.ndim) for d in (
        [dim] if isinstance(dim, int) else dim or range(x.ndim))]
    if 0 in [x.shape[d] for d in dims]:
        raise (RuntimeError if dim == () else IndexError)(
            f"hash_tensor(): Expected reduction dim to have non-zero size: shape {list(x.shape)}, "
            f"dim={dim}")
    kept = [d for d in range(x.ndim) if d not in dims]
    bits = wide.view(flambeau.int64).permute([*kept, *dims]).reshape(
        *[x.shape[d] for d in kept], -1)
    while bits.shape[-1] > 1:
        half = bits.shape[-1] // 2
        rest = bits[..., 2 * half:]
        bits = flambeau.cat([bits[..., :half] ^ bits[..., half:2 * half], rest], -1)
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    return bits.reshape(shape).view(flambeau.uint64)


def _slice_inverse(x: Any, src: Any, dim: int = 0, start: int | None = None,
                   end: int | None = None, step: int = 1) -> Any:
    """The whole of which a slice is, over the memory of the slice."""
    return x.as_strided(src.shape, src.stride(), src.storage_offset())


# ---- gradients ---------------------------------------------------------------------------------
def _gradients(call: Callable[..., Any], inputs: Sequence[Any], grad: Any,
               wanted: Sequence[bool]) -> list[Any]:
    """The gradients of the inputs that are wanted; None for the others."""
    recorded = flambeau.is_grad_enabled() and any(
        x.requires_grad for x in (*inputs, grad) if x is not None)
    with flambeau.enable_grad():
        given = [x if x is None or x.requires_grad else x.detach().requires_grad_()
                 for x in inputs]
        chosen = [x for x, want in zip(given, wanted, strict=True) if want]
        result = call(*given)
    found = iter(rooms.enter("autograd").grad(result, chosen, grad, create_graph=recorded))
    return [next(found) if want else None for want in wanted]


def _convolution_backward(grad: Any, x: Any, weight: Any, bias_sizes: Any, stride: Any,
                          padding: Any, dilation: Any, transposed: bool, output_padding: Any,
                          groups: int, output_mask: Sequence[bool]) -> tuple[Any, ...]:
    """The gradients of the input, the weight and the bias, as far as they are wanted."""
    def call(x: Any, weight: Any) -> Any:
        return _convolution(x, weight, None, stride, padding, dilation, transposed,
                            output_padding, groups)

    found = [None, None]
    if any(output_mask[:2]):
        found = _gradients(call, [x, weight], grad, output_mask[:2])
    bias = grad.transpose(0, 1).flatten(1).sum(1) if output_mask[2] else None
    return (*found, bias)


def _backward_of(call: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of an activation: of its upstream gradient, its input and its numbers."""
    def backward(grad: Any, x: Any, *numbers: Any, **options: Any) -> Any:
        return _gradients(lambda x: call(x, *numbers, **options), [x], grad, [True])[0]

    return backward


OWN: dict[str, Callable[..., Any]] = {
    "convolution": _convolution, "_to_copy": _to_copy, "slice": _slice, "index": _index,
    "_softmax": _softmax, "_log_softmax": _log_softmax, "native_layer_norm": _native_layer_norm,
    "_unsafe_view": lambda x, size: x.reshape(size), "lift_fresh": lambda x: x,
    "alias": lambda x: x.view(x.shape), "sym_size": lambda x, dim=None: x.size(dim),
    "sym_stride": lambda x, dim=None: x.stride(dim), "sym_numel": lambda x: x.numel(),
    "threshold_backward": lambda grad, x, threshold: flambeau.where(x <= threshold, 0.0, grad),
    "_convolution": lambda *args: _convolution(*args[:9]),
    "convolution_backward": _convolution_backward,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_softmax_backward_data": lambda grad, result, dim, dtype:
        _core.call("softmax_grad", [grad, result, dim]),
    "_log_softmax_backward_data": lambda grad, result, dim, dtype:
        _core.call("log_softmax_grad", [grad, result, dim]),
    "native_batch_norm": _native_batch_norm, "_native_batch_norm_legit": _native_batch_norm,
    "native_group_norm": _native_group_norm, "native_dropout": _native_dropout,
    "native_channel_shuffle": functional.channel_shuffle,
    "embedding_renorm_": _embedding_renorm_, "as_strided_": _as_strided_,
    "slice_inverse": _slice_inverse, "hash_tensor": _hash_tensor,
    "norm_except_dim": _norm_except_dim,
    "frobenius_norm": _frobenius_norm,
    "alpha_dropout_": lambda x, p, train: functional.alpha_dropout(x, p, train, True),
    "feature_alpha_dropout_":
        lambda x, p, train: functional.feature_alpha_dropout(x, p, train, True),
    "dequantize": lambda x: x.float(),
    **{f"{name}_copy": lambda x, name=name: getattr(x, name)().clone() for name in (
        "ccol_indices", "col_indices", "crow_indices", "indices", "row_indices", "values")},
    "sigmoid_backward": lambda grad, result: grad * (1 - result) * result,
    "tanh_backward": lambda grad, result: grad * (1 - result * result),
    **{f"{name}_backward": _backward_of(getattr(functional, name)) for name in (
        "gelu", "silu", "mish", "hardswish", "hardsigmoid")},
    "_local_scalar_dense": lambda x: x.item(), "lift": lambda x: x,
}


