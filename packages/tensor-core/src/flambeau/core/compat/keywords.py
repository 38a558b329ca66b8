"""The arguments of a shown call: PyTorch's Python functions give options by name, defaults too.

A class written for PyTorch finds ``kwargs["p"]`` whether a program wrote ``dropout(x, 0.5)`` or
``dropout(x)``. What PyTorch has in C++ is shown as it was called.
"""
from __future__ import annotations

import inspect
from functools import cache
from typing import Any

#: Functions of the root that are Python's in PyTorch and have options.
_OF_ROOT = frozenset(
    "cdist lobpcg lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique "
    "unique_consecutive".split())
#: Functions of nn.functional that are C++ in PyTorch.
_SHOWN_AS_CALLED = frozenset(
    "avg_pool2d avg_pool3d conv_tbc elu_ gelu hardsigmoid_ hardswish_ hardtanh_ leaky_relu_ linear "
    "logsigmoid mish_ one_hot relu6_ scaled_dot_product_attention silu_ softplus "
    "softshrink".split())
#: Functions of nn.functional that lie in other modules here.
_IN_OTHER_MODULES = frozenset(("multi_head_attention_forward", "linear_cross_entropy"))
_WITH_OUT = frozenset(("norm", "normalize", "tensordot"))       # not in their signatures here
_NUMBERS_PER_DIM = {(0,): 0, (1,): 1}   # defaults here that PyTorch writes as a number


def by_name(function: Any, args: tuple[Any, ...], kwargs: Any) -> tuple[tuple[Any, ...], Any]:
    """The arguments as PyTorch shows them.

    Args:
        function: What was called.
        args: Its positional arguments.
        kwargs: Its keywords, or None.

    Returns:
        The required arguments, and every option by name; the call as it was where PyTorch has
        the function in C++, or where the arguments do not fit.
    """
    layout = _layout(function)
    if layout is None:
        return args, kwargs
    names, needed, defaults = layout
    given = dict(zip(names, args, strict=False))
    if kwargs:
        given.update(kwargs)
    if needed is None:              # tensors in any number
        return args, {**defaults, **given}
    known = set(given) <= {*names, *defaults} and set(names[:needed]) <= set(given)
    if not known or len(given) < len(args) + len(kwargs or ()):
        return args, kwargs
    required = tuple(given.pop(name) for name in names[:needed])
    return required, {**defaults, **given}


@cache
def _layout(function: Any) -> tuple[tuple[str, ...], int | None, dict[str, Any]] | None:
    """Positional names, how many of them are required, and the options with their defaults."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None) or ""
    space = module.partition(".")[2]
    if not (space == "" and name in _OF_ROOT
            or space == "nn.functional" and name not in _SHOWN_AS_CALLED
            or space.startswith("nn.") and name in _IN_OTHER_MODULES):
        return None
    parameters = inspect.signature(function).parameters.values()
    options = {p.name: _NUMBERS_PER_DIM.get(p.default, p.default) if isinstance(p.default, tuple)
               else p.default for p in parameters if p.default is not p.empty}
    if name in _WITH_OUT:
        options["out"] = None
    if name == "meshgrid":
        return (), None, options
    names = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
    return names, sum(p.default is p.empty for p in parameters), options
