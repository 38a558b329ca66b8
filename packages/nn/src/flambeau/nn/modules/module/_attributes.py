"""Where a module keeps its parameters, buffers and submodules.

Note [one place for every member]: the instance ``__dict__`` holds the members themselves, under
their own names, and three dicts hold which names are parameters, buffers and submodules, in
order. So reading ``self.weight`` is a plain attribute access (there is no ``__getattr__``),
nothing is stored twice, and copying, pickling, deleting and tying members need no code.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, MutableMapping, ValuesView
from typing import Any

from flambeau import Tensor

from ...parameter import Buffer, Parameter
from ._everywhere import REGISTRATION, registered


class Attributes:
    """Registers parameters, buffers and submodules as they are assigned."""

    training: bool
    _parameter_names: dict[str, bool]
    _buffer_names: dict[str, bool]
    _module_names: dict[str, bool]
    _non_persistent_buffers_set: set[str]  # names of buffers that state_dict leaves out
    _hooks: Any

    call_super_init = False  # whether __init__ passes its arguments on, for multiple inheritance

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            raise TypeError(_too_many(self, args, kwargs))
        self.__dict__.update(
            training=True,
            _hooks=None,
            _parameter_names={},
            _buffer_names={},
            _module_names={},
            _non_persistent_buffers_set=set(),
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    @property
    def _parameters(self) -> Members:
        return Members(self._parameter_names, self.__dict__)

    @_parameters.setter
    def _parameters(self, members: Mapping[str, Any]) -> None:
        self._replace("parameter", members)

    @property
    def _buffers(self) -> Members:
        return Members(self._buffer_names, self.__dict__)

    @_buffers.setter
    def _buffers(self, members: Mapping[str, Any]) -> None:
        self._replace("buffer", members)

    @property
    def _modules(self) -> Members:
        return Members(self._module_names, self.__dict__)

    @_modules.setter
    def _modules(self, members: Mapping[str, Any]) -> None:
        self._replace("module", members)

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
        _check_name(self, name, self._names_of("parameter"), "parameter")
        self._put(name, param, "parameter")

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
        _check_name(self, name, self._names_of("buffer"), "buffer")
        self._put_buffer(name, tensor, persistent)

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
        _check_name(self, name, self._names_of("module"), "module")
        self._put(name, module, "module")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._check_new(name, "parameter")
            self._put(name, value, "parameter")
        elif isinstance(value, Attributes):
            self._refuse_over(name, value, "parameter")
            self._put(name, value, "module")
        elif isinstance(value, Buffer):
            self._refuse_over(name, value, "parameter", "module")
            self._check_new(name, "buffer")
            self._put_buffer(name, value, value.persistent)
        else:
            self._set_other(name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._forget(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copied or unpickled module."""
        self.__dict__.update(state)

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name.isidentifier()]

    def _set_other(self, name: str, value: Any) -> None:
        """Assign what is no member itself, though it may take a member's place."""
        if value is not None:
            self._refuse_over(name, value, "parameter", "module")
            if not isinstance(value, Tensor):
                self._refuse_over(name, value, "buffer")
        object.__setattr__(self, name, value)

    def _refuse_over(self, name: str, value: Any, *kinds: str) -> None:
        """Raise if the name is that of a member of one of these kinds."""
        for kind in kinds:
            if name in self.__dict__.get(f"_{kind}_names", ()):
                raise TypeError(_wrong_value(self, name, value, kind))

    def _check_new(self, name: str, kind: str) -> None:
        """Raise if the name is none for a parameter or buffer, or that of a method, say."""
        if name not in self._names_of(kind):
            _check_spelling(name, kind)
            # Read, too: PyTorch allows the name of a property that raises AttributeError now.
            if hasattr(type(self), name) and hasattr(self, name):
                raise KeyError(_taken(self, name))

    def _names_of(self, kind: str) -> dict[str, bool]:
        names: dict[str, bool] | None = self.__dict__.get(f"_{kind}_names")
        if names is None:
            own = type(self).__name__
            raise AttributeError(
                f"{own}.__init__ assigns a {kind} before Module.__init__() has run: "
                f"call super().__init__() first in {own}.__init__"
            )
        return names

    def _put_buffer(self, name: str, value: Tensor | None, persistent: bool) -> None:
        self._put(name, value, "buffer")
        left_out = self._non_persistent_buffers_set
        (left_out.discard if persistent else left_out.add)(name)

    def _put(self, name: str, value: Any, kind: str) -> None:
        names = self._names_of(kind)
        if REGISTRATION:
            value = registered(self, kind, name, value)
        if name not in names:
            self._forget(name)
            names[name] = True
        self.__dict__[name] = value

    def _replace(self, kind: str, members: Mapping[str, Any]) -> None:
        """Take all members of one kind from a mapping, in place of those there are."""
        given = dict(members)
        for name in list(self._names_of(kind)):
            object.__delattr__(self, name)
            self._forget(name)
        for name, value in given.items():
            self._put(name, value, kind)

    def _forget(self, name: str) -> None:
        for names in (self._parameter_names, self._buffer_names, self._module_names):
            names.pop(name, None)
        self._non_persistent_buffers_set.discard(name)


class _Items(ItemsView[str, Any]):
    """Names and members, also from the last to the first, as of a dictionary."""

    def __reversed__(self) -> Iterator[tuple[str, Any]]:
        return reversed(list(self))


class _Values(ValuesView[Any]):
    """Members, also from the last to the first."""

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self))


class Members(MutableMapping[str, Any]):
    """A live, ordered view of a module's members of one kind."""

    __slots__ = ("_names", "_values")

    def __init__(self, names: dict[str, bool], values: dict[str, Any]) -> None:
        self._names = names
        self._values = values

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._names:
            self._check_free(name)
            self._names[name] = True
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names)

    def items(self) -> ItemsView[str, Any]:
        """Names and members, in order."""
        return _Items(self)

    def values(self) -> ValuesView[Any]:
        """Members, in order."""
        return _Values(self)

    def copy(self) -> dict[str, Any]:
        """A dictionary of the members there are now."""
        return dict(self)

    def _check_free(self, name: str) -> None:
        """Raise if a member of another kind has the name: there is one value per name."""
        for kind in ("parameter", "buffer", "module"):
            if name in self._values[f"_{kind}_names"]:
                raise KeyError(
                    f"{name!r} is a {kind} of this module already; delete it first: "
                    f"del module._{kind}s[{name!r}]"
                )

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


def _check_name(module: Attributes, name: str, names: dict[str, bool], kind: str) -> None:
    _check_spelling(name, kind)
    if hasattr(module, name) and name not in names:
        raise KeyError(_taken(module, name))


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
