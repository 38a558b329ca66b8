"""Calls of kernels as PyTorch would have made them: name, form, arguments and keywords."""
from __future__ import annotations

import functools
import re
from typing import Any

import flambeau
import flambeau.library.aten as aten
from flambeau import Tensor

Call = tuple[str, str, tuple[Any, ...], dict[str, Any]]
_WITH_TENSOR_FORM = frozenset(("add", "sub", "mul", "div"))
# Parameters that have other names in PyTorch's operators, and those that have none there.
_NAMES = {"self": ("input", "x", "A"), "input": ("self",), "A": ("self",), "dim": ("dims",),
          "other": ("B",), "b": ("B",), "input2": ("tau", "L"), "indices": ("input",),
          "from": ("low",), "to": ("high",), "split_size": ("split_size_or_sections",),
          "sections": ("indices_or_sections",), "indices_or_sections": ("indices",)}
_LEFT_OUT = frozenset(("requires_grad", "size_average", "reduce", "weight", "pin_memory", "layout"))
#: Kernels that functions of PyTorch's names call here, and that have all their parameters.
_KERNELS_OF = {"clamp_both": "clamp", "angle_of": "angle", "logit_of": "logit",
               "nextafter_wide": "nextafter", "random_normal": "normal",
               "random_uniform": "uniform", "random_bernoulli": "bernoulli"}
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_KINDS: dict[str, Any] = {
    "int": int, "SymInt": int, "float": (int, float), "bool": bool, "str": str,
    "Scalar": (int, float, complex), "ScalarType": flambeau.dtype}


def _convolution(args: list[Any]) -> Call:
    spatial = args[1].ndim - 2
    x, weight, bias, stride, padding, dilation, groups = args
    return "convolution", "default", (x, weight, bias, list(stride), list(padding), list(dilation),
                                      False, [0] * spatial, groups), {}


def _matmul(args: list[Any]) -> Call:
    ranks = args[0].ndim, args[1].ndim
    name = {(2, 2): "mm", (2, 1): "mv", (1, 1): "dot", (3, 3): "bmm"}.get(ranks, "matmul")
    return name, "default", tuple(args[:2]), {}


def _softmax(key: str, args: list[Any]) -> Call:
    if args[2] is not None:
        return key, "int", tuple(args), {}
    return f"_{key}", "default", (args[0], args[1], False), {}


def _made(name: str, form: str, args: list[Any]) -> Call:
    """A new tensor: its last arguments are its dtype and its device."""
    options = dict(zip(("dtype", "device"), args[-2:], strict=True))
    values = tuple(list(each) if isinstance(each, tuple) else each for each in args[:-2])
    return name, form, values, {k: v for k, v in options.items() if v is not None}


def _attention(args: list[Any]) -> Call:
    query, key, value, mask, is_causal, scale = args
    given = {"attn_mask": mask, "scale": scale}
    return ("_scaled_dot_product_flash_attention_for_cpu", "default",
            (query, key, value, 0.0, is_causal),
            {name: value for name, value in given.items() if value is not None})


def _group_norm(args: list[Any]) -> Call:
    x, weight, bias, groups, eps = args
    rest = x.numel() // max(x.shape[0] * x.shape[1], 1)
    return ("native_group_norm", "default",
            (x, weight, bias, x.shape[0], x.shape[1], rest, groups, eps), {})


def _batch_norm(args: list[Any]) -> Call:
    """In training; else PyTorch's operator gives no statistics, and the kernel here does."""
    is_training = args[5]
    return "native_batch_norm", "default" if is_training else "", tuple(args), {}


def _filled_like(args: list[Any]) -> Call:
    x, number, dtype = args
    given = {} if dtype is None else {"dtype": dtype}
    if number is None or number in (0, 1):
        name = {None: "empty_like", 0: "zeros_like", 1: "ones_like"}[number]
        return name, "default", (x,), given
    return "full_like", "default", (x, number), given


def _narrow(args: list[Any]) -> Call:
    x, dim, start, length = args
    return "slice", "Tensor", (x, dim, start, start + length), {}


def _contiguous(args: list[Any]) -> Call:
    return "clone", "default", (args[0],), {"memory_format": flambeau.contiguous_format}


def _where(args: list[Any]) -> Call:
    condition, x, y = args
    form = ("Scalar" if not isinstance(x, Tensor) else "self") if not (
        isinstance(x, Tensor) and isinstance(y, Tensor)) else "self"
    if isinstance(x, Tensor) and not isinstance(y, Tensor):
        form = "ScalarOther"
    elif not isinstance(x, Tensor) and isinstance(y, Tensor):
        form = "ScalarSelf"
    return "where", form, (condition, x, y), {}


def _norm(args: list[Any]) -> Call:
    x, ord, dim, keepdim, dtype = args
    dims = list(dim) if isinstance(dim, (list, tuple)) else dim if dim is None else [dim]
    left = [ord, dims, keepdim]
    while left and (left[-1] is None or left[-1] is False):     # not 0, which equals False
        left.pop()
    left = [] if left in ([2], [2.0]) else left
    return "linalg_vector_norm", "default", (x, *left), {} if dtype is None else {"dtype": dtype}


def _layer_norm(args: list[Any]) -> Call:
    x, axes, weight, bias, eps = args
    return "native_layer_norm", "default", (x, list(x.shape[x.ndim - axes:]), weight, bias, eps), {}


def _embedding(weight: Any, index: Any, padding_idx: Any, scales: bool, *rest: Any) -> Any:
    if scales:
        return weight, index, padding_idx, False, True
    return (weight, index) if padding_idx in (None, -1) else (weight, index, padding_idx)


def _truncated(args: list[Any]) -> Call:
    x, y = args
    if not isinstance(x, Tensor):
        return "trunc_divide", "", (x, y), {}
    form = "Tensor_mode" if isinstance(y, Tensor) else "Scalar_mode"
    return "div", form, (x, y), {"rounding_mode": "trunc"}


_REWRITTEN: dict[str, Any] = {
    "trunc_divide": _truncated,
    "conv1d": _convolution, "conv2d": _convolution, "conv3d": _convolution, "matmul": _matmul,
    "softmax": functools.partial(_softmax, "softmax"),
    "log_softmax": functools.partial(_softmax, "log_softmax"),
    "native_layer_norm": _layer_norm, "norm_of": _norm,
    "native_group_norm": _group_norm, "native_batch_norm": _batch_norm,
    "attention": _attention, "full_of": functools.partial(_made, "full", "default"),
    "arange_of": functools.partial(_made, "arange", "start_step"),
    "eye_of": functools.partial(_made, "eye", "m"),
    "softmax_grad": lambda args: ("_softmax_backward_data", "default",
                                  (*args, args[1].dtype), {}),
    "log_softmax_grad": lambda args: ("_log_softmax_backward_data", "default",
                                      (*args, args[1].dtype), {}),
    "empty": functools.partial(_made, "empty", "memory_format"),
    "filled_like": _filled_like, "narrow": _narrow, "where": _where,
    "contiguous_copy": _contiguous,
    "cast": lambda args: ("_to_copy", "default", (args[0],), {"dtype": args[1]}),
    "to_device": lambda args: ("_to_copy", "default", (args[0],), {"device": args[1]}),
    "gelu_exact": lambda args: ("gelu", "default", (args[0],), {}),
    "gelu_tanh": lambda args: ("gelu", "default", (args[0],), {"approximate": "tanh"}),
    "embedding": lambda args: ("embedding", "default", _embedding(args[1], args[0], args[2],
                                                                  args[5]), {}),
    "relu_grad": lambda args: ("threshold_backward", "default", (*args, 0), {}),
    "embedding_lookup": lambda args: ("embedding", "default", _embedding(*args), {}),
}


def aten_call(op: Any, args: list[Any], outs: Any) -> Call:
    """A call under PyTorch's name, else under the operator's own with the form ``""``."""
    make = _REWRITTEN.get(op.key) if outs is None else None
    if make is not None:
        found: Call = make(args)
        return found
    name = _KERNELS_OF.get(op.name, op.name)
    values = dict(zip(op.params, args, strict=True))
    inplace = outs is not None and len(outs) == 1 and outs[0] is args[0]
    if inplace:
        name += "" if name.endswith("_") else "_"
    given = None if inplace else outs
    if name == "fill_" and args[1] == 0 and not isinstance(args[1], Tensor):
        return "zero_", "default", (args[0],), {}
    if aten.is_listed(name):
        for form in _ordered(name, args, given):
            call = _bound(aten.schema(name, form), values, given)
            if call is not None:
                return name, form, *call
    return name, "", tuple(args), {} if given is None else {"out": given}


def _ordered(name: str, args: list[Any], outs: Any) -> list[str]:
    """The forms of an operator that may fit, those first that PyTorch prefers."""
    forms = [form for form in aten.forms(name) if ("out" in form) == (outs is not None)]
    if name.rstrip("_") in _WITH_TENSOR_FORM:
        forms = [form for form in forms if form != "Scalar"]
    preferred = ("default", "dim_IntList", "dim", "Tensor", "Tensor_Tensor", "int", "IntList")
    return sorted(forms, key=lambda form: preferred.index(form) if form in preferred else 9)


def _bound(schema: Any, values: dict[str, Any], outs: Any) -> Any:
    """Arguments in the order of a signature, or None where it does not take them."""
    left = {name: value for name, value in values.items() if value is not None}
    targets = list(outs or ())
    given, named = [], {}
    for number, argument in enumerate(schema.arguments):
        if argument.is_out:
            if not targets:
                return None
            named[argument.name] = targets.pop(0)
            continue
        key = next((key for key in (argument.name, *_NAMES.get(argument.name, ()))
                    if key in left), None)
        if key is None and number == 0 and values:
            key = next(iter(values)) if next(iter(values)) in left else None
        if key is None:
            if not (argument.has_default or argument.type.endswith("?")):
                return None
            value = argument.default_value
        else:
            fit = _fitted(argument.type, left.pop(key), schema.name)
            if fit is None:
                return None
            value = fit[0]
        if argument.kwarg_only:
            if not argument.has_default or not _same(value, argument.default_value):
                named[argument.name] = value
        else:
            given.append((value, argument))
    if any(name not in _LEFT_OUT and value is not False for name, value in left.items()) or targets:
        return None
    while given and given[-1][1].has_default and _same(given[-1][0], given[-1][1].default_value):
        given.pop()
    return tuple(value for value, _ in given), named


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return a is b
    return type(a) is type(b) and bool(a == b)


def _fitted(kind: str, value: Any, name: str) -> tuple[Any] | None:
    """The value as an argument of a type takes it, in a tuple; None where it does not."""
    optional = kind.endswith("?")
    if optional:
        kind = kind[:-1]
    match = re.match(r"(\w+)(\??)\[(\d*)\]$", kind)
    if match is not None:
        elements = list(value) if isinstance(value, (list, tuple)) else [value]
        single = not isinstance(value, (list, tuple)) and not match.group(3)
        inner = match.group(1)
        fits = all(one is None and match.group(2) or _fitted(inner, one, name) for one in elements)
        return (elements,) if fits and not single else None
    if kind == "Tensor":
        short = name.removeprefix("aten::").rstrip("_")
        return (value,) if isinstance(value, Tensor) or (
            short in _WITH_TENSOR_FORM and isinstance(value, (int, float, complex))) else None
    if kind == "int" and isinstance(value, str) and value in _REDUCTIONS:
        return (_REDUCTIONS[value],)
    wanted = _KINDS.get(kind)
    if wanted is None:
        return (value,)
    if isinstance(value, bool) and kind != "bool":
        return (value,) if kind == "Scalar" else None
    return (value,) if isinstance(value, wanted) else None
