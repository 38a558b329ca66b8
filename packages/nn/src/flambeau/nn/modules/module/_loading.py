"""One ``load_state_dict``: what goes where, and what is wrong."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau.core.spelling import nearest

from ...parameter import Parameter, is_lazy
from ._hooks import hooks_of

EXTRA_STATE = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` returns: keys that did not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


class Loading:
    """What is known about one ``load_state_dict`` so far."""

    def __init__(
        self,
        state: dict[str, Any],
        strict: bool,
        assign: bool,
        versions: Mapping[str, dict[str, Any]] | None = None,
    ) -> None:
        self.state = state
        self.versions = versions or {}
        self.strict = strict
        self.assign = assign
        self.lists_missing = True
        self.missing: list[str] = []
        self.reported: list[str] = []
        self.errors: list[str] = []
        self.used: set[str] = set()
        self.copies: list[tuple[Any, str, Tensor]] = []
        self.extras: list[tuple[Any, Any]] = []

    def plan(self, module: Any, prefix: str) -> None:
        """Find the source of every tensor of ``module`` and below."""
        if module._loads_itself():
            self._let_load(module, prefix)
        else:
            self.plan_own(module, prefix)
        for name, child in module._modules.items():
            if child is not None:
                self.plan(child, f"{prefix}{name}.")

    def plan_own(self, module: Any, prefix: str) -> None:
        """The same for the tensors of this one module."""
        for hook in hooks_of(module, "load_pre"):
            with self._part(prefix) as part:
                hook(module, part, prefix, self._metadata(prefix), True, *self._lists())
        for name, target in own_state(module):
            self._plan_tensor(module, name, prefix + name, target)
        if module._takes_extra_state():
            self._plan_extra(module, prefix + EXTRA_STATE)

    def left_over(self, module: Any, prefix: str) -> list[str]:
        """Keys of this one module that nobody asked for."""
        below = tuple(f"{prefix}{name}." for name in module._modules)
        return [
            key
            for key in self.state
            if key.startswith(prefix) and not key.startswith(below) and key not in self.used
        ]

    def _let_load(self, module: Any, prefix: str) -> None:
        """A class with a ``_load_from_state_dict`` of its own reads its entries itself."""
        with self._part(prefix) as part:
            module._load_from_state_dict(part, prefix, self._metadata(prefix), True, *self._lists())
        self.used.update(self.left_over(module, prefix))

    @contextmanager
    def _part(self, prefix: str) -> Iterator[dict[str, Any]]:
        """The entries below a prefix, for functions that may also change them."""
        before = [key for key in self.state if key.startswith(prefix)]
        part = OrderedDict((key, self.state[key]) for key in before)
        yield part
        for key in before:
            if key not in part:
                del self.state[key]
        self.state.update((key, v) for key, v in part.items() if key.startswith(prefix))

    def _lists(self) -> tuple[list[str], list[str], list[str]]:
        return self.missing, self.reported, self.errors

    def _metadata(self, prefix: str) -> dict[str, Any]:
        """What the state_dict says about a module, and how it is loaded."""
        known = self.versions.get(prefix[:-1], {})
        return {**known, "assign_to_params_buffers": True} if self.assign else dict(known)

    def unexpected(self) -> list[str]:
        """The keys nobody asked for."""
        return self.reported + [key for key in self.state if key not in self.used]

    def raise_errors(self, name: str, keys: IncompatibleKeys) -> None:
        """Raise one error that lists everything that is wrong, if anything is."""
        errors = list(self.errors)
        if self.strict:
            errors = [*_describe_keys(keys, self.state), *errors]
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {name}:\n\t{listed}")

    def carry_out(self) -> None:
        """Copy, or assign, everything that was planned."""
        with flambeau.no_grad():
            for module, name, source in self.copies:
                target = _place_of(module, name)[name]
                if self.assign:
                    _assign(module, name, source)
                    continue
                if is_lazy(target):
                    target.materialize(source.shape)
                target.copy_(source)
        for module, value in self.extras:
            module.set_extra_state(value)

    def _plan_tensor(self, module: Any, name: str, key: str, target: Tensor) -> None:
        if key not in self.state:
            version = self._metadata(key.removesuffix(name)).get("version")
            if self.lists_missing and not module._may_lack(name, version):
                self.missing.append(key)
            return
        self.used.add(key)
        source = self.state[key]
        if not isinstance(source, Tensor):
            self.errors.append(f'"{key}" should be a Tensor, not {type(source).__name__}.')
        elif is_lazy(source):
            if not is_lazy(target):
                self.errors.append(
                    f'"{key}" of the state_dict is not initialized: its module was saved before '
                    f"it was called, the current one has shape {tuple(target.shape)}."
                )
        elif not is_lazy(target) and not _fits(source, target):
            self.errors.append(
                f"size mismatch for {key}: the state_dict has shape {tuple(source.shape)}, "
                f"the current model {tuple(target.shape)}."
            )
        elif target.is_meta and not (is_lazy(target) or source.is_meta or self.assign):
            self.errors.append(
                f"{key} of the current model is on the meta device and has no memory to copy to: "
                "pass assign=True to take the tensors of the state_dict, or make memory first "
                'with model.to_empty(device="cpu").'
            )
        else:
            reshaped = source if is_lazy(target) else source.reshape(target.shape)
            self.copies.append((module, name, source if self.assign else reshaped))

    def _plan_extra(self, module: Any, key: str) -> None:
        if key not in self.state:
            if self.lists_missing:
                self.missing.append(key)
            return
        self.used.add(key)
        self.extras.append((module, self.state[key]))


def own_state(module: Any) -> Iterator[tuple[str, Tensor]]:
    """Parameters and persistent buffers of this one module."""
    left_out = module._non_persistent_buffers_set
    kept = [pair for pair in module._buffers.items() if pair[0] not in left_out]
    for name, tensor in (*module._parameters.items(), *kept):
        if tensor is not None:
            yield name, tensor


def has_extra_state(module: Any) -> bool:
    return bool(module._has_extra_state())


def _place_of(module: Any, name: str) -> Any:
    return module._parameters if name in module._parameters else module._buffers


def _assign(module: Any, name: str, source: Tensor) -> None:
    old = _place_of(module, name)[name]
    if isinstance(old, Parameter) and not isinstance(source, Parameter):
        source = Parameter(source, old.requires_grad)
    elif isinstance(old, Parameter):
        source.requires_grad_(old.requires_grad)
    _place_of(module, name)[name] = source


def _fits(source: Tensor, target: Tensor) -> bool:
    """Equal shapes; numbers that old versions saved with shape ``(1,)`` are numbers, too."""
    return source.shape == target.shape or (target.ndim == 0 and tuple(source.shape) == (1,))


def _describe_keys(keys: IncompatibleKeys, state: Mapping[str, Any]) -> Iterator[str]:
    if keys.missing_keys:
        yield f"Missing key(s) in state_dict: {_quote(keys.missing_keys)}."
    if keys.unexpected_keys:
        yield f"Unexpected key(s) in state_dict: {_quote(keys.unexpected_keys)}."
    prefix = _common_prefix(keys)
    if prefix:
        yield (
            f'Every key begins with "{prefix}": load '
            f'{{key.removeprefix("{prefix}"): value for key, value in state_dict.items()}}.'
        )
        return
    for key in keys.missing_keys:
        near = nearest(key, keys.unexpected_keys)
        if near:
            yield f'The state_dict has "{near}" where "{key}" is expected.'


def _quote(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _common_prefix(keys: IncompatibleKeys) -> str:
    """What a wrapper such as a parallel one put before every key, or an empty string."""
    if not keys.missing_keys or len(keys.missing_keys) != len(keys.unexpected_keys):
        return ""
    first, given = keys.missing_keys[0], keys.unexpected_keys[0]
    prefix = given.removesuffix(first)
    renamed = [prefix + key for key in keys.missing_keys]
    return prefix if prefix != given and renamed == keys.unexpected_keys else ""
