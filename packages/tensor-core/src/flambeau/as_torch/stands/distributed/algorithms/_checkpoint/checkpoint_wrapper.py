"""Modules whose activations are computed again in the backward pass, or wait in other memory."""
from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from flambeau import rooms

_nn: Any = rooms.enter("nn")
_PREFIX = "_checkpoint_wrapped_module."


class CheckpointImpl(enum.Enum):
    """Which of the two ways of `utils.checkpoint` computes again."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(_nn.Module):
    """A module around another, whose parameters keep their names.

    Args:
        mod: The other module; attributes that this one lacks are read from it.
    """

    def __init__(self, mod: Any) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_checkpoint_wrapped_module":
                raise
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters under their names in the other module."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), param

    @staticmethod
    def _post_state_dict_hook(module: Any, state_dict: Any, prefix: str, *args: Any) -> Any:
        for key in [key for key in state_dict if key.startswith(prefix + _PREFIX)]:
            state_dict[prefix + key.removeprefix(prefix + _PREFIX)] = state_dict.pop(key)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: Any, state_dict: Any, prefix: str, *args: Any) -> None:
        for key in [key for key in state_dict if key.startswith(prefix)]:
            state_dict[prefix + _PREFIX + key.removeprefix(prefix)] = state_dict.pop(key)


class CheckpointWrapper(ActivationWrapper):
    """A module that `utils.checkpoint` runs.

    Args:
        mod: The module.
        checkpoint_impl: Which of the two ways.
        checkpoint_fn: Another function in place of `checkpoint`.
        checkpoint_fn_kwargs: Its options.
    """

    def __init__(self, mod: Any, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                 checkpoint_fn: Callable[..., Any] | None = None,
                 **checkpoint_fn_kwargs: Any) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = rooms.import_module(f"{rooms.PREFIX}utils.checkpoint").checkpoint
            checkpoint_fn_kwargs["use_reentrant"] = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's results."""
        module = self._checkpoint_wrapped_module
        if kwargs and self.checkpoint_impl is CheckpointImpl.REENTRANT:     # it takes none by name
            return self.checkpoint_fn(functools.partial(_called, module, tuple(kwargs)), *args,
                                      *kwargs.values())
        return self.checkpoint_fn(module, *args, **kwargs)


def _called(module: Any, names: tuple[str, ...], *values: Any) -> Any:
    count = len(values) - len(names)
    return module(*values[:count], **dict(zip(names, values[count:], strict=True)))


class OffloadWrapper(ActivationWrapper):
    """A module whose saved activations wait in the CPU's memory."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's results."""
        graph = rooms.import_module(f"{rooms.PREFIX}autograd.graph")
        with graph.save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


def checkpoint_wrapper(module: Any, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                       checkpoint_fn: Callable[..., Any] | None = None,
                       **checkpoint_fn_kwargs: Any) -> CheckpointWrapper:
    """A `CheckpointWrapper` around a module."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module: Any) -> OffloadWrapper:
    """An `OffloadWrapper` around a module."""
    return OffloadWrapper(module)


def apply_activation_checkpointing(
        model: Any, checkpoint_wrapper_fn: Callable[[Any], Any] = checkpoint_wrapper,
        check_fn: Callable[[Any], bool] = lambda _: True,
        auto_wrap_policy: Callable[..., Any] | None = None) -> None:
    """Put a wrapper around modules of a network, in place; around what is within them first.

    Args:
        model: The network, which itself is left as it is.
        checkpoint_wrapper_fn: Makes the wrapper of a module.
        check_fn: Says which modules.
        auto_wrap_policy: Says so in its place, as policies of `fsdp` do.
    """
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn, auto_wrap_policy)
        chosen = (check_fn(child) if auto_wrap_policy is None else
                  auto_wrap_policy(module=child, recurse=False, nonwrapped_numel=0))
        if chosen and not isinstance(child, ActivationWrapper):
            setattr(model, name, checkpoint_wrapper_fn(child))
