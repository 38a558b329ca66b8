"""What observers know, as reference layers take it; names of inputs of layers."""
from __future__ import annotations

import inspect
from typing import Any

import flambeau
from flambeau.nn import Module

from .fixed_observers import NoopObserver, PlaceholderObserver

__all__ = ["activation_dtype", "activation_is_dynamically_quantized",
           "activation_is_statically_quantized", "get_fqn_to_example_inputs", "get_qparam_dict",
           "get_quant_type", "weight_dtype"]

_STATIC = ("quint8", "qint8", "qint32", "float16", "uint8", "int8", "int16", "int32")


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """``qscheme``, ``dtype``, ``scale``, ``zero_point``, ``axis``, ``quant_min``, ``quant_max``.

    Args:
        observer_or_fake_quant: What has seen numbers.

    Example:
        >>> import flambeau
        >>> from flambeau.ao.quantization import MinMaxObserver
        >>> from flambeau.ao.quantization.utils import get_qparam_dict
        >>> observer = MinMaxObserver()
        >>> _ = observer(flambeau.tensor([0.0, 2.55]))
        >>> get_qparam_dict(observer)["zero_point"]
        tensor([0])
    """
    watched = observer_or_fake_quant
    scheme = getattr(watched, "qscheme", None)
    facts: dict[str, Any] = {"qscheme": scheme, "dtype": watched.dtype}
    if scheme is None or isinstance(watched, (PlaceholderObserver, NoopObserver)):
        return {"qscheme": None, "dtype": watched.dtype}
    if scheme == flambeau.per_tensor_symmetric:
        facts["qscheme"] = flambeau.per_tensor_affine
    elif scheme != flambeau.per_tensor_affine:
        facts["axis"] = watched.ch_axis
        if scheme == flambeau.per_channel_symmetric:
            facts["qscheme"] = flambeau.per_channel_affine
    facts["scale"], facts["zero_point"] = watched.calculate_qparams()
    for name in ("quant_min", "quant_max"):
        if hasattr(watched, name):
            facts[name] = getattr(watched, name)
    return facts


def activation_dtype(qconfig: Any) -> Any:
    """The dtype that a configuration has for outputs."""
    return qconfig.activation().dtype


def weight_dtype(qconfig: Any) -> Any:
    """The dtype that a configuration has for weights."""
    return qconfig.weight().dtype


def activation_is_statically_quantized(qconfig: Any) -> bool:
    """Whether outputs have a scale that is known beforehand."""
    watched = qconfig.activation()
    return watched.dtype.name in _STATIC and not getattr(watched, "is_dynamic", False)


def activation_is_dynamically_quantized(qconfig: Any) -> bool:
    """Whether inputs are quantized as they come."""
    return bool(getattr(qconfig.activation(), "is_dynamic", False))


def get_quant_type(qconfig: Any) -> Any:
    """Static, dynamic or of weights alone.

    Raises:
        ValueError: The configuration is none of these.
    """
    from .qconfig_mapping import QuantType

    activation, weight = qconfig.activation(), qconfig.weight()
    if weight.dtype.name in _STATIC + ("quint4x2",):
        if getattr(activation, "is_dynamic", False):
            return QuantType.DYNAMIC
        return QuantType.STATIC if activation.dtype.name in _STATIC else QuantType.WEIGHT_ONLY
    if weight.dtype is flambeau.float16:
        if getattr(activation, "is_dynamic", False):
            return QuantType.DYNAMIC
        if activation.dtype is flambeau.float16:
            return QuantType.STATIC
    raise ValueError(f"get_quant_type(): outputs of {activation.dtype} with weights of "
                     f"{weight.dtype} are not quantized")


def get_fqn_to_example_inputs(model: Module, example_inputs: tuple[Any, ...]
                              ) -> dict[str, tuple[Any, ...]]:
    """The inputs that each module of a network is called with.

    Args:
        model: The network.
        example_inputs: Its inputs, in a tuple.

    Returns:
        Path of a module -> the inputs of its last call, keywords at their position.
    """
    names = {module: name for name, module in model.named_modules()}
    found: dict[str, tuple[Any, ...]] = {}

    def record(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        last = list(bound.arguments)[-1:]
        bound.apply_defaults()      # of what stands before a keyword that is given
        given = list(bound.arguments)
        kept = given[:given.index(last[0]) + 1] if last else []
        found[names[module]] = tuple(bound.arguments[name] for name in kept)

    hooks = [module.register_forward_pre_hook(record, with_kwargs=True) for module in names]
    try:
        model(*example_inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return found
