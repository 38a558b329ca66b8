"""Parametrizations: a parameter that is computed from others each time it is read.

``register_parametrization(module, "weight", f)`` makes ``module.weight`` the value of ``f`` at
the parameters that are trained, ``module.parametrizations.weight.original`` and so on. The module
gets a class of its own, whose attribute ``weight`` computes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau import Tensor

from ..modules.container import ModuleDict
from ..modules.module import Module
from ..parameter import Parameter
from ._parametrization_list import ParametrizationList, check_another, register, store

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class _Cache(threading.local):
    """Values computed inside ``cached()``, by owner and name; each thread has its own."""

    depth = 0

    def __init__(self) -> None:
        self.values: dict[tuple[int, str], Tensor] = {}


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Inside this context each parametrized tensor is computed once, when it is first read.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.nn.utils import parametrize
        >>> class Twice(nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Twice())
        >>> with parametrize.cached():
        ...     layer.weight is layer.weight
        True
        >>> layer.weight is layer.weight
        False
    """
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values.clear()


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer of a module the value of ``parametrization``.

    Several on the same tensor apply one after the other. Assigning to the tensor calls
    ``right_inverse`` of the parametrizations, last to first, and stores what comes out.

    Args:
        module: The module that has the tensor.
        tensor_name: The name of the tensor.
        parametrization: Its ``forward`` maps the original to the tensor. If it has a method
            ``right_inverse``, the original is what that makes of the tensor's value; it may give
            several tensors, which ``forward`` then takes.
        unsafe: Allow a change of dtype or shape, and do not check.

    Returns:
        The module.

    Raises:
        ValueError: There is no such tensor, or the result does not fit it.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.nn.utils import parametrize
        >>> class Symmetric(nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        ...     def right_inverse(self, a):
        ...         return a.triu()
        >>> layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.mT).all())
        True
        >>> layer.weight = flambeau.eye(3)
        >>> layer.weight.tolist() == flambeau.eye(3).tolist()
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            check_another(getattr(module, tensor_name), parametrization)
        parametrizations = module.parametrizations[tensor_name]
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"{type(module).__name__} has no parameter or buffer named {tensor_name!r}; it has "
            f"{[*module._parameters, *module._buffers]}"
        )
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = made
    module.__class__ = _computing_class(
        type_before_parametrizations(module), list(module.parametrizations)
    )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrization, of one tensor or of any.

    Args:
        module: The module.
        tensor_name: The tensor asked for; any when left out.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(nn.Linear(2, 2))
        >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
        (True, False)
    """
    registered = getattr(module, "parametrizations", None)
    if not isinstance(registered, ModuleDict):
        return False
    return len(registered) > 0 if tensor_name is None else tensor_name in registered


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a tensor a plain parameter or buffer again.

    Args:
        module: The module.
        tensor_name: The tensor.
        leave_parametrized: Keep the value that was computed; otherwise the original, which is
            possible where there is one original.

    Returns:
        The module.

    Raises:
        ValueError: It is not parametrized, or several tensors would have to be left.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(nn.Linear(2, 2))
        >>> parametrize.remove_parametrizations(layer, "weight")
        Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{type(module).__name__} has no parametrization of {tensor_name!r}")
    parametrizations = module.parametrizations[tensor_name]
    if not leave_parametrized and not parametrizations.is_tensor:
        raise ValueError(
            f"{tensor_name!r} is computed from {parametrizations.ntensors} tensors, which cannot "
            "be left in its place: write leave_parametrized=True"
        )
    with flambeau.no_grad():
        value = getattr(module, tensor_name).detach()
    if parametrizations.is_tensor:
        left = parametrizations.original
        if leave_parametrized:
            store(left, value)
    else:
        trained = parametrizations.originals()[0]
        left = Parameter(value, trained.requires_grad) if isinstance(trained, Parameter) else value
    layer = type_before_parametrizations(module)
    del module.parametrizations[tensor_name]
    if is_parametrized(module):
        module.__class__ = _computing_class(layer, list(module.parametrizations))
    else:
        del module.parametrizations
        module.__class__ = layer
    register(module, tensor_name, left)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before parametrizations were registered.

    Args:
        module: The module.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(nn.Linear(2, 2))
        >>> type(layer).__name__, parametrize.type_before_parametrizations(layer).__name__
        ('ParametrizedLinear', 'Linear')
    """
    made = type(module)
    return made.__bases__[1] if issubclass(made, _Computing) else made


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another, and the tensors that they compute from.

    Args:
        from_module: The module that has them.
        to_module: The module that gets them; a tensor it lacks is made.
        tensor_name: The tensor; all when left out.

    Returns:
        ``to_module``.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.nn.utils import parametrizations, parametrize
        >>> one, other = parametrizations.weight_norm(nn.Linear(2, 2)), nn.Linear(2, 2)
        >>> _ = parametrize.transfer_parametrizations_and_params(one, other)
        >>> bool((one.weight == other.weight).all())
        True
    """
    if not is_parametrized(from_module):
        return to_module
    names: Iterable[str] = from_module.parametrizations if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for key in (*source._parameters, *source._buffers):
            setattr(target, key, getattr(source, key))
    return to_module


class _Computing:
    """Mixed into the class of a module with parametrized tensors."""

    parametrizations: Any

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self)._parametrized:  # type: ignore[attr-defined]
            self.parametrizations[name].right_inverse(value)
        else:
            super().__setattr__(name, value)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        made = type(self)
        layer, names = made.__bases__[1], made._parametrized  # type: ignore[attr-defined]
        return _rebuild, (layer, names), self.__dict__.copy()


_classes: weakref.WeakValueDictionary[Any, type] = weakref.WeakValueDictionary()


def _computing_class(layer: type, names: list[str]) -> Any:
    """A class like ``layer`` in which attributes of these names compute; copies share it."""
    key = layer, tuple(names)
    made = _classes.get(key)
    if made is None:
        members: dict[str, Any] = {name: property(_reader(name)) for name in names}
        members["_parametrized"] = names
        made = type(f"Parametrized{layer.__name__}", (_Computing, layer), members)
        made = _classes.setdefault(key, made)
    return made


def _reader(name: str) -> Any:
    def read(module: Any) -> Tensor:
        parametrizations = module.parametrizations[name]
        if not _cache.depth:
            return parametrizations()
        key = id(module), name
        if key not in _cache.values:
            _cache.values[key] = parametrizations()
        return _cache.values[key]

    return read


def _rebuild(layer: type, names: list[str]) -> Any:
    made = _computing_class(layer, names)
    return made.__new__(made)
