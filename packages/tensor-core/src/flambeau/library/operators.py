"""Operators under PyTorch's names: ``ops.mylib.scale``, and its overloads ``.default``."""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from flambeau import rooms
from flambeau.core import _core
from flambeau.library.schemas import FunctionSchema

#: ``"mylib::scale.default"`` -> its definition.
definitions: dict[str, Definition] = {}
#: Namespaces whose operators are functions of a room -> the module with a table of them.
SPACES = {"quantized": "ao.operators.quantized",
          "quantized_decomposed": "ao.operators.decomposed"}


def table(space: str) -> dict[str, Callable[..., Any]]:
    """The functions of such a namespace, by ``name`` or ``name.overload``."""
    found: dict[str, Callable[..., Any]] = rooms.import_module(
        rooms.PREFIX + SPACES[space]).OPERATORS
    return found


class Definition:
    """What was registered for one overload of an operator."""

    def __init__(self, schema: FunctionSchema, tags: Any = ()) -> None:
        self.schema = schema
        self.tags = list(tags) if isinstance(tags, (list, tuple)) else [tags]
        self.kernels: dict[str, Callable[..., Any]] = {}    # "cpu", "" for all, "composite"
        self.disabled: set[str] = set()
        self.fake: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.autograd: Callable[..., Any] | None = None     # a kernel for the key Autograd
        self.autocast: dict[str, Callable[..., Any]] = {}   # "cpu", "cuda"
        self.vmap: Callable[..., Any] | None = None
        self.torch_function: dict[type, Callable[..., Any]] = {}
        self.function: Any = None                           # the autograd.Function, once made
        self.makes_new = False      # results that are arguments are refused: custom_op

    @property
    def name(self) -> str:
        """``mylib::scale``."""
        return self.schema.name

    def overload(self) -> OpOverload:
        """The operator as programs see it."""
        space, _, short = self.name.partition("::")
        found: OpOverload = getattr(getattr(getattr(ops, space), short),
                                    self.schema.overload_name or "default")
        return found


class Shown:
    """A call that a mode is shown, and how to run it as it came."""

    def __init__(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any],
                 run: Callable[[], Any]) -> None:
        self.func, self.args, self.kwargs, self.run = func, args, kwargs, run

    def is_call(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call is the one that was shown."""
        return (func is self.func and _same(args, self.args)
                and kwargs.keys() == self.kwargs.keys()
                and all(_same(kwargs[name], value) for name, value in self.kwargs.items()))


def handler(func: OpOverload, asked: Any) -> Callable[..., Any]:
    """What a mode or a class does with an operator: a function of types, arguments, keywords."""
    found = definitions.get(func._key)
    for kind in asked.__mro__ if isinstance(asked, type) else type(asked).__mro__:
        if found is not None and kind in found.torch_function:
            return functools.partial(found.torch_function[kind], asked, func)
    return functools.partial(getattr(asked, "__torch_dispatch__"), func)  # noqa: B009


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    return a is b or (type(a) is type(b) and isinstance(a, (int, float, str, _core.dtype))
                      and bool(a == b))


class _Calls(threading.local):
    """The calls that modes are shown on this thread, innermost last."""

    def __init__(self) -> None:
        self.list: list[Shown] = []


shown = _Calls()


class OpOverload:
    """One form of an operator, callable."""

    def __init__(self, packet: OpOverloadPacket, overload: str, schema: Any = None) -> None:
        self._packet, self._overloadname = packet, overload
        self._given_schema = schema
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = self.__name__
        self.__module__ = packet.__module__

    @property
    def _schema(self) -> Any:
        if self._given_schema is None and self.namespace == "aten":
            from flambeau.library.aten import schema

            self._given_schema = schema(self._packet.__name__, self._overloadname)
        elif self._given_schema is None and self.namespace == "flambeau":
            from flambeau.library.schemas import schema_of_definition

            self._given_schema = schema_of_definition(self._packet.__name__)
        return self._given_schema

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        return self._packet

    @property
    def namespace(self) -> str:
        return self._packet._space

    @property
    def tags(self) -> list[Any]:
        found = definitions.get(self._key)
        return found.tags if found else []

    @property
    def _key(self) -> str:
        return f"{self._packet._qualified_op_name}.{self._overloadname}"

    @property
    def is_view(self) -> bool:
        """Whether the result shares the memory of an argument that is not written to."""
        found = self._schema
        return found is not None and any(
            a.alias_info is not None and not a.is_write for a in found.arguments)

    def name(self) -> str:
        """``aten::add.Tensor``, and ``aten::mm`` for the overload ``default``."""
        return self._key.removesuffix(".default")

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether something was registered for a key such as ``"CPU"``."""
        found = definitions.get(self._key)
        return found is not None and str(key).rpartition(".")[2].lower() in found.kernels

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if shown.list and shown.list[-1].is_call(self, args, kwargs):
            return shown.list[-1].run()
        if _core.any_shown(*args, *kwargs.values()):
            return _core.show_call(self, args, kwargs)
        found = definitions.get(self._key)
        if found is not None:
            from flambeau.library.calls import call

            return call(found, args, kwargs)
        return self._packet._function(self._overloadname)(*args, **kwargs)

    redispatch = __call__

    @property
    def direct(self) -> Callable[..., Any]:
        """The function of an operator that a room has, shown to nobody; others have none."""
        if self.namespace not in SPACES:
            raise AttributeError("direct")
        return self._packet._function(self._overloadname)

    def __str__(self) -> str:
        return f"{self._packet}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._packet}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return _overload_named, (self._packet._qualified_op_name, self._overloadname)


def _overload_named(name: str, overload: str) -> Any:
    space, _, short = name.partition("::")
    return getattr(getattr(getattr(ops, space), short), overload)


class OpOverloadPacket:
    """All forms of an operator; calling it chooses one."""

    def __init__(self, space: str, name: str) -> None:
        self._space, self.__name__ = space, name
        self.__module__ = f"flambeau.ops.{space}"
        self._qualified_op_name = f"{space}::{name}"
        self._made: dict[str, OpOverload] = {}

    def overloads(self) -> list[str]:
        """The names of the forms."""
        start = self._qualified_op_name + "."
        registered = [key[len(start):] for key in definitions if key.startswith(start)]
        if registered:
            return registered
        if self._space == "flambeau":
            return ["default"]
        if self._space in SPACES:
            forms = [key.partition(".") for key in table(self._space)]
            return [form or "default" for name, _, form in forms if name == self.__name__]
        from flambeau.library.aten import overloads

        return overloads(self.__name__)

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._made:
            known = self.overloads()
            if name not in known:
                raise AttributeError(f"The underlying op of '{self}' has no overload name "
                                     f"'{name}'; it has {known}")
            found = definitions.get(f"{self._qualified_op_name}.{name}")
            self._made[name] = OpOverload(self, name, found.schema if found else None)
        return self._made[name]

    @property
    def direct(self) -> Callable[..., Any]:
        """The function of an operator that a room has, shown to nobody; others have none."""
        if self._space not in SPACES:
            raise AttributeError("direct")
        return self._function()

    def _function(self, overload: str = "default") -> Callable[..., Any]:
        if self._space in SPACES:
            key = self.__name__ if overload == "default" else f"{self.__name__}.{overload}"
            return table(self._space)[key]
        if self._space == "flambeau":
            key = own_key(self.__name__) or self.__name__
            return lambda *args, out=None: _core.call(key, args, out)
        from flambeau.library.aten import function

        found: Callable[..., Any] = function(self.__name__)
        return found

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if _core.any_shown(*args, *kwargs.values()):
            return _core.show_call(self, args, kwargs)
        start = self._qualified_op_name + "."
        forms = [found for key, found in definitions.items() if key.startswith(start)]
        if not forms:
            return self._function()(*args, **kwargs)
        failure: Exception | None = None
        for form in forms:
            try:
                form.schema.bind(args, kwargs)
            except RuntimeError as error:
                failure = failure or error
                continue
            return getattr(self, form.schema.overload_name or "default")(*args, **kwargs)
        raise failure or RuntimeError(f"{self} has no form")

    def __str__(self) -> str:
        return f"{self._space}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.overloads()]


def own_key(name: str) -> str | None:
    """The key of a definition from its name in ``flambeau.ops.flambeau``: dots are ``__``."""
    base, mark, param = name.rpartition("__d_")
    derived = base.replace("__", ".") + mark + param if mark else name
    for key in (name, name.replace("__", "."), derived):
        try:
            _core.find_op(key)
        except KeyError:
            continue
        return key
    return None


class Namespace:
    """The operators of a library."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._has(name):
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}': "
                                 "no such operator was registered; see flambeau.library.custom_op")
        packet = OpOverloadPacket(self._name, name)
        self.__dict__[name] = packet
        return packet

    def _has(self, name: str) -> bool:
        start = f"{self._name}::{name}."
        if any(key.startswith(start) for key in definitions):
            return True
        if self._name == "flambeau":
            return own_key(name) is not None
        if self._name in SPACES:
            return rooms.installed(SPACES[self._name].partition(".")[0]) and any(
                key.partition(".")[0] == name for key in table(self._name))
        if self._name != "aten":
            return False
        from flambeau.library.aten import knows

        return knows(name)

    def __repr__(self) -> str:
        return f"<namespace {self._name} of flambeau.ops>"


class Namespaces:
    """What ``flambeau.ops`` looks names up in."""

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        made = self.__dict__[name] = Namespace(name)
        return made


ops = Namespaces()
