"""Hooks around steps and states, of one optimizer and of all."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from flambeau.core import blocks
from flambeau.core._core import about_to_change

Hook = Callable[..., Any]
Table = dict[int, Hook]


class RemovableHandle:
    """What registering a hook returns; ``remove()`` takes the hook out again.

    As a context manager it takes the hook out at the end of the block.
    """

    _ids = itertools.count()

    def __init__(self, hooks: Table, hook: Hook, prepend: bool = False) -> None:
        self.id = next(self._ids)
        self._hooks = hooks
        others = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self.id] = hook
        hooks.update(others)

    def remove(self) -> None:
        """Take the hook out; doing it twice is harmless."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one optimizer, by where they are called."""

    def __init__(self) -> None:
        self.before_step: Table = {}
        self.after_step: Table = {}
        self.before_state: Table = {}
        self.after_state: Table = {}
        self.before_load: Table = {}
        self.after_load: Table = {}
        self.in_step = False

    def watch_steps(self) -> bool:
        """Whether the step about to begin has to call a hook; a step within a step has not."""
        if self.in_step:
            return False
        return bool(self.before_step or self.after_step or _before_any or _after_any)

    def saved(self, optimizer: Any, save: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What ``save`` returns, between the hooks."""
        for hook in list(self.before_state.values()):
            hook(optimizer)
        return _passed_on(self.after_state, optimizer, save())

    def loading(self, optimizer: Any, state: dict[str, Any]) -> dict[str, Any]:
        """A state as the hooks want it loaded."""
        return _passed_on(self.before_load, optimizer, state)

    def loaded(self, optimizer: Any) -> None:
        """Say that a state was loaded."""
        for hook in list(self.after_load.values()):
            hook(optimizer)


def _passed_on(hooks: Table, optimizer: Any, state: dict[str, Any]) -> dict[str, Any]:
    for hook in list(hooks.values()):
        result = hook(optimizer, state)
        state = state if result is None else result
    return state


_before_any: Table = {}
_after_any: Table = {}


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer.

    Args:
        hook: As in ``Optimizer.register_step_pre_hook``.

    Returns:
        A handle whose ``remove()`` takes the hook out.
    """
    return RemovableHandle(_before_any, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer.

    Args:
        hook: As in ``Optimizer.register_step_post_hook``.

    Returns:
        A handle whose ``remove()`` takes the hook out.
    """
    return RemovableHandle(_after_any, hook)


def hooked(step: Hook) -> Hook:
    """A ``step`` that counts itself and calls the hooks."""
    if getattr(step, "hooked", False):
        return step

    @functools.wraps(step)
    def counted(*args: Any, **kwargs: Any) -> Any:
        optimizer = args[0]
        hooks = getattr(optimizer, "_hook_table", None)
        if hooks is None:   # a class around another optimizer, never initialized as one itself
            return step(*args, **kwargs)
        about_to_change(optimizer, "step")
        watched = hooks.watch_steps()
        if blocks.watchers and not hooks.in_step:
            with blocks.block(block_name(optimizer, "step")):
                result = _watched(step, hooks, args, kwargs)
        else:
            result = _watched(step, hooks, args, kwargs) if watched else step(*args, **kwargs)
        optimizer._step_count += 1
        return result

    counted.hooked = True  # type: ignore[attr-defined]
    return counted


def block_name(optimizer: Any, method: str) -> str:
    """What a profiler calls a method of an optimizer."""
    return f"Optimizer.{method}#{type(optimizer).__name__}.{method}"


def _watched(step: Hook, hooks: Hooks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    optimizer = args[0]
    for hook in [*_before_any.values(), *hooks.before_step.values()]:
        args, kwargs = _new_arguments(hook(optimizer, args, kwargs), args, kwargs)
    hooks.in_step = True
    try:
        result = step(*args, **kwargs)
    finally:
        hooks.in_step = False
    for hook in [*hooks.after_step.values(), *_after_any.values()]:
        hook(optimizer, args, kwargs)
    return result


def _new_arguments(
    result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if result is None:
        return args, kwargs
    if isinstance(result, tuple) and len(result) == 2:
        return result
    raise RuntimeError(
        f"a hook before a step returns None or (new_args, new_kwargs), the optimizer first among "
        f"new_args; got {result!r}"
    )
