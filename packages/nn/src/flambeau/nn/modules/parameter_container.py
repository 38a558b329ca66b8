"""Modules that hold parameters: ``ParameterList`` and ``ParameterDict``."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flambeau import Tensor

from ..parameter import Parameter
from .module import Module


class _Holder(Module):
    """What both share: they are not called, and plain tensors in them become parameters."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Only for the error.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(f"a {type(self).__name__} holds parameters and cannot be called")

    _shows_types = False        # rather than dtypes, as PyTorch does

    def _show(self, pairs: Iterable[tuple[Any, Any]]) -> str:
        types = self._shows_types
        return "\n".join(f"  ({key}): {_describe(value, types)}" for key, value in pairs)


class ParameterList(_Holder):
    """A list whose parameters belong to the network; plain tensors in it become parameters.

    Args:
        values: The first members.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> scales = nn.ParameterList([flambeau.ones(2), flambeau.ones(3)])
        >>> [name for name, _ in scales.named_parameters()]
        ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self.__dict__[str(i)] for i in range(self._size)])

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self.__dict__[self._name_at(idx)]

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._name_at(idx), _as_parameter(param))

    def append(self, value: Any) -> ParameterList:
        """Add a parameter at the end, and return this list."""
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add parameters at the end, and return this list.

        Raises:
            TypeError: ``values`` is one tensor, or cannot be iterated over.
        """
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise TypeError(
                f"ParameterList.extend() takes a list of tensors, not {type(values).__name__}; "
                "append() takes one"
            )
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, parameters: Iterable[Any]) -> ParameterList:
        return self.extend(parameters)

    def extra_repr(self) -> str:
        return self._show(enumerate(self))

    def _name_at(self, index: int) -> str:
        if not -self._size <= operator.index(index) < self._size:
            raise IndexError(f"index {index} is out of range for {self._size} parameters")
        return str(operator.index(index) % self._size)


class ParameterDict(_Holder):
    """A dict whose parameters belong to the network; plain tensors in it become parameters.

    Other values are kept as they are. A plain dict is taken in the order of its sorted keys, as
    PyTorch does; an ``OrderedDict``, a ``ParameterDict`` and pairs keep their order.

    Args:
        parameters: The first members, a dict or pairs.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> sides = nn.ParameterDict({"left": flambeau.ones(2), "right": flambeau.zeros(2)})
        >>> sides["left"].requires_grad
        True
        >>> list(sides.state_dict())
        ['left', 'right']
    """

    _shows_types = True

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return self.__dict__[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                f"the keys of a ParameterDict are strings, not {type(key).__name__} ({key!r})"
            )
        if key not in self._keys and hasattr(self, key):
            raise KeyError(f"a ParameterDict has an attribute {key!r}; take another key")
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = ParameterDict(OrderedDict(other.items()))
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is ``default`` from now on if the key is new."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all parameters out."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a parameter out and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last key and parameter out and return them."""
        key = next(reversed(self), None)
        if key is None:
            raise KeyError("popitem(): the ParameterDict is empty")
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or ``default``."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another dict with the given keys and one value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """(key, parameter) pairs."""
        return [(key, self[key]) for key in self]

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return [self[key] for key in self]

    def update(self, parameters: Any) -> None:
        """Add parameters from a dict or from pairs.

        Raises:
            TypeError: ``parameters`` is neither.
            ValueError: A pair does not have two elements.
        """
        for key, value in _pairs(parameters):
            self[key] = value

    def extra_repr(self) -> str:
        return self._show(self.items())


def _pairs(given: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(given, OrderedDict | ParameterDict):
        yield from given.items()
    elif isinstance(given, Mapping):
        yield from sorted(given.items())
    elif isinstance(given, Tensor) or not isinstance(given, Iterable):
        rows = isinstance(given, Tensor) and given.ndim > 0
        raise (ValueError if rows else TypeError)(
            "ParameterDict takes a dict of parameters or (key, parameter) pairs, not "
            f"{type(given).__name__}"
        )
    else:
        for number, pair in enumerate(given):
            yield _pair(number, pair)


def _pair(number: int, pair: Any) -> tuple[str, Any]:
    if not isinstance(pair, Iterable):
        raise TypeError(
            f"element {number} given to ParameterDict is a {type(pair).__name__}, not a (key, "
            "parameter) pair"
        )
    parts = tuple(pair)
    if len(parts) != 2:
        raise ValueError(
            f"element {number} given to ParameterDict has {len(parts)} parts, not 2: key and "
            "parameter"
        )
    return parts[0], parts[1]


def _as_parameter(value: Any) -> Any:
    plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if plain else value


def _describe(value: Any, types: bool) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    device = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    size = "x".join(map(str, value.shape))
    what = value.type() if types else value.dtype
    return f"{kind} containing: [{what} of size {size}{device}]"
