"""What calling a module means when hooks are registered."""

from __future__ import annotations

import warnings
from typing import Any

from ._everywhere import EVERYWHERE
from ._hook_table import Hook, HookTable

_NONE = HookTable()


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``module(*args, **kwargs)``: hooks of all modules come before those of this one.

    Those run around the module that a compiled one wraps, and not a second time around that.
    """
    own = module._hook_table or _NONE
    everywhere = _NONE if getattr(type(module), "_wraps_module", False) else EVERYWHERE
    forward = everywhere.list("forward") + own.list("forward")
    backward_pre = everywhere.list("backward_pre") + own.list("backward_pre")
    backward = everywhere.list("backward") + own.list("backward")
    result = None
    try:
        for hook in everywhere.list("forward_pre") + own.list("forward_pre"):
            args, kwargs = _run_pre_hook(module, hook, args, kwargs)
        watch = _watch(module, backward_pre, backward) if backward_pre or backward else None
        if watch:
            args = watch.inputs(args)
        result = module.forward(*args, **kwargs)
        while forward:
            result = _run_hook(module, forward.pop(0), args, kwargs, result)
        return watch.outputs(result) if watch else result
    except Exception:
        _run_always(module, forward, args, kwargs, result)
        raise


def _watch(module: Any, before: list[Hook], after: list[Hook]) -> Any:
    from ._backward import Watch  # what needs the engine is imported when it is first used

    return Watch(module, [hook.function for hook in before], [hook.function for hook in after])


def _run_pre_hook(
    module: Any, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not hook.with_kwargs:
        changed = hook.function(module, args)
        if changed is None:
            return args, kwargs
        return (changed if isinstance(changed, tuple) else (changed,)), kwargs
    changed = hook.function(module, args, kwargs)
    if changed is None:
        return args, kwargs
    if isinstance(changed, tuple) and len(changed) == 2:
        return changed
    raise RuntimeError(
        "a forward pre-hook registered with with_kwargs=True returns None or (args, kwargs), "
        f"not {type(changed).__name__}"
    )


def _run_hook(
    module: Any, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Any:
    if hook.with_kwargs:
        changed = hook.function(module, args, kwargs, result)
    else:
        changed = hook.function(module, args, result)
    return result if changed is None else changed


def _run_always(
    module: Any,
    hooks: list[Hook],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
) -> None:
    """The hooks that run even though the call failed; their own errors become warnings."""
    for hook in hooks:
        if not hook.always:
            continue
        try:
            result = _run_hook(module, hook, args, kwargs, result)
        except Exception as error:
            warnings.warn(
                f"a forward hook with always_call=True raised {error!r} while another error was "
                "on its way, which is the one you see",
                stacklevel=4,
            )
