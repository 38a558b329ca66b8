"""From a float network to one of integers: prepare, run it on data, convert."""
from __future__ import annotations

import copy
from typing import Any

import flambeau
import flambeau.ao.quantization.quantization_mappings as mappings
from flambeau import nn as layers
from flambeau.ao.nn import intrinsic, quantized
from flambeau.nn import Module

from .qconfig import (
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
)
from .stubs import QuantWrapper

__all__ = ["add_quant_dequant", "convert", "prepare", "prepare_qat", "propagate_qconfig_",
           "quantize", "quantize_dynamic", "quantize_qat", "swap_module"]

_WATCHER = "activation_post_process"


# ---- configurations ------------------------------------------------------------------------------
def propagate_qconfig_(module: Module, qconfig_dict: Any = None,
                       prepare_custom_config_dict: Any = None) -> None:
    """Give each layer the configuration of the nearest module above it that has one.

    Args:
        module: The network.
        qconfig_dict: Name or class of a layer -> its configuration, ``""`` -> that of all.
        prepare_custom_config_dict: ``non_traceable_module_name`` and ``..._class`` are left out.
    """
    chosen = dict(qconfig_dict or {})
    _propagate(module, chosen, getattr(module, "qconfig", chosen.get("")), "")


def _propagate(module: Module, chosen: dict[Any, Any], above: Any, name: str) -> None:
    found = chosen.get(name, chosen.get(type(module), above)) if name or type(module) in chosen \
        else above
    found = getattr(module, "qconfig", found)
    module.qconfig = found
    for child_name, child in module.named_children():
        _propagate(child, chosen, found, f"{name}.{child_name}" if name else child_name)


# ---- observers -----------------------------------------------------------------------------------
def _observe(module: Any, input: Any, output: Any) -> Any:
    """What runs behind a layer that is watched."""
    return getattr(module, _WATCHER)(output)


def _watch(module: Module, is_qat: bool) -> None:
    observer = mappings.fixed_range(type(module), is_qat) or module.qconfig.activation
    made: Any = observer()
    parameter = next(module.parameters(), None)
    if parameter is not None:
        made.to(parameter.device)
    module.add_module(_WATCHER, made)
    module.register_forward_hook(_observe, prepend=True)


def _is_fused(module: Module) -> bool:
    return isinstance(module, intrinsic._FusedModule)


def _add_observers(module: Module, kinds: set[Any], as_one: set[Any], is_qat: bool) -> None:
    """Watch the layers of the kinds; nothing inside of those that are quantized as one."""
    for child in list(module.children()):
        kind = type(child)
        if kind in mappings.no_observer_set() or getattr(child, "qconfig", None) is None \
                and not list(child.children()):
            continue
        if isinstance(child, quantized.FloatFunctional):
            if child.qconfig is not None:
                setattr(child, _WATCHER, child.qconfig.activation())
        elif child.qconfig is not None and (_is_fused(child) or kind in as_one or (
                kind in kinds and not list(child.children()))):
            _watch(child, is_qat)
        elif not hasattr(child, _WATCHER):
            _add_observers(child, kinds, as_one, is_qat)


def prepare(model: Module, inplace: bool = False, allow_list: Any = None,
            observer_non_leaf_module_list: Any = None,
            prepare_custom_config_dict: Any = None) -> Module:
    """A network whose layers are watched, to be run on data before `convert`.

    Args:
        model: The network, in eval mode, with a ``qconfig``, or with layers that have one.
        inplace: Whether ``model`` itself changes.
        allow_list: Classes of layers that are watched; None: all that are quantized.
        observer_non_leaf_module_list: Classes of further layers, with layers inside.
        prepare_custom_config_dict: Not used.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.ao import quantization as q
        >>> network = nn.Sequential(q.QuantStub(), nn.Linear(4, 2), q.DeQuantStub()).eval()
        >>> network.qconfig = q.get_default_qconfig("x86")
        >>> ready = q.prepare(network)
        >>> _ = ready(flambeau.rand(100, 4))
        >>> q.convert(ready)[1].weight().dtype
        flambeau.qint8
    """
    if not inplace:
        model = copy.deepcopy(model)
    if not any(getattr(m, "qconfig", None) is not None for m in model.modules()):
        raise ValueError("prepare(): no layer has a configuration: write model.qconfig = "
                         "get_default_qconfig('x86')")
    propagate_qconfig_(model)
    kinds = set(allow_list or mappings.get_default_qconfig_propagation_list())
    as_one = set(observer_non_leaf_module_list or ())
    _add_observers(model, kinds, as_one, is_qat=bool(as_one))
    return model


def prepare_qat(model: Module, mapping: Any = None, inplace: bool = False) -> Module:
    """A network that is trained with weights and outputs rounded as they will be.

    Args:
        model: The network, in training mode, with a ``qconfig``.
        mapping: Float layer -> layer with a rounded weight.
        inplace: Whether ``model`` itself changes.

    Raises:
        AssertionError: The network is in eval mode.
    """
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode: write "
                             "model.train() before")
    mapping = mappings.get_default_qat_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    _swap_all(model, mapping)
    return prepare(model, inplace=True, observer_non_leaf_module_list=set(mapping.values()))


# ---- conversion ----------------------------------------------------------------------------------
def swap_module(mod: Any, mapping: dict[Any, Any], custom_module_class_mapping: Any = None,
                use_precomputed_fake_quant: bool = False) -> Any:
    """The layer that replaces one, or the layer itself.

    Args:
        mod: The layer, with a ``qconfig``; one that has none stays.
        mapping: Float layer -> its replacement, which has ``from_float``.
        custom_module_class_mapping: Further ones.
        use_precomputed_fake_quant: Not used.
    """
    kind = {**mapping, **(custom_module_class_mapping or {})}.get(type(mod))
    if kind is None or getattr(mod, "qconfig", None) is None:
        return mod
    made = kind.from_float(mod)
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observe:
            made.register_forward_hook(hook)
    return made


def _swap_all(module: Module, mapping: dict[Any, Any]) -> None:
    for name, child in list(module.named_children()):
        swapped = swap_module(child, mapping)
        if swapped is child and not _is_fused(child):
            _swap_all(child, mapping)
        setattr(module, name, swapped)


def convert(module: Module, mapping: Any = None, inplace: bool = False,
            remove_qconfig: bool = True, is_reference: bool = False,
            convert_custom_config_dict: Any = None,
            use_precomputed_fake_quant: bool = False) -> Module:
    """A network of integers, made from one that was prepared and has seen data.

    Args:
        module: That network.
        mapping: Float layer -> its replacement.
        inplace: Whether ``module`` itself changes.
        remove_qconfig: Whether configurations and observers that remain are removed.
        is_reference: True is refused.
        convert_custom_config_dict: Not used.
        use_precomputed_fake_quant: Not used.

    Raises:
        NotImplementedError: ``is_reference`` is true.
    """
    if is_reference:
        raise NotImplementedError("convert(is_reference=True): write flambeau.onnx.export(model, "
                                  "..., quantized='qdq') for networks in other runtimes")
    mapping = mappings.get_default_static_quant_module_mappings() if mapping is None else mapping
    if not inplace:
        module = copy.deepcopy(module)
    holder = layers.Sequential(module)      # the network itself may be a layer that is replaced
    _swap_all(holder, mapping)
    if remove_qconfig:
        _forget(holder)
    return holder[0]


def _forget(module: Module) -> None:
    """Remove configurations, observers and their hooks."""
    for child in module.children():
        _forget(child)
    if "qconfig" in module.__dict__:
        del module.qconfig
    if isinstance(module, (quantized.FloatFunctional, quantized.QFunctional)):
        return
    if _WATCHER in module._modules and not hasattr(module, "fake_quant_enabled"):
        del module._modules[_WATCHER]
    for key, hook in list(module._forward_hooks.items()):
        if hook is _observe:
            del module._forward_hooks[key]


def quantize(model: Module, run_fn: Any, run_args: Any, mapping: Any = None,
             inplace: bool = False) -> Module:
    """`prepare`, run on data, `convert`.

    Args:
        model: The network, with a ``qconfig``.
        run_fn: Called with the prepared network and ``run_args``.
        run_args: Further arguments, in a sequence.
        mapping: Float layer -> its replacement.
        inplace: Whether ``model`` itself changes.
    """
    model = prepare(model if inplace else copy.deepcopy(model), inplace=True).eval()
    run_fn(model, *run_args)
    return convert(model, mapping, inplace=True)


def quantize_qat(model: Module, run_fn: Any, run_args: Any, inplace: bool = False) -> Module:
    """`prepare_qat`, train, `convert`.

    Args:
        model: The network, with a ``qconfig``.
        run_fn: Called with the prepared network and ``run_args``; trains it.
        run_args: Further arguments, in a sequence.
        inplace: Whether ``model`` itself changes.
    """
    model = prepare_qat(model.train() if inplace else copy.deepcopy(model).train(), inplace=True)
    run_fn(model, *run_args)
    return convert(model, inplace=True)


def add_quant_dequant(module: Module) -> Module:
    """A network whose layers with a configuration stand between stubs.

    Args:
        module: The network; its layers change.
    """
    if not list(module.children()) and getattr(module, "qconfig", None) is not None:
        return QuantWrapper(module)
    for name, child in list(module.named_children()):
        module._modules[name] = add_quant_dequant(child)
    return module


def quantize_dynamic(model: Module, qconfig_spec: Any = None, dtype: Any = flambeau.qint8,
                     mapping: Any = None, inplace: bool = False) -> Module:
    """A network whose layers have weights of integers and take floats.

    Args:
        model: The network.
        qconfig_spec: Classes and names of layers, as a set, or a dict with the configuration of
            each; None: linear and recurrent layers.
        dtype: ``qint8``, ``float16``, or ``quint8`` for tables.
        mapping: Float layer -> its replacement.
        inplace: Whether ``model`` itself changes.

    Raises:
        ValueError: There is no such dtype.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.ao.quantization import quantize_dynamic
        >>> small = quantize_dynamic(nn.Sequential(nn.Linear(8, 4), nn.ReLU()), {nn.Linear})
        >>> small[0].weight().dtype
        flambeau.qint8
    """
    configs = {flambeau.qint8: default_dynamic_qconfig, flambeau.float16: float16_dynamic_qconfig,
               flambeau.quint8: float_qparams_weight_only_qconfig}
    if dtype not in configs:
        raise ValueError("quantize_dynamic(): dtype must be flambeau.qint8, flambeau.float16 or, "
                         f"for embeddings, flambeau.quint8, not {dtype}")
    if qconfig_spec is None:
        kinds: tuple[Any, ...] = (layers.Embedding, layers.EmbeddingBag) \
            if dtype is flambeau.quint8 else (layers.Linear, layers.LSTM, layers.GRU,
                                              layers.LSTMCell, layers.RNNCell, layers.GRUCell)
        qconfig_spec = set(kinds)
    if not isinstance(qconfig_spec, dict):
        qconfig_spec = dict.fromkeys(qconfig_spec, configs[dtype])
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    _propagate(model, qconfig_spec, None, "")
    mapping = mappings.get_default_dynamic_quant_module_mappings() if mapping is None else mapping
    return convert(model, mapping, inplace=True)

