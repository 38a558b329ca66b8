"""The ways to call a function: which of them a call of a graph means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau
from flambeau.core import Operator, _core
from flambeau.fx.node import Node

__all__ = ["Form", "chosen", "forms_of", "signature_of"]


class Form(NamedTuple):
    """One way to call a function: its parameters, and their kinds by name where they are known."""

    signature: inspect.Signature
    kinds: dict[str, str]


def forms_of(target: Callable[..., Any]) -> list[Form]:
    """The ways to call a function.

    Raises:
        ValueError: They are unknown.
    """
    if isinstance(target, Operator):
        kinds = [{each.name: each.kind for each in _core.find_op(key).parameters}
                 for key in target.keys]
        return [Form(*pair) for pair in zip(target.signatures, kinds, strict=True)]
    if hasattr(target, "overloads"):
        schemas = [getattr(target, name)._schema for name in target.overloads()]
        return [_of_schema(each) for each in schemas if each is not None]
    schema = getattr(target, "_schema", None)
    return [Form(inspect.signature(target), {}) if schema is None else _of_schema(schema)]


def signature_of(target: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, or of a form of an operator of ``flambeau.ops``.

    Raises:
        ValueError: It is unknown.
    """
    return forms_of(target)[0].signature


def _of_schema(schema: Any) -> Form:
    """A form of an operator of ``flambeau.ops``."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    names = {each.name: "input" if each.name == "self" else each.name for each in schema.arguments}
    signature = inspect.Signature([
        inspect.Parameter(names[each.name], kinds[each.kwarg_only],
                          default=each.default_value if each.has_default else inspect._empty)
        for each in schema.arguments])
    return Form(signature, {names[each.name]: each.type for each in schema.arguments})


def _matches(kind: str | None, given: Any) -> bool | None:
    """Whether a parameter of a kind takes a value of a type; None: who knows."""
    if kind is None or given is None:
        return None
    if isinstance(given, type) and issubclass(given, flambeau.Tensor):
        return not kind.startswith(("int", "SymInt", "float", "bool", "str"))
    if given is bool:
        return kind != "Tensor" and not kind.startswith(("int", "SymInt", "float"))
    if given in (int, float, bool, complex, str):
        return kind != "Tensor"
    return None


def chosen(forms: list[Form], args: Any, kwargs: Any, arg_types: Any,
           kwarg_types: Any) -> inspect.BoundArguments | None:
    """The arguments in the form that is called; None where none fits, or several may.

    Args:
        forms: The ways to call a function.
        args: Positional arguments, nodes among them.
        kwargs: Named arguments.
        arg_types: Types of positional arguments; None: those of the values that are no nodes.
        kwarg_types: Types of named arguments.
    """
    fitting = []
    for form in forms:
        try:
            fitting.append((form, form.signature.bind(*args, **kwargs)))
        except TypeError:
            continue
    if len(fitting) > 1:
        fitting = _of_types(fitting, args, kwargs, arg_types, kwarg_types)
    if not fitting:
        return None
    fitting[0][1].apply_defaults()
    return fitting[0][1]


def _of_types(fitting: list[tuple[Form, inspect.BoundArguments]], args: Any, kwargs: Any,
              arg_types: Any, kwarg_types: Any) -> list[tuple[Form, inspect.BoundArguments]]:
    """Of forms the ones that take arguments of these types; none where several may."""
    def types_of(values: Any) -> list[Any]:
        return [None if isinstance(each, Node) else type(each) for each in values]

    positional = types_of(args) if arg_types is None else [*arg_types][:len(args)]
    named = dict(zip(kwargs, types_of(kwargs.values()), strict=True))
    named.update((name, kind) for name, kind in (kwarg_types or {}).items() if name in named)
    kept, seen = [], []
    for form, bound in fitting:
        given = form.signature.bind_partial(*positional, **named).arguments
        pairs = [(form.kinds.get(name), kind) for name, kind in given.items()]
        if all(_matches(*pair) is not False for pair in pairs):
            kept.append((form, bound))
            seen.append(pairs)
    is_sure = None not in (*positional, *named.values())
    return kept if is_sure or all(each == seen[0] for each in seen) else []
