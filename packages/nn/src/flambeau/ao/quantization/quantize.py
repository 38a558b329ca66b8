"""From a float network to one of integers: prepare, run it on data, convert."""
from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

import flambeau
import flambeau.ao.quantization.quantization_mappings as mappings
from flambeau import nn as layers
from flambeau.nn import Module
from flambeau.nn.utils.parametrize import type_before_parametrizations as kind_of

from .qconfig import (
    check_fits,
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
)
from .stubs import QuantWrapper
from .utils import get_qparam_dict
from .watching import add_observers, forget, is_fused, observe_input, observe_output

__all__ = ["add_quant_dequant", "convert", "prepare", "prepare_qat", "propagate_qconfig_",
           "quantize", "quantize_dynamic", "quantize_qat", "swap_module"]

# ---- configurations ------------------------------------------------------------------------------
def propagate_qconfig_(module: Module, qconfig_dict: Any = None,
                       prepare_custom_config_dict: Any = None) -> None:
    """Give each layer the configuration of the nearest module above it that has one.

    Args:
        module: The network.
        qconfig_dict: Name or class of a layer -> its configuration, ``""`` -> that of all.
        prepare_custom_config_dict: ``non_traceable_module_name`` and ``..._class`` are left out.
    """
    custom = prepare_custom_config_dict or {}
    _propagate(module, qconfig_dict or {}, None, "", (
        custom.get("non_traceable_module_name", ()), custom.get("non_traceable_module_class", ())))


def _propagate(module: Module, chosen: dict[Any, Any], above: Any, name: str,
               left_out: tuple[Any, Any] = ((), ())) -> None:
    found = chosen.get(name, chosen.get(kind_of(module), above))
    found = module.qconfig = getattr(module, "qconfig", found)
    check_fits(found, module)
    names, kinds = left_out
    for own, child in module.named_children():
        if own not in names and kind_of(child) not in kinds:
            _propagate(child, chosen, found, f"{name}.{own}" if name else own, left_out)


def prepare(model: Module, inplace: bool = False, allow_list: Any = None,
            observer_non_leaf_module_list: Any = None,
            prepare_custom_config_dict: Any = None) -> Module:
    """A network whose layers are watched, to be run on data before `convert`.

    Args:
        model: The network, in eval mode, with a ``qconfig``, or with layers that have one.
        inplace: Whether ``model`` itself changes.
        allow_list: Classes of layers that are watched; None: all that are quantized.
        observer_non_leaf_module_list: Classes of further layers, with layers inside.
        prepare_custom_config_dict: ``{"float_to_observed_custom_module_class": {A: B}}`` has
            layers of class A watched as ``B.from_float(layer)``; None: LSTM and
            MultiheadAttention are watched as those of `flambeau.ao.nn.quantizable`.

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
    propagate_qconfig_(model)
    if not any(getattr(m, "qconfig", None) is not None for m in model.modules()):
        warnings.warn("prepare(): no layer has a configuration, and none is watched: write "
                      "model.qconfig = get_default_qconfig('x86') before", stacklevel=2)
    kinds = set(mappings.get_default_qconfig_propagation_list() if allow_list is None
                else allow_list)
    custom = mappings.OBSERVED_LAYERS if prepare_custom_config_dict is None else \
        prepare_custom_config_dict.get("float_to_observed_custom_module_class", {})
    add_observers(model, kinds, set(observer_non_leaf_module_list or ()), custom)
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
        custom_module_class_mapping: Watched layer -> its replacement, which has
            ``from_observed``.
        use_precomputed_fake_quant: Passed on to those ``from_float`` that take it.
    """
    if getattr(mod, "qconfig", None) is None:
        return mod
    kind = kind_of(mod)
    if kind in (custom_module_class_mapping or {}):
        made = custom_module_class_mapping[kind].from_observed(mod)
    elif kind in mapping:
        make = mapping[kind].from_float
        if getattr(mapping[kind], "_IS_REFERENCE", False):
            made = make(mod, watched_weights(mod))
        else:
            precomputed = {"use_precomputed_fake_quant": use_precomputed_fake_quant}
            takes = precomputed.keys() <= inspect.signature(make).parameters.keys()
            made = make(mod, **(precomputed if takes else {}))
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        if hook is not observe_input:
            made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not observe_output:
            made.register_forward_hook(hook)
    return made


def watched_weights(mod: Any) -> dict[str, Any]:
    """What the observers of a layer's configuration know of its weights.

    Args:
        mod: A float layer with a ``qconfig``; of a recurrent one, the dict has a dict for each
            weight by name.
    """
    def facts(weight: Any) -> dict[str, Any]:
        observer = mod.qconfig.weight()
        observer(weight.detach())
        return get_qparam_dict(observer)

    if isinstance(mod, (layers.RNNBase, layers.RNNCellBase)):
        return {name: facts(value) for name, value in mod.named_parameters(recurse=False)
                if name.startswith("weight")}
    return facts(mod.weight)


def _swap_all(module: Module, mapping: dict[Any, Any], custom: Any = None,
              precomputed: bool = False) -> None:
    for name, child in list(module.named_children()):
        swapped = swap_module(child, mapping, custom, precomputed)
        if swapped is child and not is_fused(child):
            _swap_all(child, mapping, custom, precomputed)
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
        is_reference: Whether layers compute in floats what integers of their weights stand for.
        convert_custom_config_dict: ``{"observed_to_quantized_custom_module_class": {B: C}}``
            replaces layers of class B by ``C.from_observed(layer)``; None: those of
            `flambeau.ao.nn.quantizable` by those of `flambeau.ao.nn.quantized`.
        use_precomputed_fake_quant: Passed on to those ``from_float`` that take it.
    """
    if mapping is None:
        mapping = mappings.get_default_reference_static_quant_module_mappings() if is_reference \
            else mappings.get_default_static_quant_module_mappings()
    if not inplace:
        module = copy.deepcopy(module)
    holder = layers.Sequential(module)      # the network itself may be a layer that is replaced
    custom = mappings.QUANTIZED_LAYERS if convert_custom_config_dict is None else \
        convert_custom_config_dict.get("observed_to_quantized_custom_module_class")
    _swap_all(holder, mapping, custom, use_precomputed_fake_quant)
    if remove_qconfig:
        forget(holder)
    return holder[0]


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

