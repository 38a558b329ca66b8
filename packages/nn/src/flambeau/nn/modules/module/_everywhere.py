"""Hooks of all modules, as ``flambeau.nn.modules.module`` offers them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ._hook_table import Hook, HookTable, RemovableHandle

EVERYWHERE = HookTable()  # around calls
REGISTRATION = HookTable()  # when a member is assigned


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before every ``forward`` of every module.

    Args:
        hook: What it returns, if not ``None``, replaces the arguments.

    Returns:
        A handle whose ``remove()`` takes the hook out.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.nn.modules.module import register_module_forward_pre_hook
        >>> with register_module_forward_pre_hook(lambda module, args: print(module)):
        ...     _ = nn.Sequential(nn.Identity())(1)
        Sequential(
          (0): Identity()
        )
        Identity()
    """
    return EVERYWHERE.add(Hook("forward_pre", hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after every ``forward`` of every module.

    Args:
        hook: What it returns, if not ``None``, replaces the output.
        with_kwargs: Call ``hook(module, args, kwargs, output)``.
        always_call: Call it also when ``forward`` raises.

    Returns:
        A handle whose ``remove()`` takes the hook out.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.nn.modules.module import register_module_forward_hook
        >>> with register_module_forward_hook(lambda module, args, output: output + 1):
        ...     nn.Sequential(nn.Identity())(1)
        3
    """
    return EVERYWHERE.add(Hook("forward", hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward pass of every module.

    Args:
        hook: As of ``Module.register_full_backward_pre_hook``.

    Returns:
        A handle whose ``remove()`` takes the hook out.
    """
    return EVERYWHERE.add(Hook("backward_pre", hook))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the backward pass of every module.

    Args:
        hook: As of ``Module.register_full_backward_hook``.

    Returns:
        A handle whose ``remove()`` takes the hook out.
    """
    return EVERYWHERE.add(Hook("backward", hook))


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Deprecated name of ``register_module_full_backward_hook``."""
    warnings.warn(
        "register_module_backward_hook() is deprecated, and here the same as "
        "register_module_full_backward_hook(); write that",
        FutureWarning,
        stacklevel=2,
    )
    return register_module_full_backward_hook(hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` whenever a parameter is assigned to a module.

    Args:
        hook: What it returns, if not ``None``, is assigned instead.

    Returns:
        A handle whose ``remove()`` takes the hook out.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.nn.modules.module import register_module_parameter_registration_hook
        >>> with register_module_parameter_registration_hook(lambda m, name, p: print(name)):
        ...     _ = nn.Linear(1, 1)
        weight
        bias
    """
    return REGISTRATION.add(Hook("parameter", hook))


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` whenever a buffer is assigned to a module.

    Args:
        hook: What it returns, if not ``None``, is assigned instead.

    Returns:
        A handle whose ``remove()`` takes the hook out.
    """
    return REGISTRATION.add(Hook("buffer", hook))


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` whenever a module is assigned to a module.

    Args:
        hook: What it returns, if not ``None``, is assigned instead.

    Returns:
        A handle whose ``remove()`` takes the hook out.
    """
    return REGISTRATION.add(Hook("module", hook))


def registered(module: Any, kind: str, name: str, value: Any) -> Any:
    """The member that is assigned, after the hooks of its kind have seen it."""
    for hook in REGISTRATION.list(kind):
        changed = hook.function(module, name, value)
        value = value if changed is None else changed
    return value
