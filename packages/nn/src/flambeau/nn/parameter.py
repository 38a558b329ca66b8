"""``Parameter`` and ``Buffer``: tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor


class Parameter(Tensor):
    """A tensor that a ``Module`` lists among its parameters once it is assigned as an attribute.

    Operators on parameters give plain tensors. The parameter shares the memory of ``data``.

    Args:
        data: The values; an empty tensor when left out.
        requires_grad: Whether ``backward`` fills ``grad``.

    Raises:
        TypeError: ``data`` is not a tensor.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.Module()
        >>> layer.scale = nn.Parameter(flambeau.ones(2))
        >>> [name for name, _ in layer.named_parameters()]
        ['scale']
        >>> layer.scale.requires_grad
        True
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Wrap ``data`` without copying it."""
        return _wrap(cls, data, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + repr(self.detach().requires_grad_(self.requires_grad))

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.detach(), self.requires_grad)


class Buffer(Tensor):
    """A tensor that is part of a module's state but is not trained.

    Args:
        data: The values; an empty tensor when left out.
        persistent: Whether ``state_dict`` contains the buffer.

    Raises:
        TypeError: ``data`` is not a tensor.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.Module()
        >>> layer.count = nn.Buffer(flambeau.zeros(1))
        >>> list(layer.state_dict())
        ['count']
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        """Wrap ``data`` without copying it."""
        buffer = _wrap(cls, data, False)
        buffer.persistent = persistent
        return buffer

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        if id(self) not in memo:
            copied = type(self)(self.detach().clone(), persistent=self.persistent)
            memo[id(self)] = copied
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_buffer, (type(self), self.detach(), self.persistent)


def _wrap(cls: Any, data: Tensor | None, requires_grad: bool) -> Any:
    if data is None:
        data = flambeau.empty(0)
    if not isinstance(data, Tensor):
        raise TypeError(
            f"nn.{cls.__name__}() takes a Tensor, not {type(data).__name__}; "
            f"write nn.{cls.__name__}(flambeau.tensor(...))"
        )
    return Tensor._make_subclass(cls, data, requires_grad)


def _rebuild_buffer(cls: type[Buffer], data: Tensor, persistent: bool) -> Buffer:
    return cls(data, persistent=persistent)
