"""What programs may choose in graph mode, beside configurations of layers."""
from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["ConvertCustomConfig", "FuseCustomConfig", "PrepareCustomConfig",
           "StandaloneModuleConfigEntry"]

STANDALONE_MODULE_NAME_DICT_KEY = "standalone_module_name"
STANDALONE_MODULE_CLASS_DICT_KEY = "standalone_module_class"
FLOAT_TO_OBSERVED_DICT_KEY = "float_to_observed_custom_module_class"
OBSERVED_TO_QUANTIZED_DICT_KEY = "observed_to_quantized_custom_module_class"
NON_TRACEABLE_MODULE_NAME_DICT_KEY = "non_traceable_module_name"
NON_TRACEABLE_MODULE_CLASS_DICT_KEY = "non_traceable_module_class"
INPUT_QUANTIZED_INDEXES_DICT_KEY = "input_quantized_idxs"
OUTPUT_QUANTIZED_INDEXES_DICT_KEY = "output_quantized_idxs"
PRESERVED_ATTRIBUTES_DICT_KEY = "preserved_attributes"


class StandaloneModuleConfigEntry(NamedTuple):
    """How a module is prepared that is quantized for itself."""

    qconfig_mapping: Any
    example_inputs: Any
    prepare_custom_config: Any
    backend_config: Any


class _Config:
    #: Key of a dict -> attribute.
    _KEYS: dict[str, str] = {}

    def set_preserved_attributes(self, attributes: list[str]) -> Any:
        """Attributes of the network that the graph module has, too."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def of(cls, given: Any) -> Any:
        """A configuration, from one, a dict or None."""
        return given if isinstance(given, cls) else cls.from_dict(given or {})

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Any:
        """The configuration of a dict, as `to_dict` gives it."""
        made = cls()
        for key, name in cls._KEYS.items():
            if key in given:
                setattr(made, name, given[key])
        return made

    def to_dict(self) -> dict[str, Any]:
        """What differs from an empty configuration."""
        found = {key: getattr(self, name) for key, name in self._KEYS.items()}
        return {key: value for key, value in found.items() if value}


class FuseCustomConfig(_Config):
    """For `fuse_fx`."""

    _KEYS = {PRESERVED_ATTRIBUTES_DICT_KEY: "preserved_attributes"}

    def __init__(self) -> None:
        self.preserved_attributes: list[str] = []


class _WithMapping(_Config):
    """Classes by the way in which they are quantized: ``"static"``, ``"dynamic"``, ``"weight"``."""

    _KEY: str

    def __init__(self) -> None:
        self.preserved_attributes: list[str] = []
        self.by_way: dict[Any, dict[Any, Any]] = {}

    def _set(self, source: Any, target: Any, quant_type: Any) -> Any:
        from flambeau.ao.quantization.qconfig_mapping import QuantType

        self.by_way.setdefault(QuantType(quant_type), {})[source] = target
        return self

    @property
    def classes(self) -> dict[Any, Any]:
        """Class of a layer -> its replacement, however it is quantized."""
        return {kind: made for each in self.by_way.values() for kind, made in each.items()}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Any:
        """The configuration of a dict, as `to_dict` gives it."""
        made = super().from_dict(given)
        for way, classes in given.get(cls._KEY, {}).items():
            for source, target in classes.items():
                made._set(source, target, _way_of(way))
        return made

    def to_dict(self) -> dict[str, Any]:
        """What differs from an empty configuration."""
        ways = {_WAYS[int(way)]: dict(classes) for way, classes in self.by_way.items()}
        return {**({self._KEY: ways} if ways else {}), **super().to_dict()}


_WAYS = {0: "dynamic", 1: "static", 2: "qat", 3: "weight_only"}


def _way_of(name: str) -> int:
    return next(number for number, word in _WAYS.items() if word == name)


class PrepareCustomConfig(_WithMapping):
    """For `prepare_fx` and `prepare_qat_fx`."""

    _KEY = FLOAT_TO_OBSERVED_DICT_KEY
    _KEYS = {NON_TRACEABLE_MODULE_NAME_DICT_KEY: "non_traceable_module_names",
             NON_TRACEABLE_MODULE_CLASS_DICT_KEY: "non_traceable_module_classes",
             INPUT_QUANTIZED_INDEXES_DICT_KEY: "input_quantized_indexes",
             OUTPUT_QUANTIZED_INDEXES_DICT_KEY: "output_quantized_indexes",
             PRESERVED_ATTRIBUTES_DICT_KEY: "preserved_attributes"}

    def __init__(self) -> None:
        super().__init__()
        self.standalone_module_names: dict[str, StandaloneModuleConfigEntry] = {}
        self.standalone_module_classes: dict[type, StandaloneModuleConfigEntry] = {}
        self.non_traceable_module_names: list[str] = []
        self.non_traceable_module_classes: list[type] = []
        self.input_quantized_indexes: list[int] = []
        self.output_quantized_indexes: list[int] = []

    @property
    def float_to_observed_mapping(self) -> dict[Any, Any]:
        """Way of quantizing -> float layer -> the layer that is watched in its place."""
        return self.by_way

    def set_standalone_module_name(self, module_name: str, qconfig_mapping: Any,
                                   example_inputs: Any, prepare_custom_config: Any,
                                   backend_config: Any) -> PrepareCustomConfig:
        """Quantize the module of a path for itself."""
        self.standalone_module_names[module_name] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config)
        return self

    def set_standalone_module_class(self, module_class: type, qconfig_mapping: Any,
                                    example_inputs: Any, prepare_custom_config: Any,
                                    backend_config: Any) -> PrepareCustomConfig:
        """Quantize modules of a class for themselves."""
        self.standalone_module_classes[module_class] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config)
        return self

    def set_float_to_observed_mapping(self, float_class: type, observed_class: type,
                                      quant_type: Any = 1) -> PrepareCustomConfig:
        """Watch layers of a class as ``observed_class.from_float(layer)``."""
        made: PrepareCustomConfig = self._set(float_class, observed_class, quant_type)
        return made

    def set_non_traceable_module_names(self, module_names: list[str]) -> PrepareCustomConfig:
        """Paths of modules that stay whole."""
        self.non_traceable_module_names = module_names
        return self

    def set_non_traceable_module_classes(self, module_classes: list[type]) -> PrepareCustomConfig:
        """Classes of modules that stay whole."""
        self.non_traceable_module_classes = module_classes
        return self

    def set_input_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Which inputs of the graph are integers."""
        self.input_quantized_indexes = indexes
        return self

    def set_output_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Which outputs of the graph are integers."""
        self.output_quantized_indexes = indexes
        return self

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> PrepareCustomConfig:
        """The configuration of a dict, as `to_dict` gives it."""
        made: PrepareCustomConfig = super().from_dict(given)
        for key, entries in ((STANDALONE_MODULE_NAME_DICT_KEY, made.standalone_module_names),
                             (STANDALONE_MODULE_CLASS_DICT_KEY, made.standalone_module_classes)):
            for name, mapping, inputs, custom, backend in given.get(key, ()):
                known: Any = entries
                known[name] = StandaloneModuleConfigEntry(
                    _mapping_of(mapping), inputs, PrepareCustomConfig.of(custom), backend)
        return made

    def to_dict(self) -> dict[str, Any]:
        """What differs from an empty configuration."""
        found = super().to_dict()
        for key, entries in ((STANDALONE_MODULE_NAME_DICT_KEY, self.standalone_module_names),
                             (STANDALONE_MODULE_CLASS_DICT_KEY, self.standalone_module_classes)):
            if entries:
                found[key] = [(name, entry.qconfig_mapping and entry.qconfig_mapping.to_dict(),
                               entry.example_inputs, entry.prepare_custom_config.to_dict(),
                               entry.backend_config) for name, entry in entries.items()]
        return found


def _mapping_of(given: Any) -> Any:
    from flambeau.ao.quantization.qconfig_mapping import QConfigMapping

    return QConfigMapping.from_dict(given) if isinstance(given, dict) else given


class ConvertCustomConfig(_WithMapping):
    """For `convert_fx`."""

    _KEY = OBSERVED_TO_QUANTIZED_DICT_KEY
    _KEYS = {PRESERVED_ATTRIBUTES_DICT_KEY: "preserved_attributes"}

    @property
    def observed_to_quantized_mapping(self) -> dict[Any, Any]:
        """Way of quantizing -> watched layer -> its replacement."""
        return self.by_way

    def set_observed_to_quantized_mapping(self, observed_class: type, quantized_class: type,
                                          quant_type: Any = 1) -> ConvertCustomConfig:
        """Replace layers of a class by ``quantized_class.from_observed(layer)``."""
        made: ConvertCustomConfig = self._set(observed_class, quantized_class, quant_type)
        return made
