"""``state_dict`` and ``load_state_dict``."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ._hooks import Hooks, hooks_of
from ._loading import EXTRA_STATE, IncompatibleKeys, Loading, has_extra_state, own_state
from ._tree import Tree


class State(Tree, Hooks):
    """Saves and restores the values of parameters and buffers by path."""

    _version = 1  # of what state_dict contains; classes that change it raise it

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

    def _may_lack(self, name: str, version: int | None) -> bool:
        """Whether a ``state_dict`` of this version is complete without this tensor."""
        return False

    def state_dict(
        self,
        *args: Any,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by path, sharing memory with the module.

        Args:
            args: The same in order, which is deprecated.
            destination: A dict to add to.
            prefix: Put before every path.
            keep_vars: Give the parameters themselves rather than detached tensors.

        Returns:
            An ordered dict, whose attribute ``_metadata`` holds the version of every class.

        Example:
            >>> from flambeau import nn
            >>> list(nn.Sequential(nn.Linear(2, 1)).state_dict())
            ['0.weight', '0.bias']
        """
        if args:
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            warnings.warn(
                f"state_dict() takes {', '.join(given)} by name: state_dict(prefix=...)",
                FutureWarning,
                stacklevel=2,
            )
            return self.state_dict(**given)
        state: Any = destination
        if state is None:
            state = OrderedDict()
            state._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(state, "_metadata"):
            state._metadata[prefix[:-1]] = metadata
        return self._fill_state(state, prefix, keep_vars, metadata)

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
        versions = getattr(state_dict, "_metadata", None)
        loading = Loading(dict(state_dict), strict, assign, versions)
        loading.plan(self, "")
        result = IncompatibleKeys(loading.missing, loading.unexpected())
        if not _has_post_hooks(self):
            loading.raise_errors(type(self).__name__, result)
        loading.carry_out()
        _run_post_hooks(self, result)
        loading.raise_errors(type(self).__name__, result)
        return result

    def _fill_state(
        self, state: Any, prefix: str, keep_vars: bool, metadata: dict[str, Any]
    ) -> dict[str, Any]:
        """Add the entries of this module and all below it, between the hooks."""
        for hook in hooks_of(self, "state_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(state, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in hooks_of(self, "state_post"):
            if hook(self, state, prefix, metadata) is not None:
                raise RuntimeError("a post-hook of state_dict changes the dict in place")
        for hook in hooks_of(self, "state_replace"):
            changed = hook(self, state, prefix, metadata)
            state = state if changed is None else changed
        return state

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        """Add the entries of this one module; classes may override it to add others."""
        for name, tensor in own_state(self):
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if has_extra_state(self):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Read the entries of this one module; classes may override it to read others.

        What an override reads is copied at once, before other modules are checked.
        """
        assign = local_metadata.get("assign_to_params_buffers", False)
        loading = Loading(state_dict, strict, assign, {prefix[:-1]: local_metadata})
        loading.missing, loading.reported, loading.errors = (
            missing_keys,
            unexpected_keys,
            error_msgs,
        )
        loading.lists_missing = strict  # what an override asks for, whoever loads the whole
        loading.plan_own(self, prefix)
        if strict:
            unexpected_keys.extend(loading.left_over(self, prefix))
        loading.carry_out()

    def _loads_itself(self) -> bool:
        return type(self)._load_from_state_dict is not State._load_from_state_dict

    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not State.get_extra_state

    def _takes_extra_state(self) -> bool:
        return type(self).set_extra_state is not State.set_extra_state


def _has_post_hooks(module: Any) -> bool:
    return any(hooks_of(child, "load_post") for child in module.modules())


def _run_post_hooks(module: Any, result: IncompatibleKeys) -> None:
    for child in module.children():
        _run_post_hooks(child, result)
    for hook in hooks_of(module, "load_post"):
        if hook(module, result) is not None:
            raise RuntimeError(
                "a post-hook of load_state_dict returns nothing; it edits the lists "
                "missing_keys and unexpected_keys in place"
            )
