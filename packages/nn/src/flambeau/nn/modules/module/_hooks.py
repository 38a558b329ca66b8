"""Registering hooks on one module."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ._attributes import Attributes
from ._hook_table import Hook, HooksOfKind, HookTable, RemovableHandle


def _view(*kinds: str) -> Any:
    """The hooks of some kinds under PyTorch's name: to be counted, cleared or replaced."""

    def get(self: Any) -> HooksOfKind:
        return HooksOfKind(self, *kinds)

    def put(self: Any, hooks: Mapping[int, Callable[..., Any]]) -> None:
        kept = dict(hooks)
        view = HooksOfKind(self, *kinds)
        view.clear()
        view.update(kept)

    return property(get, put)


class _WithoutModule(NamedTuple):
    """A hook that does not take the module as its first argument; a class, to be pickled."""

    hook: Callable[..., Any]

    def __call__(self, module: Any, *rest: Any) -> None:
        self.hook(*rest)


class Hooks(Attributes):
    """Registers hooks."""

    _is_full_backward_hook: bool | None = None  # which kind of backward hooks was registered

    _forward_hooks = _view("forward")
    _forward_pre_hooks = _view("forward_pre")
    _backward_hooks = _view("backward")
    _backward_pre_hooks = _view("backward_pre")
    _state_dict_hooks = _view("state_replace", "state_post")
    _state_dict_pre_hooks = _view("state_pre")
    _load_state_dict_pre_hooks = _view("load_pre")
    _load_state_dict_post_hooks = _view("load_post")

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
        return _add_hook(self, Hook("forward_pre", hook, with_kwargs), prepend)

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
        return _add_hook(self, Hook("forward", hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the backward pass goes through this module.

        Args:
            hook: Gets the gradients of the outputs, a tuple with ``None`` for what is no tensor or
                has no gradient; what it returns, if not ``None``, replaces them.
            prepend: Call it before the hooks that are there already.

        Returns:
            A handle whose ``remove()`` takes the hook out.

        Example:
            >>> import flambeau
            >>> from flambeau import nn
            >>> layer = nn.Identity()
            >>> _ = layer.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 10,))
            >>> x = flambeau.ones(2, requires_grad=True)
            >>> layer(x).sum().backward()
            >>> x.grad
            tensor([10., 10.])
        """
        return _add_hook(self, Hook("backward_pre", hook), prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` once both are computed.

        The hook may not change the gradients in place. Inputs given by keyword are not watched;
        where no input has a gradient, ``grad_input`` is all ``None``. A module with such a hook
        hands its inputs and outputs on as views, which may not be changed in place.

        Args:
            hook: Gets the gradients of inputs and outputs, tuples with ``None`` for what is no
                tensor or has no gradient; what it returns, if not ``None``, replaces
                ``grad_input``.
            prepend: Call it before the hooks that are there already.

        Returns:
            A handle whose ``remove()`` takes the hook out.

        Raises:
            RuntimeError: There was a hook by ``register_backward_hook``.

        Example:
            >>> import flambeau
            >>> from flambeau import nn
            >>> layer = nn.Identity()
            >>> _ = layer.register_full_backward_hook(lambda module, given, got: print(got))
            >>> layer(flambeau.ones(2, requires_grad=True)).sum().backward()
            (tensor([1., 1.]),)
        """
        self._choose_backward_hooks(True)
        return _add_hook(self, Hook("backward", hook), prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Deprecated name of ``register_full_backward_hook``.

        Raises:
            RuntimeError: A hook was registered by the other name: PyTorch's hooks differ, and a
                module has one kind of them.
        """
        self._choose_backward_hooks(False)
        warnings.warn(
            "register_backward_hook() is deprecated, and here the same as "
            "register_full_backward_hook(); write that",
            FutureWarning,
            stacklevel=2,
        )
        return _add_hook(self, Hook("backward", hook))

    def _choose_backward_hooks(self, full: bool) -> None:
        """Refuse a second kind of backward hooks, as PyTorch does."""
        if self._is_full_backward_hook not in (None, full):
            raise RuntimeError(
                f"{type(self).__name__}: Cannot use both regular backward hooks and full backward "
                "hooks on a single Module. Please use only one of them: "
                "register_full_backward_hook()"
            )
        self._is_full_backward_hook = full

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads this module."""
        return _add_hook(self, Hook("state_pre", hook))

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, {})`` after ``state_dict`` read this module.

        The hook changes the dict in place.
        """
        return _add_hook(self, Hook("state_post", hook))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call the hook before ``load_state_dict`` reads the entries of this module.

        Its arguments are ``(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)``; it renames entries or adds errors in place.
        """
        return _add_hook(self, Hook("load_pre", hook))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after ``load_state_dict``.

        The hook may edit the lists ``missing_keys`` and ``unexpected_keys`` in place.
        """
        return _add_hook(self, Hook("load_post", hook))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A post-hook of ``state_dict`` that may return another dict."""
        return _add_hook(self, Hook("state_replace", hook))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """``register_load_state_dict_pre_hook`` of a hook that may not take the module."""
        wanted: Any = hook if with_module else _WithoutModule(hook)
        return self.register_load_state_dict_pre_hook(wanted)


def _add_hook(module: Any, hook: Hook, first: bool = False) -> RemovableHandle:
    if module._hook_table is None:
        module._hook_table = HookTable()
    table: HookTable = module._hook_table
    return table.add(hook, first, module)


def hooks_of(module: Any, kind: str) -> list[Callable[..., Any]]:
    """The functions of one kind.

    Args:
        module: The module they are registered on.
        kind: The kind, as in ``Hook``.
    """
    table: HookTable | None = module._hook_table
    return [] if table is None else [hook.function for hook in table.list(kind)]
