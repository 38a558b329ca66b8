"""Keys of PyTorch's dispatcher, which libraries name when they register functions."""
from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import flambeau


class _Keys(type):
    """Any name is a key."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls(name)


class DispatchKey(metaclass=_Keys):
    """A key of PyTorch's dispatcher; there is none here, so that it has no effect."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKey) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"


class DispatchKeySet:
    """Some keys."""

    def __init__(self, *keys: DispatchKey) -> None:
        self.keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys, *other.keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys & other.keys)

    def has(self, key: DispatchKey) -> bool:
        """Say whether a key is one of them."""
        return key in self.keys


class _ExcludeDispatchKeyGuard(ExitStack):
    """A block without autocast, if its keys are among those that are left out."""

    def __init__(self, keys: DispatchKeySet) -> None:
        super().__init__()
        self.left_out = keys

    def __enter__(self) -> Any:
        for key in self.left_out.keys:
            device = key.name.removeprefix("Autocast").lower()
            if key.name.startswith("Autocast") and device in ("cpu", "cuda"):
                self.enter_context(flambeau.autocast(device, enabled=False))
        return super().__enter__()
