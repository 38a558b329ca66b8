"""Hooks: functions that watch or change what goes through a module.

A module without hooks holds ``None`` where its table of hooks would be, which is the one thing
``Module.__call__`` looks at.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ._attributes import Attributes

_ids = itertools.count()


class RemovableHandle:
    """What registering a hook returns; ``remove()`` takes the hook out again.

    Example:
        >>> from flambeau import nn
        >>> layer = nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: print("called"))
        >>> _ = layer(1)
        called
        >>> handle.remove()
        >>> _ = layer(1)
    """

    def __init__(self, hooks: dict[int, Any]) -> None:
        self._hooks = hooks
        self.id = next(_ids)

    def remove(self) -> None:
        """Take the hook out; doing it twice is harmless."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class HookTable:
    """The hooks of one module by kind, each kind in the order of registration."""

    KINDS = ("forward_pre", "forward", "state_pre", "state_post", "load_pre", "load_post")

    def __init__(self) -> None:
        self.of: dict[str, dict[int, tuple[Callable[..., Any], bool, bool]]] = {
            kind: {} for kind in self.KINDS
        }

    def list(self, kind: str) -> list[tuple[Callable[..., Any], bool, bool]]:
        """The hooks of one kind; a copy, so that a hook may remove itself."""
        return list(self.of[kind].values())

    def add(
        self, kind: str, hook: Callable[..., Any], first: bool, kwargs: bool, always: bool
    ) -> RemovableHandle:
        """Register a hook behind the others, or before them."""
        hooks = self.of[kind]
        handle = RemovableHandle(hooks)
        older = dict(hooks) if first else {}
        if first:
            hooks.clear()
        hooks[handle.id] = (hook, kwargs, always)
        hooks.update(older)
        return handle


class Hooks(Attributes):
    """Registers hooks."""

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before every ``forward``.

        Args:
            hook: What it returns, if not ``None``, replaces the arguments.
            prepend: Call it before the hooks that are there already.
            with_kwargs: Call ``hook(module, args, kwargs)``, which returns both or ``None``.

        Returns:
            A handle whose ``remove()`` takes the hook out.

        Example:
            >>> from flambeau import nn
            >>> layer = nn.Identity()
            >>> _ = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
            >>> layer(1)
            2
        """
        return self._add_hook("forward_pre", hook, prepend, with_kwargs)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after every ``forward``.

        Args:
            hook: What it returns, if not ``None``, replaces the output.
            prepend: Call it before the hooks that are there already.
            with_kwargs: Call ``hook(module, args, kwargs, output)``.
            always_call: Call it with output ``None`` also when ``forward`` raises.

        Returns:
            A handle whose ``remove()`` takes the hook out.

        Example:
            >>> from flambeau import nn
            >>> layer = nn.Identity()
            >>> _ = layer.register_forward_hook(lambda module, args, output: output * 10)
            >>> layer(1)
            10
        """
        return self._add_hook("forward", hook, prepend, with_kwargs, always_call)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads this module."""
        return self._add_hook("state_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, {})`` after ``state_dict`` read this module.

        The hook changes the dict in place.
        """
        return self._add_hook("state_post", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call the hook before ``load_state_dict`` reads the entries of this module.

        Its arguments are ``(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)``; it renames entries or adds errors in place.
        """
        return self._add_hook("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after ``load_state_dict``.

        The hook may edit the lists ``missing_keys`` and ``unexpected_keys`` in place.
        """
        return self._add_hook("load_post", hook)

    def _add_hook(
        self,
        kind: str,
        hook: Callable[..., Any],
        first: bool = False,
        kwargs: bool = False,
        always: bool = False,
    ) -> RemovableHandle:
        if self._hooks is None:
            self._hooks = HookTable()
        handle: RemovableHandle = self._hooks.add(kind, hook, first, kwargs, always)
        return handle

    def _hooks_of(self, kind: str) -> list[Callable[..., Any]]:
        """The functions of one kind."""
        return [] if self._hooks is None else [hook for hook, _, _ in self._hooks.list(kind)]


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``module(*args, **kwargs)`` means when hooks are registered."""
    args, kwargs = _run_pre_hooks(module, args, kwargs)
    pending = module._hooks.list("forward")
    try:
        result = module.forward(*args, **kwargs)
        while pending:
            hook, with_kwargs, _ = pending.pop(0)
            result = _run_hook(module, hook, with_kwargs, args, kwargs, result)
    except Exception:
        for hook, with_kwargs, always in pending:
            if always:
                _run_hook(module, hook, with_kwargs, args, kwargs, None)
        raise
    return result


def _run_pre_hooks(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for hook, with_kwargs, _ in module._hooks.list("forward_pre"):
        if with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                args, kwargs = _both(changed)
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _both(changed: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(changed, tuple) and len(changed) == 2:
        return changed
    raise RuntimeError(
        "a forward pre-hook registered with with_kwargs=True returns None or (args, kwargs), "
        f"not {type(changed).__name__}"
    )


def _run_hook(
    module: Any,
    hook: Callable[..., Any],
    with_kwargs: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
) -> Any:
    if with_kwargs:
        changed = hook(module, args, kwargs, result)
    else:
        changed = hook(module, args, result)
    return result if changed is None else changed
