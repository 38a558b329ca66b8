"""What a runtime computes in integers: patterns of layers, and the dtypes that each is for."""
from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau

__all__ = ["BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints",
           "ObservationType"]


class ObservationType(enum.Enum):
    """Where the scale of a result comes from."""

    OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT = 0
    OUTPUT_SHARE_OBSERVER_WITH_INPUT = 1
    INPUT_OUTPUT_NOT_OBSERVED = 2


class DTypeWithConstraints(NamedTuple):
    """A dtype, and what its integers and scales must keep to.

    Args:
        dtype: The dtype; None: any.
        quant_min_lower_bound, quant_max_upper_bound: Ends of the integers.
        scale_min_lower_bound, scale_max_upper_bound: Ends of the scales.
        scale_exact_match, zero_point_exact_match: The only scale, and the only zero point.
    """

    dtype: Any = None
    quant_min_lower_bound: Any = None
    quant_max_upper_bound: Any = None
    scale_min_lower_bound: Any = None
    scale_max_upper_bound: Any = None
    scale_exact_match: Any = None
    zero_point_exact_match: Any = None

    def takes(self, watched: Any) -> bool:
        """Whether an observer keeps to it."""
        if self.dtype is None:
            return True
        least, greatest = getattr(watched, "quant_min", None), getattr(watched, "quant_max", None)
        eps = getattr(getattr(watched, "activation_post_process", watched), "eps", None)
        low, high = self.quant_min_lower_bound, self.quant_max_upper_bound
        return (watched.dtype is self.dtype
                and (low is None or least is not None and least >= low)
                and (high is None or greatest is not None and greatest <= high)
                and (self.scale_min_lower_bound is None
                     or eps is not None and float(eps) >= self.scale_min_lower_bound))


def _constrained(dtype: Any) -> DTypeWithConstraints:
    return dtype if isinstance(dtype, DTypeWithConstraints) else DTypeWithConstraints(dtype)


class DTypeConfig:
    """The dtypes of one way to compute a pattern.

    Args:
        input_dtype, output_dtype, weight_dtype: Dtypes, or `DTypeWithConstraints`.
        bias_dtype: A dtype.
        is_dynamic: Whether inputs are quantized as they come.
    """

    def __init__(self, input_dtype: Any = None, output_dtype: Any = None, weight_dtype: Any = None,
                 bias_dtype: Any = None, is_dynamic: bool | None = None) -> None:
        self.input_dtype_with_constraints = _constrained(input_dtype)
        self.output_dtype_with_constraints = _constrained(output_dtype)
        self.weight_dtype_with_constraints = _constrained(weight_dtype)
        self.bias_dtype, self.is_dynamic = bias_dtype, is_dynamic

    input_dtype = property(lambda self: self.input_dtype_with_constraints.dtype)
    output_dtype = property(lambda self: self.output_dtype_with_constraints.dtype)
    weight_dtype = property(lambda self: self.weight_dtype_with_constraints.dtype)

    def takes(self, activation: Any, weight: Any) -> bool:
        """Whether observers of results and weights fit."""
        if bool(getattr(activation, "is_dynamic", False)) != bool(self.is_dynamic):
            return False
        ends = [self.input_dtype_with_constraints]
        if not self.is_dynamic:
            ends.append(self.output_dtype_with_constraints)
        return all(each.takes(activation) for each in ends) and \
            self.weight_dtype_with_constraints.takes(weight)


class BackendPatternConfig:
    """How one pattern is computed.

    Args:
        pattern: A class of layers, a function, a method's name, or a tuple of them in a row.
    """

    def __init__(self, pattern: Any = None) -> None:
        self.pattern = pattern
        self.observation_type = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
        self.dtype_configs: list[DTypeConfig] = []
        self.root_module: Any = None
        self.qat_module: Any = None
        self.reference_quantized_module: Any = None
        self.fused_module: Any = None
        self.fuser_method: Callable[..., Any] | None = None

    def set_pattern(self, pattern: Any) -> BackendPatternConfig:
        """The pattern."""
        self.pattern = pattern
        return self

    def set_observation_type(self, observation_type: ObservationType) -> BackendPatternConfig:
        """Where the scale of the result comes from."""
        self.observation_type = observation_type
        return self

    def add_dtype_config(self, dtype_config: DTypeConfig) -> BackendPatternConfig:
        """One more way to compute it."""
        self.dtype_configs.append(dtype_config)
        return self

    def set_dtype_configs(self, dtype_configs: list[DTypeConfig]) -> BackendPatternConfig:
        """All ways to compute it."""
        self.dtype_configs = dtype_configs
        return self

    def set_root_module(self, root_module: Any) -> BackendPatternConfig:
        """The float layer with the weight."""
        self.root_module = root_module
        return self

    def set_qat_module(self, qat_module: Any) -> BackendPatternConfig:
        """The layer that is trained with rounding."""
        self.qat_module = qat_module
        return self

    def set_reference_quantized_module(self, module: Any) -> BackendPatternConfig:
        """The layer that computes in floats what integers stand for."""
        self.reference_quantized_module = module
        return self

    def set_fused_module(self, fused_module: Any) -> BackendPatternConfig:
        """The layer that a row of layers becomes."""
        self.fused_module = fused_module
        return self

    def set_fuser_method(self, fuser_method: Callable[..., Any]) -> BackendPatternConfig:
        """What makes one layer of a row: called with ``is_qat`` and the layers."""
        self.fuser_method = fuser_method
        return self

    def __repr__(self) -> str:
        return f"BackendPatternConfig({self.pattern})"


class BackendConfig:
    """What a runtime computes in integers.

    Args:
        name: Of the runtime.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.ao.quantization.backend_config import BackendConfig, BackendPatternConfig
        >>> config = BackendConfig("mine").set_backend_pattern_config(
        ...     BackendPatternConfig(nn.Linear))
        >>> config.configs
        [BackendPatternConfig(<class 'flambeau.nn.modules.linear.Linear'>)]
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._by_pattern: dict[Any, BackendPatternConfig] = {}

    def set_name(self, name: str) -> BackendConfig:
        """The name of the runtime."""
        self.name = name
        return self

    def set_backend_pattern_config(self, config: BackendPatternConfig) -> BackendConfig:
        """Add a pattern, or replace its configuration."""
        self._by_pattern[config.pattern] = config
        return self

    def set_backend_pattern_configs(self, configs: list[BackendPatternConfig]) -> BackendConfig:
        """Add several."""
        for config in configs:
            self.set_backend_pattern_config(config)
        return self

    @property
    def configs(self) -> list[BackendPatternConfig]:
        """All patterns."""
        return list(self._by_pattern.values())

    def fusers(self) -> dict[tuple[Any, ...], Callable[..., Any]]:
        """Rows of layers that are fused, and by what."""
        return {config.pattern: config.fuser_method for config in self.configs
                if config.fuser_method is not None and isinstance(config.pattern, tuple)}

    def takes(self, kind: Any, qconfig: Any) -> bool:
        """Whether a layer or function is computed in the dtypes of a configuration.

        Args:
            kind: The class of the layer, or the function.
            qconfig: The configuration.
        """
        config = self._by_pattern.get(kind)
        if config is None:
            return any(kind in (each.fused_module, each.qat_module) for each in self.configs)
        activation, weight = qconfig.activation(), qconfig.weight()
        return not config.dtype_configs or any(
            each.takes(activation, weight) for each in config.dtype_configs)


#: Ways to compute with integers of 8 bits.
STATIC = DTypeConfig(flambeau.quint8, flambeau.quint8, flambeau.qint8, flambeau.float32)
PLAIN = DTypeConfig(flambeau.quint8, flambeau.quint8)
DYNAMIC = DTypeConfig(flambeau.quint8, flambeau.float32, flambeau.qint8, flambeau.float32, True)
HALF = DTypeConfig(flambeau.float16, flambeau.float32, flambeau.float16, flambeau.float32, True)
BYTES = DTypeConfig(flambeau.float32, flambeau.float32, flambeau.quint8)
NIBBLES = DTypeConfig(flambeau.float32, flambeau.float32, flambeau.quint4x2)
