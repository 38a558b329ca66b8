"""Observers behind the layers of a network, and their removal."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flambeau.ao.quantization.quantization_mappings as mappings
import flambeau.ao.quantization.stubs as stubs
from flambeau import nn as layers
from flambeau.ao.nn import intrinsic, quantized
from flambeau.nn import Module
from flambeau.nn.utils.parametrize import type_before_parametrizations as kind_of

__all__ = ["add_observers", "forget", "is_fused", "observe_input", "observe_output"]

_WATCHER = "activation_post_process"
_PARAMETRIZED = "parametrizations"     # a submodule beside those that compute


def observe_output(module: Any, input: Any, output: Any) -> Any:
    """What runs behind a layer that is watched."""
    return getattr(module, _WATCHER)(output)


def observe_input(module: Any, input: Any) -> Any:
    """What runs in front of a layer that quantizes its input anew at each call."""
    return getattr(module, _WATCHER)(input[0])


def is_fused(module: Module) -> bool:
    """Whether a module is several layers that are computed as one."""
    return isinstance(module, intrinsic._FusedModule)


def _config(module: Module) -> Any:
    return getattr(module, "qconfig", None)


def _made(module: Module, observer: Any) -> Any:
    """An observer on the layer's device."""
    made = observer()
    parameter = next(module.parameters(), None)
    if parameter is not None:
        made.to(parameter.device)
    return made


def _forgets(observer: Any) -> bool:
    """Whether an observer knows its last input only."""
    inner = getattr(observer, _WATCHER, observer)
    return bool(getattr(inner, "averaging_constant", None) == 1)


def _watch(module: Module, observer: Any = None) -> None:
    if _config(module) is None or isinstance(module, stubs.DeQuantStub):
        return
    made = _made(module, observer or _config(module).activation)
    module.add_module(_WATCHER, made)
    if _forgets(_config(module).activation()):
        module.register_forward_pre_hook(observe_input, prepend=True)
    else:
        module.register_forward_hook(observe_output, prepend=True)


def add_observers(module: Module, kinds: set[Any], as_one: set[Any],
                  custom: Mapping[Any, Any]) -> None:
    """Watch the layers of a network that will be integers, and their sums.

    Args:
        module: The network, of which each layer has its ``qconfig``.
        kinds: Classes of layers that are watched if no layer is inside.
        as_one: Classes of layers that are watched as one, whatever is inside.
        custom: Class of a layer -> the class that is watched in its place, by ``from_float``.
    """
    for name, child in list(module.named_children()):
        if name == _PARAMETRIZED:
            continue
        kind, config = kind_of(child), _config(child)
        if kind is layers.Dropout:
            continue
        if isinstance(child, (quantized.FloatFunctional, quantized.QFunctional)):
            if config is not None:
                setattr(child, _WATCHER, _made(child, config.activation))
        elif is_fused(child) or kind in as_one:
            _watch(child)
        elif child.training and (fixed := mappings.fixed_range(kind)) is not None:
            _watch(child, fixed)
        elif config is not None and kind in custom:
            made = custom[kind].from_float(child)
            setattr(module, name, made)
            if not isinstance(made, tuple(mappings.no_observer_set())):
                _watch(made)
        else:
            add_observers(child, kinds, as_one, custom)
    if kind_of(module) in kinds and not module._modules.keys() - {_PARAMETRIZED}:
        _watch(module)


def forget(module: Module) -> None:
    """Remove configurations, observers and their hooks.

    Args:
        module: The network.
    """
    for child in module.children():
        forget(child)
    if "qconfig" in module.__dict__:
        del module.qconfig
    if isinstance(module, (quantized.FloatFunctional, quantized.QFunctional)):
        return
    if _WATCHER in module._modules and not hasattr(module, "fake_quant_enabled"):
        del module._modules[_WATCHER]
    for hooks, ours in ((module._forward_hooks, observe_output),
                        (module._forward_pre_hooks, observe_input)):
        for key, hook in list(hooks.items()):
            if hook is ours:
                del hooks[key]
