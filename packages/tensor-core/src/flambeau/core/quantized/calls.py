"""Calls with quantized tensors: on the integers where they move or compare elements.

What computes other numbers and has a scale that is known beforehand (averages: their input's;
sigmoid, tanh: that of their range) goes through the numbers and is quantized again.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau.core.quantized.channels as channels
from flambeau.core import _core, functions
from flambeau.core.quantized.schemes import Quantizer, quint8
from flambeau.core.quantized.tensor import QuantizedTensor, wrap
from flambeau.core.wrapped import called

_op = {**functions, **_core.operators()}

#: These move elements; of tensors with scales of channels, see `channels.py`.
_MOVING = frozenset(
    "chunk diagonal expand expand_as flatten flip getitem index_select masked_select movedim "
    "moveaxis narrow permute ravel repeat reshape select slice split squeeze swapaxes t take "
    "tensor_split tile transpose unbind unflatten unfold unsqueeze view view_as alias as_strided "
    "gather repeat_interleave iter pixel_shuffle pixel_unshuffle channel_shuffle resize "
    "resize_as rot90 roll fliplr flipud hsplit vsplit dsplit".split())
_KEEPING = frozenset("clone contiguous detach cpu cuda requires_grad_ pin_memory".split())
_RESIZING = frozenset(("resize", "resize_as"))
#: These choose among elements by their order, which scales above zero keep.
_CHOOSING = frozenset("max min amax amin sort topk msort max_pool1d max_pool2d max_pool3d "
                      "adaptive_max_pool1d adaptive_max_pool2d aminmax kthvalue cummax "
                      "cummin".split())
#: Averages, which are taken of the integers and rounded once.
_AVERAGING = frozenset("avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
                       "adaptive_avg_pool3d mean interpolate upsample upsample_bilinear "
                       "upsample_nearest".split())
#: Their results are quantized as their input is.
_THROUGH = frozenset("leaky_relu threshold gelu hardtanh clamp clip clamp_min clamp_max relu6 "
                     "masked_fill fill where index_fill pad std constant_pad_nd dropout "
                     "grid_sample grid_sampler".split())
#: Of these, what has scales of channels keeps them.
_BY_ELEMENT = frozenset(("masked_fill", "fill"))
#: Their results lie between fixed numbers.
_BOUNDED = {"sigmoid": Quantizer(1 / 256, 0), "hardsigmoid": Quantizer(1 / 256, 0),
            "tanh": Quantizer(2 / 256, 128)}
_COMPARING = frozenset("eq ne lt le gt ge equal isclose allclose isnan isinf isfinite "
                       "item tolist".split())
#: Properties, and what the class itself answers.
_ASKING = frozenset("__get__ __set__ __delete__ dequantize int_repr q_scale q_zero_point qscheme "
                    "q_per_channel_scales q_per_channel_zero_points q_per_channel_axis "
                    "quantize_per_tensor quantize_per_channel quantized_batch_norm "
                    "quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d storage "
                    "new".split())
_ABSENT = ("{0}() is not computed for quantized tensors: the scale of its result is not known. "
           "Write x.dequantize(), compute, and quantize_per_tensor the result; sums and products "
           "that choose scales are in flambeau.ao.nn.quantized (FloatFunctional, Linear ...)")


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call that was shown to the class of quantized tensors.

    Args:
        func: What is called.
        args: By position.
        kwargs: By name.

    Raises:
        NotImplementedError: The call needs a scale that nobody chose.
    """
    direct = getattr(func, "direct", None)
    if direct is not None:      # an operator that was made for such tensors
        return direct(*args, **kwargs)
    if getattr(func, "__name__", "") in _ASKING:
        with _core.DisableTorchFunction():
            return func(*args, **kwargs)
    func, args, name, inplace = called(func, args)
    if kwargs.get("out") is not None:
        raise NotImplementedError(f"{name}(): out= is not supported for quantized tensors")
    found = _by_name(name)
    if found is None:
        raise NotImplementedError(_ABSENT.format(name))
    if not inplace:
        result = found(func, name, args, kwargs)
        return _over(args[0], result) if _is_asked_inplace(func, args, kwargs) else result
    # What writes is computed as what does not, and copied: the integers stay the same memory.
    plain = _op[name] if name in _op else getattr(_core.Tensor, name, None)
    if name in _RESIZING:
        return _resized(plain, name, args, kwargs)
    if name in _MOVING | _KEEPING:
        raise NotImplementedError(f"{name}_() is not supported for quantized tensors: write "
                                  f"x = x.{name}(...)")
    return _written(args[0], found(plain, name, args, kwargs))


def _is_asked_inplace(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function is called with ``inplace=True``, by name or by position."""
    if "inplace" in kwargs:
        return bool(kwargs["inplace"])
    code = getattr(func, "__code__", None)
    names = code.co_varnames[:code.co_argcount] if code is not None else ()
    return "inplace" in names and args[names.index("inplace"):][:1] == (True,)


def _over(x: QuantizedTensor, result: QuantizedTensor) -> QuantizedTensor:
    """A tensor, over which a result with its scale is written."""
    _written(x, result)
    x._quantizer = result._quantizer
    return x


def is_computed(name: str) -> bool:
    """Whether a call is computed for quantized tensors, by its name.

    Args:
        name: Of a function or method, in place or not.
    """
    return _by_name(name.rstrip("_")) is not None


def _by_name(name: str) -> Callable[..., Any] | None:
    for names, function in _KINDS:
        if name in names:
            return function
    return None


def _first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> QuantizedTensor:
    found = args[0] if args else kwargs.get("input", kwargs.get("self"))
    if not isinstance(found, QuantizedTensor):
        raise TypeError("the first tensor of this call must be quantized where another is: "
                        "quantize it, or dequantize the other")
    return found


def _integers(value: Any) -> Any:
    return value._values if isinstance(value, QuantizedTensor) else value


def _numbers(value: Any) -> Any:
    return value.dequantize() if isinstance(value, QuantizedTensor) else value


def _call(take: Callable[[Any], Any], func: Any, args: tuple[Any, ...],
          kwargs: dict[str, Any]) -> Any:
    return func(*map(take, args), **{key: take(value) for key, value in kwargs.items()})


def _wrapped(result: Any, like: QuantizedTensor) -> Any:
    """What a call on integers gave, with the quantizer; indices stay as they are."""
    if isinstance(result, _core.Tensor):
        return like._like(result) if result.dtype is like._values.dtype else result
    if isinstance(result, (list, tuple)):
        parts = [_wrapped(part, like) for part in result]
        return type(result)(parts) if type(result) in (list, tuple) else type(result)(*parts)
    return result


def _moved(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _first(args, kwargs)
    if x._quantizer.axis is not None:
        named = {key: value for key, value in kwargs.items() if key not in ("input", "self")}
        return channels.moved(func, name, x, args[1:], named)
    return _wrapped(_call(_integers, func, args, kwargs), x)


def _kept(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _wrapped(_call(_integers, func, args, kwargs), _first(args, kwargs))


def _chosen(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _uniform(name, _first(args, kwargs))
    if "pool" not in name and any(isinstance(a, QuantizedTensor) for a in args[1:]):
        raise NotImplementedError(_ABSENT.format(name))
    return _wrapped(_call(_integers, func, args, kwargs), x)


def _uniform(name: str, x: QuantizedTensor) -> QuantizedTensor:
    if x._quantizer.axis is not None:
        raise NotImplementedError(f"{name}() is not supported for tensors quantized by channel: "
                                  "dequantize() first")
    return x


def _relu(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _uniform(name, _first(args, kwargs))
    return x._like(x._values.clamp(min=x._quantizer.zero_point))


def _averaged(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _uniform(name, _first(args, kwargs))
    zero = x._quantizer.zero_point
    steps = func(Quantizer(1.0, zero).numbers(x._values), *args[1:],
                 **{key: value for key, value in kwargs.items() if key not in ("input", "self")})
    # The zero point counts before the rounding: halves go to the even integer, as in PyTorch.
    return x._like(Quantizer(1.0, 0).integers(steps + zero, x._dtype))


def _through(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # Of `where`, the condition is first: what is chosen among must all be quantized.
    x = _first(args[1:] if name == "where" else args, kwargs)
    if name == "where" and len({type(a) for a in args[1:]}) > 1:
        raise TypeError("where(): both tensors must be quantized, or none: quantize the other with "
                        "quantize_per_tensor")
    quantizer = x._quantizer if name in _BY_ELEMENT else _uniform(name, x)._quantizer
    return _requantized(_call(_numbers, func, args, kwargs), x, quantizer)


def _bounded(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _first(args, kwargs)
    quantizer = _BOUNDED[name]
    if x._dtype is not quint8:
        quantizer = Quantizer(quantizer.scale, quantizer.zero_point - 128)
    return _requantized(_call(_numbers, func, args, kwargs), x, quantizer)


def _requantized(numbers: Any, x: QuantizedTensor, quantizer: Quantizer) -> Any:
    return wrap(quantizer.integers(numbers, x._dtype), x._dtype, quantizer)


def _compared(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name == "equal":
        a, b = args
        both = isinstance(a, QuantizedTensor) and isinstance(b, QuantizedTensor)
        return both and a._dtype is b._dtype and a._quantizer.same(b._quantizer) \
            and bool(_op["equal"](a._values, b._values))
    return _call(_numbers, func, args, kwargs)


def _joined(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Concatenation: others get the scale of the first."""
    tensors = args[0] if args else kwargs.pop("tensors")
    first = _uniform(name, _first(tuple(tensors), {}))
    if any(not isinstance(t, QuantizedTensor) or t._dtype is not first._dtype for t in tensors):
        raise RuntimeError(f"{name}(): all tensors must be quantized, and of one dtype: quantize "
                           "the others with quantize_per_tensor")
    integers = [t._values if t._quantizer == first._quantizer
                else first._quantizer.integers(t.dequantize(), first._dtype) for t in tensors]
    return first._like(func(integers, *args[1:], **kwargs))


def _copied(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``copy_`` writes: the integers of another, or numbers quantized as the first is."""
    x, other = args[0], args[1]
    if not isinstance(x, QuantizedTensor):
        raise _mixed("copy_")
    if isinstance(other, QuantizedTensor):
        if other._dtype is not x._dtype:
            raise RuntimeError(f"copy_(): a tensor of {other._dtype} cannot be copied to one of "
                               f"{x._dtype}: write x.copy_(other.dequantize())")
        x._quantizer = other._quantizer
        return x._like(other._values)
    return _requantized(other.float().expand(x.shape), x, x._quantizer)


def _mixed(what: str) -> RuntimeError:
    return RuntimeError(f"{what}: copying from a quantized tensor to one that is not is not "
                        "allowed: write y.dequantize()")


def _assigned(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``x[index] = value``."""
    x, index, value = args
    if not isinstance(x, QuantizedTensor):
        raise _mixed("x[index] = y")
    numbers = _numbers(value)
    if not isinstance(numbers, _core.Tensor):
        numbers = _op["full"]((), float(numbers))
    if x._quantizer.axis is None:
        x._values[index] = x._quantizer.integers(numbers.float(), x._dtype)
        return
    part: Any = x[index]
    numbers = numbers.float().expand(part.shape)
    part._values.copy_(part._quantizer.integers(numbers, x._dtype))


def _put(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``index_put`` gives: elements of the scale that the tensor has."""
    x = _uniform(name, _first(args, kwargs))
    indices, values, accumulate = _put_arguments(*args[1:], **kwargs)
    if accumulate:
        raise NotImplementedError("index_put(accumulate=True) is not computed for quantized "
                                  "tensors: write x.dequantize(), and quantize the result")
    numbers = _numbers(values).float()
    return x._like(func(x._values, indices, x._quantizer.integers(numbers, x._dtype)))


def _put_arguments(indices: Any, values: Any, accumulate: bool = False) -> tuple[Any, Any, bool]:
    return indices, values, accumulate


def _to(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _first(args, kwargs)
    dtypes = [a for a in (*args[1:], *kwargs.values()) if isinstance(a, _core.dtype)]
    if any(d is not x._dtype for d in dtypes):
        raise RuntimeError(f"to(): a quantized tensor is not converted to {dtypes[0]}: write "
                           "x.dequantize(), or x.int_repr() for its integers")
    rest = tuple(a for a in args[1:] if not isinstance(a, _core.dtype))
    kwargs = {key: value for key, value in kwargs.items() if not isinstance(value, _core.dtype)}
    return x._like(x._values.to(*rest, **kwargs)) if rest or kwargs else x


def _made_like(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _first(args, kwargs)
    if kwargs.get("dtype", x._dtype) not in (None, x._dtype):
        raise RuntimeError(f"empty_like(): a quantized tensor of {x._dtype} has no tensor of "
                           f"{kwargs['dtype']} like it: write empty(x.shape, dtype=...)")
    return x._like(_op["empty_like"](x._values))


def _resized(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _first(args, kwargs)
    if x._quantizer.axis is not None:
        raise RuntimeError(f"{name}_(): the scales of channels do not fit another shape")
    with _core.DisableTorchFunction():
        getattr(x._values, f"{name}_")(*args[1:], **kwargs)
    return x


def _written(x: QuantizedTensor, result: QuantizedTensor) -> QuantizedTensor:
    """The integers of a result, in the memory of what was to be written."""
    with _core.DisableTorchFunction():
        x._values.copy_(result._values)
    return x


_KINDS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (_MOVING, _moved), (_KEEPING, _kept), (_CHOOSING, _chosen), (("relu",), _relu),
    (_AVERAGING, _averaged), (_THROUGH, _through), (_BOUNDED, _bounded), (_COMPARING, _compared),
    (("cat", "concat", "concatenate", "stack", "hstack", "vstack"), _joined), (("copy",), _copied),
    (("setitem",), _assigned), (("index_put",), _put), (("to", "type"), _to),
    (("empty_like",), _made_like))
