"""Registers parameters, buffers and submodules; see Note [members are attributes, too]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau import Tensor

from ...parameter import Buffer, Parameter
from ._everywhere import REGISTRATION, registered
from ._hidden import let_hide
from ._members import KINDS, PLACES, Members, hold, members_of, start


class Attributes:
    """Registers parameters, buffers and submodules as they are assigned."""

    training: bool
    _non_persistent_buffers_set: set[str]  # names of buffers that state_dict leaves out
    _hook_table: Any

    call_super_init = False  # whether __init__ passes its arguments on, for multiple inheritance

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            raise TypeError(_too_many(self, args, kwargs))
        self.__dict__.update(training=True, _hook_table=None, _non_persistent_buffers_set=set())
        start(self)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    @property
    def _parameters(self) -> Members:
        return members_of(self, "_parameters")

    @_parameters.setter
    def _parameters(self, members: Mapping[str, Any]) -> None:
        _replace(self, "_parameters", members)

    @property
    def _buffers(self) -> Members:
        return members_of(self, "_buffers")

    @_buffers.setter
    def _buffers(self, members: Mapping[str, Any]) -> None:
        _replace(self, "_buffers", members)

    @property
    def _modules(self) -> Members:
        return members_of(self, "_modules")

    @_modules.setter
    def _modules(self, members: Mapping[str, Any]) -> None:
        _replace(self, "_modules", members)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or reserve its name with ``None``.

        Args:
            name: The attribute it becomes.
            param: The parameter.

        Raises:
            TypeError: ``param`` is not a ``Parameter``.
            KeyError: The name is empty, has a dot, or is taken.

        Example:
            >>> from flambeau import nn
            >>> layer = nn.Module()
            >>> layer.register_parameter("bias", None)
            >>> layer.bias is None
            True
        """
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(_wrong_value(self, name, param, "parameter"))
        _check_name(self, name, self._parameters, "parameter")
        put(self, name, param, "parameter")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the state but not trained.

        Args:
            name: The attribute it becomes.
            tensor: The buffer, or ``None``.
            persistent: Whether ``state_dict`` contains it.

        Raises:
            TypeError: ``tensor`` is not a tensor.
            KeyError: The name is empty, has a dot, or is taken.

        Example:
            >>> import flambeau
            >>> from flambeau import nn
            >>> layer = nn.Module()
            >>> layer.register_buffer("mean", flambeau.zeros(2))
            >>> list(layer.state_dict())
            ['mean']
        """
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(_wrong_value(self, name, tensor, "buffer"))
        _check_name(self, name, self._buffers, "buffer")
        _put_buffer(self, name, tensor, persistent)

    def register_module(self, name: str, module: Any) -> None:
        """Add a submodule, or reserve its name with ``None``; alias of ``add_module``."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule, or reserve its name with ``None``.

        Args:
            name: The attribute it becomes.
            module: The submodule.

        Raises:
            TypeError: ``module`` is not a ``Module``.
            KeyError: The name is empty, has a dot, or is taken.

        Example:
            >>> from flambeau import nn
            >>> net = nn.Module()
            >>> net.add_module("head", nn.Identity())
            >>> net.head
            Identity()
        """
        if module is not None and not isinstance(module, Attributes):
            raise TypeError(_wrong_value(self, name, module, "module"))
        _check_name(self, name, self._modules, "module")
        put(self, name, module, "module")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            _check_new(self, name, "parameter")
            _forget(self, name, "_parameters")
            if _registers_itself(self, "parameter"):
                self.register_parameter(name, value)
            else:
                put(self, name, value, "parameter")
        elif isinstance(value, Attributes):
            _refuse_over(self, name, value, "parameter")
            _forget(self, name, "_modules")
            put(self, name, value, "module")
        elif isinstance(value, Buffer):
            _refuse_over(self, name, value, "parameter", "module")
            _check_new(self, name, "buffer")
            _forget(self, name, "_buffers")
            if _registers_itself(self, "buffer"):
                self.register_buffer(name, value, value.persistent)
            else:
                _put_buffer(self, name, value, value.persistent)
        else:
            _set_other(self, name, value)

    def __delattr__(self, name: str) -> None:
        own = self.__dict__
        for place in PLACES:
            if name in own.get(place, ()):
                if place == "_buffers":
                    self._non_persistent_buffers_set.discard(name)
                del members_of(self, place)[name]
                return
        object.__delattr__(self, name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copied or unpickled module."""
        self.__dict__.update(state)

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name.isidentifier()]


def _set_other(module: Attributes, name: str, value: Any) -> None:
    """Assign what is no member itself, though it may take a member's place."""
    own = module.__dict__
    for place in ("_parameters", "_modules", "_buffers"):
        if name in own.get(place, ()):
            is_buffer = place == "_buffers" and isinstance(value, Tensor)
            if value is not None and not is_buffer:
                raise TypeError(_wrong_value(module, name, value, KINDS[place]))
            if _registers_itself(module, KINDS[place]):
                keeps = () if place == "_parameters" else (
                    name not in module._non_persistent_buffers_set,)
                getattr(module, f"register_{KINDS[place]}")(name, value, *keeps)
                return
            if is_buffer and REGISTRATION:
                value = registered(module, "buffer", name, value)
            members_of(module, place)[name] = value
            return
    object.__setattr__(module, name, value)


def _refuse_over(module: Attributes, name: str, value: Any, *kinds: str) -> None:
    """Raise if the name is that of a member of one of these kinds."""
    for kind in kinds:
        if name in module.__dict__.get(f"_{kind}s", ()):
            raise TypeError(_wrong_value(module, name, value, kind))


def _check_new(module: Attributes, name: str, kind: str) -> None:
    """Raise if the name is none for a parameter or buffer, or that of a method, say."""
    if name not in members_of(module, f"_{kind}s"):
        _check_spelling(name, kind)
        if hasattr(type(module), name):
            _check_class(module, name)


_REGISTERS = {
    "parameter": Attributes.register_parameter,
    "buffer": Attributes.register_buffer,
}


def _registers_itself(module: Attributes, kind: str) -> bool:
    """Whether a program has a ``register_parameter`` of its own, which assignments call, too.

    So libraries make whole models on another device than their classes say.
    """
    own = _REGISTERS.get(kind)
    return own is not None and getattr(type(module), f"register_{kind}") is not own


def _put_buffer(module: Attributes, name: str, value: Tensor | None, persistent: bool) -> None:
    put(module, name, value, "buffer")
    left_out = module._non_persistent_buffers_set
    (left_out.discard if persistent else left_out.add)(name)


def put(module: Attributes, name: str, value: Any, kind: str) -> None:
    members = members_of(module, f"_{kind}s")
    if REGISTRATION:
        value = registered(module, kind, name, value)
    members[name] = value


def _replace(module: Attributes, place: str, members: Mapping[str, Any]) -> None:
    """Take all members of one kind from a mapping, in place of those there are."""
    given = dict(members)
    members_of(module, place).clear()
    hold(module, place, given).show()


def _forget(module: Attributes, name: str, place: str) -> None:
    """Delete what has a name, other than in one of the places, before that takes it."""
    own = module.__dict__
    if name not in own:
        return
    for other in PLACES:
        if other != place and name in members_of(module, other):
            del members_of(module, other)[name]
    if own.get(name, _ABSENT) is not members_of(module, place).get(name, _ABSENT):
        own.pop(name, None)
    if place != "_buffers":
        module._non_persistent_buffers_set.discard(name)


_ABSENT = object()


def _check_name(module: Attributes, name: str, names: dict[str, Any], kind: str) -> None:
    _check_spelling(name, kind)
    if name not in names:
        _check_class(module, name)


def _check_class(module: Attributes, name: str) -> None:
    """Refuse the name of a method, say; that of a property that raises AttributeError now will do.

    Such a property gives the member from then on, until it gives something else.
    """
    if hasattr(module, name):
        raise KeyError(_taken(module, name))
    if hasattr(type(module), name):
        let_hide(type(module))


def _taken(module: Attributes, name: str) -> str:
    return f"attribute {name!r} already exists in {type(module).__name__}"


def _check_spelling(name: str, kind: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a {kind} is a string, not {type(name).__name__}")
    if name == "":
        raise KeyError(f'the name of a {kind} cannot be the empty string ""')
    if "." in name:
        raise KeyError(
            f"the name of a {kind} cannot contain a dot: {name!r}; dots separate the levels of "
            f"a path, so add the {kind} to the submodule it belongs to"
        )


def _too_many(module: Attributes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    name = f"{type(module).__name__}.__init__()"
    if kwargs:
        return f"{name} got an unexpected keyword argument {next(iter(kwargs))!r}"
    return f"{name} takes no arguments but {len(args)} were given"


def _wrong_value(module: Attributes, name: str, value: Any, kind: str) -> str:
    """Say why ``value`` cannot stand where a member of this kind stands."""
    given = type(value).__name__
    text = f"cannot assign {given} as {kind} {name!r} of {type(module).__name__}: "
    if kind == "parameter" and isinstance(value, Tensor):
        return text + (
            f"write nn.Parameter(value) to replace the parameter, or {name}.copy_(value) under "
            "flambeau.no_grad() to change its values"
        )
    wanted = {"parameter": "an nn.Parameter", "buffer": "a Tensor", "module": "an nn.Module"}
    return text + f"{wanted[kind]} or None is expected"
