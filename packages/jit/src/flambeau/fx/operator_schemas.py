"""Signatures of what graphs call."""

from __future__ import annotations

import inspect
import numbers
import operator
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau
from flambeau.core import Operator
from flambeau.core.homes import own_module
from flambeau.fx._forms import chosen, forms_of

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint",
           "get_signature_for_torch_op", "normalize_function", "normalize_module", "type_matches"]


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call.

    Args:
        args: The positional ones.
        kwargs: The named ones.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of an operator of this library; None for other functions.

    Args:
        op: The function.
        return_schemas: Return a pair, with the operator's forms.
    """
    if not isinstance(op, Operator):
        return (None, None) if return_schemas else None
    signatures = op.signatures
    return (signatures, list(op.keys)) if return_schemas else signatures


def check_for_mutable_operation(target: Any, args: Any, kwargs: Any) -> None:
    """Raise RuntimeError for an operator that writes to its argument.

    A function such as ``relu(x, inplace=True)`` is not one, as in PyTorch.

    Args:
        target: The function.
        args: Its positional arguments.
        kwargs: Its named arguments.
    """
    name = getattr(target, "__name__", "")
    writes = isinstance(target, Operator) and name.endswith("_") and not name.endswith("__")
    if writes or kwargs.get("out") is not None:
        raise RuntimeError(f"Tried to trace mutable operation {name}. FX only supports functional "
                           "code, so operations that mutate operands in-place (e.g. via `out` "
                           "arguments) are not supported")


def _bound(target: Any, args: Any, kwargs: Any, all_named: bool, arg_types: Any = None,
           kwarg_types: Any = None) -> ArgsKwargsPair | None:
    try:
        bound = chosen(forms_of(target), args, kwargs, arg_types, kwarg_types)
    except (TypeError, ValueError):
        return None
    if bound is None:
        return None
    given, named = [], {}
    for at, (name, parameter) in enumerate(bound.signature.parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return None
        positional_only = parameter.kind is parameter.POSITIONAL_ONLY
        if positional_only or (not all_named and at < len(args)):
            given.append(bound.arguments[name])
        else:
            first = name == "self" and isinstance(target, Operator)
            named["input" if first else name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(given), named)


def normalize_function(target: Callable[..., Any], args: tuple[Any, ...],
                       kwargs: dict[str, Any] | None = None, arg_types: Any = None,
                       kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False
                       ) -> ArgsKwargsPair | None:
    """The arguments of a function as its signature has them, defaults filled in.

    Args:
        target: The function.
        args: Positional arguments.
        kwargs: Named arguments.
        arg_types: Types of positional arguments, for functions with several forms.
        kwarg_types: Types of named arguments.
        normalize_to_only_use_kwargs: Name every argument.

    Returns:
        The arguments; None where the signature is unknown, does not fit, or several may.
    """
    if getattr(target, "__module__", None) == operator.add.__module__:
        return None
    return _bound(target, args, kwargs or {}, normalize_to_only_use_kwargs, arg_types, kwarg_types)


def normalize_module(root: Any, target: str, args: tuple[Any, ...],
                     kwargs: dict[str, Any] | None = None,
                     normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """The arguments of a module as its ``forward`` has them, defaults filled in.

    Args:
        root: The module that the path is of.
        target: The path.
        args: Positional arguments.
        kwargs: Named arguments.
        normalize_to_only_use_kwargs: Name every argument.

    Returns:
        The arguments; None where the module is not one of this library.
    """
    module = root.get_submodule(target)
    if not own_module(type(module)).startswith("flambeau.nn"):
        return None
    return _bound(module.forward, args, kwargs or {}, normalize_to_only_use_kwargs)


def create_type_hint(x: Any) -> Any:
    """The type of a list or tuple of types.

    Args:
        x: Types, nested.
    """
    if isinstance(x, list):
        return types.GenericAlias(list, (_common(x),)) if x else list[Any]
    if isinstance(x, tuple):
        return types.GenericAlias(tuple, (_common(x), ...)) if x else tuple[Any, ...]
    return x


def _common(kinds: Any) -> Any:
    """The type that all of several are, or are subclasses of; Any where there is none."""
    kinds = [create_type_hint(each) for each in kinds]
    plain = all(isinstance(each, type) for each in kinds)
    return next((each for each in kinds if all(
        other == each or (plain and issubclass(other, each)) for other in kinds)), Any)


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of one type fits a parameter of another one.

    Args:
        signature_type: The parameter's.
        argument_type: The argument's.
    """
    if signature_type is argument_type or signature_type is inspect.Parameter.empty:
        return True
    base, inner = typing.get_origin(signature_type), typing.get_args(signature_type)
    if base in (typing.Union, types.UnionType):
        return any(type_matches(each, argument_type) for each in inner)
    if base is list:
        return _items_match(inner[0], argument_type)
    if signature_type is numbers.Number:
        return argument_type in (int, float)
    if signature_type in (float, int) and argument_type in (int, flambeau.dtype):
        return signature_type is float or argument_type is flambeau.dtype
    return isinstance(signature_type, type) and isinstance(argument_type, type) \
        and issubclass(argument_type, signature_type)


def _items_match(wanted: Any, given: Any) -> bool:
    """Whether lists or tuples of a type fit a list of another one; an int fits one of ints."""
    if given is int and wanted is int:
        return True
    if typing.get_origin(given) not in (list, tuple) or not isinstance(wanted, type):
        return False
    return all(each is Ellipsis or (isinstance(each, type) and issubclass(each, wanted))
               for each in typing.get_args(given))
