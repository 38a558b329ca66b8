"""``state_dict`` and ``load_state_dict``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor

from ...parameter import Parameter, is_lazy
from ._hooks import Hooks
from ._near import nearest
from ._tree import Tree

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


class State(Tree, Hooks):
    """Saves and restores the values of parameters and buffers by path."""

    def get_extra_state(self) -> Any:
        """Override to put more into ``state_dict``; used only where overridden."""
        raise NotImplementedError(
            f"{type(self).__name__}.get_extra_state() is called only where it is overridden"
        )

    def set_extra_state(self, state: Any) -> None:
        """Override to read back what ``get_extra_state`` returned."""
        raise NotImplementedError(
            f"{type(self).__name__} overrides get_extra_state() but not set_extra_state()"
        )

    def _may_lack(self, name: str) -> bool:
        """Whether a ``state_dict`` without this tensor is complete all the same."""
        return False

    def state_dict(
        self,
        *,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by path, sharing memory with the module.

        Args:
            destination: A dict to add to.
            prefix: Put before every path.
            keep_vars: Give the parameters themselves rather than detached tensors.

        Returns:
            An ordered dict.

        Example:
            >>> from flambeau import nn
            >>> list(nn.Sequential(nn.Linear(2, 1)).state_dict())
            ['0.weight', '0.bias']
        """
        state: dict[str, Any] = OrderedDict() if destination is None else destination
        for hook in self._hooks_of("state_pre"):
            hook.function(self, prefix, keep_vars)
        for name, tensor in _own_state(self):
            state[prefix + name] = tensor if keep_vars else tensor.detach()
        if _has_extra_state(self):
            state[prefix + EXTRA_STATE] = self.get_extra_state()
        for name in self._module_names:
            module = self.__dict__[name]
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._hooks_of("state_post"):
            changed = hook.function(self, state, prefix, {})
            if changed is not None and not hook.always:
                raise RuntimeError("a post-hook of state_dict changes the dict in place")
            state = state if changed is None else changed
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values from a ``state_dict`` into this module and all below it.

        Everything is checked before anything is copied: after an error the module is as it was
        (unless a hook may still change the verdict; then what fits is copied first).

        Args:
            state_dict: Tensors by path.
            strict: Refuse missing and unexpected keys.
            assign: Take the given tensors themselves instead of copying their values.

        Returns:
            The missing and the unexpected keys.

        Raises:
            TypeError: ``state_dict`` is not a mapping.
            RuntimeError: Keys are missing or unexpected, or shapes differ; all are listed.

        Example:
            >>> from flambeau import nn
            >>> nn.Linear(2, 1).load_state_dict(nn.Linear(2, 1).state_dict())
            <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict() takes a dict of tensors, not {type(state_dict).__name__}"
            )
        loading = _Loading(dict(state_dict), strict)
        loading.plan(self, "")
        result = IncompatibleKeys(loading.missing, loading.unexpected())
        if not _has_post_hooks(self):
            loading.raise_errors(type(self).__name__, result)
        loading.carry_out(assign)
        _run_post_hooks(self, result)
        loading.raise_errors(type(self).__name__, result)
        return result


class _Loading:
    """One ``load_state_dict``: what goes where, and what is wrong."""

    def __init__(self, state: dict[str, Any], strict: bool) -> None:
        self.state = state
        self.strict = strict
        self.missing: list[str] = []
        self.reported: list[str] = []
        self.errors: list[str] = []
        self.used: set[str] = set()
        self.copies: list[tuple[Any, str, Tensor]] = []
        self.extras: list[tuple[State, Any]] = []

    def plan(self, module: State, prefix: str) -> None:
        """Find the source of every tensor of ``module`` and below."""
        lists = (self.missing, self.reported, self.errors)
        for hook in module._hooks_of("load_pre"):
            hook.function(module, self.state, prefix, {}, True, *lists)
        for name, target in _own_state(module):
            self._plan_tensor(module, name, prefix + name, target)
        if _has_extra_state(module):
            self._plan_extra(module, prefix + EXTRA_STATE)
        for name in module._module_names:
            child = module.__dict__[name]
            if child is not None:
                self.plan(child, f"{prefix}{name}.")

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

    def carry_out(self, assign: bool) -> None:
        """Copy, or assign, everything that was planned."""
        with flambeau.no_grad():
            for module, name, source in self.copies:
                target = module.__dict__[name]
                if assign:
                    _assign(module, name, source)
                    continue
                if is_lazy(target):
                    target.materialize(source.shape)
                target.copy_(source)
        for module, value in self.extras:
            module.set_extra_state(value)

    def _plan_tensor(self, module: State, name: str, key: str, target: Tensor) -> None:
        if key not in self.state:
            if not module._may_lack(name):
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
        elif not is_lazy(target) and source.shape != target.shape:
            self.errors.append(
                f"size mismatch for {key}: the state_dict has shape {tuple(source.shape)}, "
                f"the current model {tuple(target.shape)}."
            )
        else:
            self.copies.append((module, name, source))

    def _plan_extra(self, module: State, key: str) -> None:
        if key not in self.state:
            self.missing.append(key)
            return
        self.used.add(key)
        self.extras.append((module, self.state[key]))


def _own_state(module: State) -> Iterator[tuple[str, Tensor]]:
    """Parameters and persistent buffers of this one module."""
    persistent = [name for name, kept in module._buffer_names.items() if kept]
    for name in (*module._parameter_names, *persistent):
        tensor = module.__dict__[name]
        if tensor is not None:
            yield name, tensor


def _has_extra_state(module: State) -> bool:
    return type(module).get_extra_state is not State.get_extra_state


def _assign(module: State, name: str, source: Tensor) -> None:
    old = module.__dict__[name]
    if isinstance(old, Parameter) and not isinstance(source, Parameter):
        source = Parameter(source, old.requires_grad)
    elif isinstance(old, Parameter):
        source.requires_grad_(old.requires_grad)
    module.__dict__[name] = source


def _has_post_hooks(module: Any) -> bool:
    return any(child._hooks_of("load_post") for child in module.modules())


def _run_post_hooks(module: Any, result: IncompatibleKeys) -> None:
    for child in module.children():
        _run_post_hooks(child, result)
    for hook in module._hooks_of("load_post"):
        if hook.function(module, result) is not None:
            raise RuntimeError(
                "a post-hook of load_state_dict returns nothing; it edits the lists "
                "missing_keys and unexpected_keys in place"
            )


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
