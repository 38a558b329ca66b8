"""Functions of NumPy's arrays as functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import flambeau


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function of NumPy's arrays take and give tensors.

    Args:
        fn: it gets an array for each tensor among its arguments, also in lists, tuples and dicts.

    Returns:
        A function that gives a tensor for each array among the results; memory is shared.

    Example:
        >>> import flambeau, numpy
        >>> from flambeau import compiler
        >>> @compiler.wrap_numpy
        ... def total(x):
        ...     return numpy.sum(x, axis=0)
        >>> total(flambeau.ones(3, 2))
        tensor([3., 3.])
    """
    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        import numpy

        args, kwargs = _map(flambeau.Tensor, lambda tensor: tensor.numpy(), (args, kwargs))
        arrays = (numpy.ndarray, numpy.generic)
        return _map(arrays, flambeau.as_tensor, fn(*args, **kwargs))
    return run


def _map(kind: Any, change: Callable[[Any], Any], tree: Any) -> Any:
    if isinstance(tree, kind):
        return change(tree)
    if isinstance(tree, dict):
        return {key: _map(kind, change, item) for key, item in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_map(kind, change, item) for item in tree)
    return tree
