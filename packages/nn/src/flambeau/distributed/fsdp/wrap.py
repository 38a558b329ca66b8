"""Which submodules are wrapped by `FullyShardedDataParallel`."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flambeau import nn

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


class _Policy(ABC):
    """Chooses submodules, with arguments for the wrapper of each."""

    @abstractmethod
    def _run_policy(
        self, root_module: Any, ignored_modules: set[Any], root_kwargs: dict[str, Any]
    ) -> dict[Any, dict[str, Any]]:
        """The modules that are wrapped."""


class ModuleWrapPolicy(_Policy):
    """Wraps the modules of some classes.

    Args:
        module_classes: The classes.
    """

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._module_classes = set(module_classes)

    def _run_policy(
        self, root_module: Any, ignored_modules: set[Any], root_kwargs: dict[str, Any]
    ) -> dict[Any, dict[str, Any]]:
        kinds = tuple(self._module_classes)
        return {each: dict(root_kwargs) for each in root_module.modules()
                if each not in ignored_modules and isinstance(each, kinds)}

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Whether a module is wrapped; True where its submodules are asked."""
        return recurse or isinstance(module, tuple(self._module_classes))


class CustomPolicy(_Policy):
    """Wraps the modules that a function chooses.

    Args:
        lambda_fn: Takes a module; gives whether it is wrapped, or arguments for its wrapper.
    """

    def __init__(self, lambda_fn: Callable[[Any], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(
        self, root_module: Any, ignored_modules: set[Any], root_kwargs: dict[str, Any]
    ) -> dict[Any, dict[str, Any]]:
        chosen = {}
        for module in root_module.modules():
            found = False if module in ignored_modules else self._lambda_fn(module)
            if not isinstance(found, bool | dict):
                raise ValueError("The lambda_fn passed to CustomPolicy should return False/True or "
                                 f"a kwarg dict, but it returned {found}")
            if found:
                chosen[module] = {**root_kwargs, **(found if isinstance(found, dict) else {})}
        return chosen


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every module."""
    return True


def lambda_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Any], bool]
) -> bool:
    """Wrap the modules that a function chooses.

    Args:
        module: The module.
        recurse: Whether its submodules are asked for.
        nonwrapped_numel: Elements of parameters that are not wrapped yet.
        lambda_fn: Takes a module, and gives whether it is wrapped.
    """
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type]
) -> bool:
    """Wrap the modules of some classes.

    Args:
        module: The module.
        recurse: Whether its submodules are asked for.
        nonwrapped_numel: Elements of parameters that are not wrapped yet.
        transformer_layer_cls: The classes.
    """
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8),
    force_leaf_modules: set[type] | None = None, exclude_wrap_modules: set[type] | None = None,
) -> bool:
    """Wrap modules once they have enough parameters that are not wrapped.

    Args:
        module: The module.
        recurse: Whether its submodules are asked for.
        nonwrapped_numel: Elements of parameters that are not wrapped yet.
        min_num_params: How many are enough.
        force_leaf_modules: Classes below which nothing is wrapped; ``MultiheadAttention`` by
            default.
        exclude_wrap_modules: Classes that are not wrapped; lists and dicts of modules by default.
    """
    leaves = _LEAVES if force_leaf_modules is None else force_leaf_modules
    excluded = _EXCLUDED if exclude_wrap_modules is None else exclude_wrap_modules
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, tuple(leaves))
    return large and not isinstance(module, tuple(excluded))


_LEAVES = {nn.MultiheadAttention}
_EXCLUDED = {nn.ModuleList, nn.ModuleDict}
size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = _EXCLUDED  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = _LEAVES  # type: ignore[attr-defined]


def _or_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, policies: Sequence[Callable[..., bool]]
) -> bool:
    """Whether one of several policies wraps a module."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)
               for policy in policies)


class _Wrapping:
    """The wrapper of the innermost `enable_wrap`."""

    current: tuple[Callable[..., Any], dict[str, Any]] | None = None


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Let `wrap` wrap modules in the block.

    Args:
        wrapper_cls: The wrapper, such as `FullyShardedDataParallel`.
        wrapper_kwargs: Its arguments.
    """
    former, _Wrapping.current = _Wrapping.current, (wrapper_cls, wrapper_kwargs)
    try:
        yield
    finally:
        _Wrapping.current = former


def wrap(module: Any, **wrap_overrides: Any) -> Any:
    """A module, wrapped where a block of `enable_wrap` says so.

    Args:
        module: The module.
        wrap_overrides: Other arguments for its wrapper.
    """
    if _Wrapping.current is None:
        return module
    wrapper, kwargs = _Wrapping.current
    return wrapper(module, **{**kwargs, **wrap_overrides})


def wrap_below(
    module: Any, policy: Any, wrapper: Callable[..., Any], ignored_modules: set[Any],
    ignored_params: set[Any], kwargs: dict[str, Any],
) -> None:
    """Replace submodules that a policy chooses by wrapped ones.

    Args:
        module: The module, which is not wrapped itself.
        policy: A `ModuleWrapPolicy` or `CustomPolicy`, or a function of a module, whether its
            submodules are asked for, and its number of elements that are not wrapped.
        wrapper: What wraps a module.
        ignored_modules: Modules that stay.
        ignored_params: Parameters that do not count.
        kwargs: Arguments of the wrapper.
    """
    if isinstance(policy, _Policy):
        chosen = policy._run_policy(module, ignored_modules, kwargs)
        chosen.pop(module, None)
        _replace(module, chosen, wrapper, set())
        return
    _walk(module, policy, functools.partial(wrapper, **kwargs), ignored_modules, ignored_params,
          True)


def _replace(
    module: Any, chosen: dict[Any, dict[str, Any]], wrapper: Callable[..., Any], seen: set[int]
) -> None:
    """Wrap chosen submodules, inner ones first."""
    if id(module) in seen:
        return
    seen.add(id(module))
    for name, child in list(module.named_children()):
        _replace(child, chosen, wrapper, seen)
        if child in chosen:
            module._modules[name] = wrapper(child, **chosen[child])


def _walk(
    module: Any, policy: Callable[..., bool], wrapper: Callable[..., Any],
    ignored_modules: set[Any], ignored_params: set[Any], children_only: bool,
) -> tuple[Any, int]:
    """A module, perhaps wrapped, and how many elements are wrapped in it."""
    count = sum(p.numel() for p in module.parameters() if p not in ignored_params)
    if not policy(module=module, recurse=True, nonwrapped_numel=count):
        return module, 0
    wrapped = 0
    for name, child in list(module.named_children()):
        if child not in ignored_modules:
            made, elements = _walk(child, policy, wrapper, ignored_modules, ignored_params, False)
            module._modules[name] = made
            wrapped += elements
    left = count - wrapped
    if not children_only and policy(module=module, recurse=False, nonwrapped_numel=left):
        return wrapper(module), count
    return module, wrapped
