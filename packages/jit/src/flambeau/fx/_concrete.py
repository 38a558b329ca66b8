"""Parameters of a recorded function: placeholders, and constants that were given for some."""

from __future__ import annotations

import inspect
import typing
import warnings
from typing import Any

import flambeau
import flambeau.fx._names as _names
import flambeau.fx._pytree as fx_pytree
from flambeau.core import pytree
from flambeau.core.homes import own_module
from flambeau.fx._arguments import _assert, assert_is_none
from flambeau.fx._codegen import CodeGen
from flambeau.fx.node import base_types


class PHBase:
    """Stands in ``concrete_args`` for what remains a parameter."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """The same, with an argument whose ``meta``-like attributes its node gets.

    Args:
        ph_key: A name for the node's ``meta``.
    """

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


class NestedCode(CodeGen):
    """Functions whose arguments, and results, are nested.

    Args:
        names: The function's parameters.
        in_spec: How their leaves lie in them.
    """

    def __init__(self, names: list[str], in_spec: Any) -> None:
        super().__init__()
        self.names = names
        self.in_spec = in_spec
        self.out_spec: Any = None

    def process_inputs(self, *args: Any) -> Any:
        return fx_pytree.tree_flatten_spec(args, self.in_spec)

    def process_outputs(self, outputs: Any) -> Any:
        return outputs if self.out_spec is None else \
            pytree.tree_unflatten(list(outputs), self.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        head = super().gen_fn_def(list(self.names), maybe_return_annotation)
        plain = [each.split("=")[0].split(":")[0].strip() for each in free_vars]
        left = ", ".join(plain) + ("," if len(plain) == 1 else "")
        given = ", ".join(self.names) + ("," if len(self.names) == 1 else "")
        return f"{head}\n    {left} = fx_pytree.tree_flatten_spec(({given}), self._in_spec)"

    def generate_output(self, output_args: Any) -> str:
        if self.out_spec is None:
            return f"return {output_args!r}"
        return f"return fx_pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("fx_pytree", fx_pytree)]


def parameters(tracer: Any, root_fn: Any, is_module: bool, concrete: Any) -> tuple[Any, list[Any]]:
    """What ``Tracer.create_args_for_root`` returns."""
    fn = inspect.unwrap(root_fn)
    code = getattr(fn, "__code__", None)
    if code is None:
        raise TypeError(f"{root_fn!r} cannot be traced: it is no function that is written in "
                        "Python; trace a def that calls it")
    names = list(code.co_varnames)
    total = code.co_argcount + code.co_kwonlyargcount
    signature = inspect.signature(fn)
    args: list[Any] = [tracer.root] if is_module else []
    if is_module and total == 0:
        raise RuntimeError("``self`` argument cannot be part of *args expansion!")
    if isinstance(concrete, tuple):
        wanted = names[1 if is_module else 0:total]
        if len(wanted) != len(concrete):
            raise RuntimeError(f"concrete_args as a tuple must have {len(wanted)} items, one for "
                               f"each of {', '.join(wanted)}")
        concrete = dict(zip(wanted, concrete, strict=True))
    for name in names[len(args):total]:
        parameter = signature.parameters.get(name)
        default = parameter.default if parameter is not None else inspect.Parameter.empty
        if concrete is not None and name in concrete:
            made = _constant(tracer, name, concrete[name], default)
        else:
            made = tracer._proxy_placeholder(name, default, _annotation(fn, name))
        args.append(made)
    if concrete and any(not _is_leaf(concrete[name]) for name in concrete):
        return _flattened(tracer, root_fn, args, names[:total])
    at = total
    if code.co_flags & inspect.CO_VARARGS:
        args.append(tracer._proxy_placeholder("*" + names[at], inspect.Parameter.empty, None))
        at += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        args.append(tracer._proxy_placeholder("**" + names[at], inspect.Parameter.empty, None))
    return _caller(root_fn, code), args


def _caller(fn: Any, code: Any) -> Any:
    """A function of positional arguments, whatever kinds of parameters there are."""
    if not code.co_kwonlyargcount and not code.co_flags & (inspect.CO_VARARGS
                                                           | inspect.CO_VARKEYWORDS):
        return fn
    positional, keywords = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[positional:positional + keywords]

    def call(*args: Any) -> Any:
        return _Bare(fn, code)(args, positional, names)

    call.__wrapped__ = fn  # type: ignore[attr-defined]
    return _with_globals(call, fn)


def _with_globals(call: Any, fn: Any) -> Any:
    call.names = getattr(fn, "__globals__", {})
    return call


class _Bare:
    """Calls a function with the proxies of ``*args`` and ``**kwargs`` as they are."""

    def __init__(self, fn: Any, code: Any) -> None:
        import types

        flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS)
        count += bool(code.co_flags & inspect.CO_VARKEYWORDS)
        bare = inspect.unwrap(fn)
        plain = code.replace(co_flags=flags, co_argcount=count, co_kwonlyargcount=0,
                             co_posonlyargcount=0)
        self.fn = types.FunctionType(plain, bare.__globals__, bare.__name__, None,
                                     bare.__closure__)

    def __call__(self, args: Any, positional: int, names: Any) -> Any:
        return self.fn(*args)


def _annotation(fn: Any, name: str) -> Any:
    if own_module(fn).startswith("flambeau"):
        return None
    kind = getattr(fn, "__annotations__", {}).get(name)
    return resolved(fn, name) if isinstance(kind, str) else kind


def resolved(fn: Any, name: str) -> Any:
    """What an annotation that is a string means; None where that is unknown."""
    try:
        return typing.get_type_hints(fn).get(name)
    except (NameError, TypeError, AttributeError):
        return None


def _is_leaf(value: Any) -> bool:
    leaf: bool = pytree.tree_flatten(value)[1].is_leaf()
    return leaf


def _constant(tracer: Any, name: str, value: Any, default: Any) -> Any:
    """A constant for a parameter: its leaves are checked when the graph runs."""
    count = 0

    def leaf(x: Any) -> Any:
        nonlocal count
        count += 1
        made = tracer._proxy_placeholder(f"{name}_{count}", default, None)
        if isinstance(x, PHBase):
            if isinstance(x, PHWithMeta):
                vars(made.node).update(vars(x))
            return made
        text = f"{name} has been specialized to have value {x} but got another value"
        if x is None:
            tracer.create_proxy("call_function", assert_is_none, (made, text), {})
        elif isinstance(x, base_types) and not isinstance(x, flambeau.Tensor):
            tracer.create_proxy("call_function", _assert, (made == x, text), {})
        else:
            warnings.warn(f"{name} is of a type that calls cannot be checked for: it is a constant "
                          "of the graph, whatever the function is called with", stacklevel=4)
        return x

    return pytree.tree_map(leaf, value)


def _flattened(tracer: Any, fn: Any, args: list[Any], names: list[str]) -> tuple[Any, list[Any]]:
    skip = 1 if args and args[0] is tracer.root else 0
    leaves, spec = pytree.tree_flatten(tuple(args[skip:]))
    codegen = NestedCode(names[skip:], spec)
    tracer.graph.set_codegen(codegen)

    def call(*flat: Any) -> Any:
        result = fn(*args[:skip], *pytree.tree_unflatten(list(flat), spec))
        out, codegen.out_spec = pytree.tree_flatten(result)
        return list(out)

    return call, list(leaves)


_names.register_global("fx_pytree", "import flambeau.fx._pytree as fx_pytree", fx_pytree)


def return_type(fn: Any) -> Any:
    """What a function is annotated to return, if it is no function of this library."""
    if own_module(fn).startswith("flambeau"):
        return None
    kind = getattr(fn, "__annotations__", {}).get("return")
    return resolved(fn, "return") if isinstance(kind, str) else kind
