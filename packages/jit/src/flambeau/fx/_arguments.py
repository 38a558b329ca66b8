"""Calls of this library's functions, as a graph keeps them."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

import flambeau.fx._names as _names
from flambeau.core import Operator
from flambeau.core.compat.asserting import _assert
from flambeau.fx.node import has_side_effect

#: Functions of nn.functional whose arguments are kept as they are written; the others' defaults
#: are filled in, so that a pass finds every argument by its name.
_AS_WRITTEN = frozenset((
    "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "celu_",
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "elu_", "gelu", "hardshrink",
    "hardtanh_", "leaky_relu_", "linear", "logsigmoid", "native_channel_shuffle", "one_hot",
    "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rrelu_",
    "scaled_dot_product_attention", "selu_", "softplus", "softshrink", "threshold_"))


def is_method(function: Any) -> bool:
    """Whether a function is one of tensors, such as ``Tensor.size``."""
    return isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType
                      | types.GetSetDescriptorType)


def assert_is_none(value: Any, message: str = "") -> None:
    """Raise AssertionError where something is not None."""
    _assert(value is None, message)


for _check in (_assert, assert_is_none):
    has_side_effect(_check)


@functools.cache
def _filled_in(function: Operator) -> inspect.Signature | None:
    """The signature of a function whose defaults are filled in, else None."""
    name = function.__name__
    space = (_names.public_name(function) or "").rpartition(".")[0]
    from flambeau.nn import functional

    if getattr(functional, name, None) is not function or name in _AS_WRITTEN:
        return None
    if space not in ("", "nn.functional"):
        return None
    return inspect.signature(function)


def as_recorded(function: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a call as its node has them.

    Args:
        function: The function.
        args: Positional arguments.
        kwargs: Named arguments.
    """
    if not isinstance(function, Operator):
        return args, kwargs
    signature = _filled_in(function)
    if signature is None:
        return args, kwargs
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].name == "self" and "input" in kwargs:
        kwargs = {"self" if key == "input" else key: each for key, each in kwargs.items()}
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return args, kwargs
    bound.apply_defaults()
    needed = [p.name for p in parameters if p.default is p.empty]
    named = {p.name: _plain(bound.arguments[p.name]) for p in parameters
             if p.name not in needed}
    return tuple(bound.arguments[name] for name in needed), named


def _plain(value: Any) -> Any:
    """One number for a tuple of one, as it may be written."""
    return value[0] if type(value) is tuple and len(value) == 1 else value
