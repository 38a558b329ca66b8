"""Which configuration which layer and function has: by name, by kind, or for all."""
from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import nn as layers
from flambeau.nn import functional as F

from .fixed_observers import FixedQParamsObserver, PlaceholderObserver
from .qconfig import (
    QConfig,
    default_quint8_weight_qconfig,
    default_reuse_input_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)
from .quantization_mappings import DEFAULT_MODULE_TO_ACT_POST_PROCESS

__all__ = ["QConfigMapping", "QuantType", "get_default_qat_qconfig_mapping",
           "get_default_qconfig_mapping"]


class QuantType(enum.IntEnum):
    """When inputs are quantized."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


_GLOBAL_DICT_KEY, _OBJECT_TYPE_DICT_KEY = "", "object_type"
_MODULE_NAME_REGEX_DICT_KEY, _MODULE_NAME_DICT_KEY = "module_name_regex", "module_name"
_MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY = "module_name_object_type_order"
#: Key of a dict -> attribute of a mapping; entries are tuples that end with a configuration.
_KEYS = {_OBJECT_TYPE_DICT_KEY: "object_type_qconfigs",
         _MODULE_NAME_REGEX_DICT_KEY: "module_name_regex_qconfigs",
         _MODULE_NAME_DICT_KEY: "module_name_qconfigs",
         _MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY: "module_name_object_type_order_qconfigs"}


class QConfigMapping:
    """Configurations of layers and functions: the most particular one holds.

    From the most to the least particular: `set_module_name_object_type_order`,
    `set_module_name`, `set_module_name_regex`, `set_object_type`, `set_global`.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.ao import quantization as q
        >>> mapping = q.QConfigMapping().set_global(q.default_qconfig)
        >>> mapping = mapping.set_object_type(nn.Linear, q.default_per_channel_qconfig)
        >>> sorted(mapping.to_dict())[:2]
        ['', 'module_name']
    """

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: OrderedDict[Any, Any] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[Any, Any] = OrderedDict()

    def set_global(self, global_qconfig: Any) -> QConfigMapping:
        """The configuration of all."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: Any) -> QConfigMapping:
        """The configuration of layers of a class, calls of a function, or of a method by name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> QConfigMapping:
        """The configuration of modules whose path matches; the first that does, holds."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> QConfigMapping:
        """The configuration of the module of a path, and of all below it."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(self, module_name: str, object_type: Any, index: int,
                                          qconfig: Any) -> QConfigMapping:
        """The configuration of one of the calls of a kind that a module makes."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def to_dict(self) -> dict[str, Any]:
        """The dict that `from_dict` takes."""
        found: dict[str, Any] = {_GLOBAL_DICT_KEY: self.global_qconfig}
        for key, name in _KEYS.items():
            found[key] = [(*(each if isinstance(each, tuple) else (each,)), qconfig)
                          for each, qconfig in getattr(self, name).items()]
        return found

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """The mapping of a dict, of which unknown keys are left out.

        Args:
            qconfig_dict: ``""`` -> the configuration of all, ``"object_type"``,
                ``"module_name_regex"``, ``"module_name"``, ``"module_name_object_type_order"``
                -> lists of tuples that end with a configuration.
        """
        made = cls().set_global(qconfig_dict.get(_GLOBAL_DICT_KEY))
        for key, name in _KEYS.items():
            for *what, qconfig in qconfig_dict.get(key, ()):
                getattr(made, name)[what[0] if len(what) == 1 else tuple(what)] = qconfig
        return made

    def __repr__(self) -> str:
        lines = [f" {_KEYS.get(key, 'global_qconfig')}: {value}"
                 for key, value in self.to_dict().items()]
        return "QConfigMapping (\n" + "\n".join(lines) + "\n)"


# ---- what PyTorch's engines begin with -----------------------------------------------------------
_FIXED: dict[Any, Any] = {
    **DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    **dict.fromkeys((F.hardsigmoid, "hardsigmoid", "hardsigmoid_", flambeau.sigmoid, "sigmoid",
                     "sigmoid_", F.sigmoid, F.softmax),
                    DEFAULT_MODULE_TO_ACT_POST_PROCESS[layers.Sigmoid]),
    **dict.fromkeys((flambeau.tanh, "tanh", "tanh_", F.tanh),
                    DEFAULT_MODULE_TO_ACT_POST_PROCESS[layers.Tanh])}
_TRANSPOSED = (layers.ConvTranspose1d, layers.ConvTranspose2d, layers.ConvTranspose3d,
               F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
_NORMS = (F.layer_norm, layers.LayerNorm)


def fixed_ranges() -> dict[Any, Any]:
    """Kind of a layer or function with a known range -> the fake quantization of its output."""
    return _FIXED


def _mapping(qconfig: QConfig, watched: Callable[[Any], Any]) -> QConfigMapping:
    from .qconfig import default_weight_observer

    weight = qconfig.weight
    by_channel = "ch_axis" in vars(weight()) if weight is not None else False
    for_transposed = QConfig(qconfig.activation, default_weight_observer) if by_channel \
        else qconfig
    made = QConfigMapping().set_global(qconfig).set_object_type(
        "reshape", default_reuse_input_qconfig)
    for kind in _TRANSPOSED:
        made.set_object_type(kind, for_transposed)
    for norm in _NORMS:
        made.set_object_type(norm, QConfig(qconfig.activation, PlaceholderObserver))
    made.set_object_type(layers.PReLU, default_quint8_weight_qconfig)
    for kind, fake in _FIXED.items():
        made.set_object_type(kind, QConfig(watched(fake), default_weight_observer))
    return made


def _observer_of(fake: Any) -> Any:
    return fake.keywords["observer"]


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """The configurations that PyTorch has for an engine.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"onednn"`` or ``"qnnpack"``.
        version: 0.
    """
    return _mapping(get_default_qconfig(backend, version), _observer_of)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """The configurations for training with rounding that PyTorch has for an engine.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"onednn"`` or ``"qnnpack"``.
        version: 0 or 1.
    """
    return _mapping(get_default_qat_qconfig(backend, version), lambda fake: fake)


def is_fixed(observer: Any) -> bool:
    """Whether an observer knows its scale without watching.

    Args:
        observer: An observer or a fake quantization.
    """
    inner = getattr(observer, "activation_post_process", observer)
    return isinstance(inner, FixedQParamsObserver)
