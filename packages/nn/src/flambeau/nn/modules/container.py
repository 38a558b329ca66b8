"""Modules that hold others: ``Sequential``, ``ModuleList`` and ``ModuleDict``."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from .module import Module
from .module._show import indent


class _List(Module):
    """Members under the names "0", "1", …, used like a list."""

    def __len__(self) -> int:
        return len(self.__dict__["_modules"])

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.__dict__["_modules"].values()))

    def __contains__(self, module: object) -> bool:
        return any(module is member for member in self)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return self._like(list(self)[idx])
        return self.__dict__["_modules"][self._name_at(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        kept = list(self)
        del kept[idx]
        self._refill(kept)

    def append(self, module: Module) -> Any:
        """Add a module at the end, and return this container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end, and return this container."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend() takes an iterable of modules, not "
                f"{type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before position ``index``, and return this container."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"{type(self).__name__}.insert() takes a module, not {type(module).__name__}"
            )
        kept = list(self)
        kept.insert(index, module)
        self._refill(kept)
        return self

    def pop(self, key: int | slice = -1) -> Any:
        """Take a module, or a slice of them, out and return it."""
        module = self[key]
        del self[key]
        return module

    def _get_abs_string_index(self, idx: int) -> str:
        """The name at a position, for programs that ask for it as PyTorch's lists do."""
        return self._name_at(idx)

    def _like(self, modules: list[Module]) -> Any:
        made: Any = type(self)
        return made(modules)

    def _refill(self, modules: list[Module]) -> None:
        for name in list(self._modules):
            delattr(self, name)
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def _name_at(self, index: int) -> str:
        size = len(self)
        position = operator.index(index)
        if not -size <= position < size:
            raise IndexError(
                f"index {position} is out of range for a {type(self).__name__} of {size} modules"
            )
        return next(islice(self._modules, position % size, None))


class Sequential(_List):
    """Calls its modules one after another, each with the output of the one before.

    Args:
        args: Modules, or one dict of modules by name.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        >>> tuple(net(flambeau.zeros(3, 4)).shape)
        (3, 2)
        >>> net[1]
        ReLU()
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            named: Iterable[tuple[str, Module]] = args[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """Call the modules in order."""
        for module in self.__dict__["_modules"].values():
            input = module(input)
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(dict(list(self._modules.items())[idx]))
        return super().__getitem__(idx)

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before position ``index``, and return this container.

        Raises:
            AssertionError: It is no module.
            IndexError: There is no such position.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"insert() takes a module, not {type(module).__name__}")
        if not -len(self) <= index <= len(self):
            raise IndexError(
                f"insert() at position {index}: there are those from {-len(self)} to {len(self)}"
            )
        return super().insert(index, module)

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *_checked(other))

    def __iadd__(self, other: Sequential) -> Sequential:
        self.extend(_checked(other))
        return self

    def __mul__(self, other: int) -> Sequential:
        """The same modules several times over, one after another."""
        return Sequential(*list(self) * _count(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        self.extend(list(self) * (_count(other) - 1))
        return self


class ModuleList(_List):
    """A list whose modules belong to the network; it has no ``forward``.

    Args:
        modules: The first members.

    Example:
        >>> from flambeau import nn
        >>> layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        >>> layers
        ModuleList(
          (0-2): 3 x Linear(in_features=4, out_features=4, bias=True)
        )
        >>> len(list(layers.parameters()))
        6
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        self.extend(modules)
        return self

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        lines = []
        for first, last, text in _runs([repr(module) for module in self]):
            count = last - first + 1
            if count == 1:
                lines.append(f"({first}): {indent(text)}")
            else:
                lines.append(f"({first}-{last}): {count} x {indent(text)}")
        name = self._get_name()
        return f"{name}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{name}()"


class ModuleDict(Module):
    """A dict whose modules belong to the network; it has no ``forward``.

    Args:
        modules: The first members, a dict or pairs.

    Example:
        >>> from flambeau import nn
        >>> choices = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
        >>> list(choices)
        ['relu', 'tanh']
        >>> choices["tanh"]
        Tanh()
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        if key not in self._modules:
            raise KeyError(key)
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        for name in list(self):
            del self[name]

    def pop(self, key: str) -> Module:
        """Take a module out and return it."""
        module: Module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """(name, module) pairs."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Add modules from a dict or from pairs.

        Raises:
            TypeError: ``modules`` is neither.
        """
        pairs = modules.items() if hasattr(modules, "items") else modules
        if not isinstance(pairs, Iterable):
            raise TypeError(
                "ModuleDict takes a dict of modules or (name, module) pairs, not "
                f"{type(modules).__name__}"
            )
        for name, module in pairs:
            self[name] = module


def _checked(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"a Sequential and a {type(other).__name__} cannot be added; write "
            "nn.Sequential(*one, other)"
        )
    return other


def _count(times: Any) -> int:
    if not isinstance(times, int):
        raise TypeError(f"a Sequential is multiplied by an integer, not {times!r}")
    if times <= 0:
        raise ValueError(f"a Sequential is multiplied by a number greater than 0, not {times}")
    return times


def _runs(texts: list[str]) -> Iterator[tuple[int, int, str]]:
    """(first, last, text) of runs of equal texts."""
    first = 0
    for i, text in enumerate(texts):
        if i + 1 == len(texts) or texts[i + 1] != text:
            yield first, i, text
            first = i + 1
