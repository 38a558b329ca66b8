"""Configurations: which observers watch outputs and weights."""
from __future__ import annotations

from typing import Any, NamedTuple

import flambeau
import flambeau.ao.quantization.fake_quantize as fake
import flambeau.ao.quantization.observer as obs
from flambeau import nn as layers
from flambeau.nn import Identity

from .fixed_observers import (
    FixedQParamsObserver,
    NoopObserver,
    PlaceholderObserver,
    RecordingObserver,
    ReuseInputObserver,
)
from .histogram import HistogramObserver
from .observer import _With

_QINT8 = {"dtype": flambeau.qint8}
_WEIGHT = {"dtype": flambeau.qint8, "qscheme": flambeau.per_tensor_symmetric}
_CHANNELS = {"dtype": flambeau.qint8, "qscheme": flambeau.per_channel_symmetric}
_BYTE = {"dtype": flambeau.quint8, "quant_min": 0, "quant_max": 255}
_FLOAT_POINTS = {"dtype": flambeau.quint8, "qscheme": flambeau.per_channel_affine_float_qparams,
                 "ch_axis": 0}
_FLOAT_POINTS_4BIT = {**_FLOAT_POINTS, "dtype": flambeau.quint4x2}
_NARROW = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
_SIGNED = {"quant_min": -128, "quant_max": 127}


class QConfig(NamedTuple):
    """Classes of observers, or such with arguments, for the outputs and the weight of a layer.

    Args:
        activation: For outputs.
        weight: For the weight.
    """

    activation: Any
    weight: Any


class QConfigDynamic(NamedTuple):
    """`QConfig` under the name that older programs use."""

    activation: Any = Identity
    weight: Any = Identity


QConfigAny = QConfig | None


def check_fits(qconfig: Any, module: Any) -> None:
    """Refuse a configuration that a layer cannot have.

    Args:
        qconfig: The configuration, or None.
        module: The layer.

    Raises:
        AssertionError: The weight of a transposed convolution would have a scale for each channel.
    """
    transposed = (layers.ConvTranspose1d, layers.ConvTranspose2d, layers.ConvTranspose3d)
    if isinstance(module, transposed) and qconfig is not None and qconfig.weight is not None \
            and isinstance(qconfig.weight(), obs.PerChannelMinMaxObserver):
        raise AssertionError(
            f"{type(module).__name__} takes no configuration with a scale for each channel of the "
            "weight: write layer.qconfig = get_default_qconfig('qnnpack'), or None to leave it "
            "as it is")


# ---- observers -----------------------------------------------------------------------------------
default_observer = obs.MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = obs.MinMaxObserver.with_args(**_WEIGHT)
weight_observer_range_neg_127_to_127 = default_weight_observer.with_args(**_NARROW)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = obs.PerChannelMinMaxObserver.with_args(**_CHANNELS)
per_channel_weight_observer_range_neg_127_to_127 = \
    default_per_channel_weight_observer.with_args(**_NARROW)
default_dynamic_quant_observer = PlaceholderObserver.with_args(**_BYTE, is_dynamic=True)
default_float_qparams_observer = obs.PerChannelMinMaxObserver.with_args(**_FLOAT_POINTS)
default_float_qparams_observer_4bit = obs.PerChannelMinMaxObserver.with_args(**_FLOAT_POINTS_4BIT)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1 / 256, zero_point=0, **_BYTE)
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2 / 256, zero_point=128, **_BYTE)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_reuse_input_observer = ReuseInputObserver

# ---- fake quantization ---------------------------------------------------------------------------
_moving = obs.MovingAverageMinMaxObserver
_moving_channels = obs.MovingAveragePerChannelMinMaxObserver
default_fake_quant = fake.FakeQuantize.with_args(
    observer=_moving, **_BYTE, qscheme=flambeau.per_tensor_affine, reduce_range=True)
default_weight_fake_quant = fake.FakeQuantize.with_args(
    observer=_moving, **_SIGNED, **_WEIGHT, reduce_range=False)
default_per_channel_weight_fake_quant = fake.FakeQuantize.with_args(
    observer=_moving_channels, **_SIGNED, **_CHANNELS, reduce_range=False, ch_axis=0)
default_dynamic_fake_quant = fake.FakeQuantize.with_args(
    observer=_moving, **_BYTE, is_dynamic=True, averaging_constant=1)
default_embedding_fake_quant = fake.FakeQuantize.with_args(
    observer=_moving_channels, quant_min=0, quant_max=255, averaging_constant=1, **_FLOAT_POINTS)
default_embedding_fake_quant_4bit = fake.FakeQuantize.with_args(
    observer=_moving_channels, averaging_constant=1, **_FLOAT_POINTS_4BIT)
default_histogram_fake_quant = fake.FakeQuantize.with_args(
    observer=HistogramObserver, **_BYTE, qscheme=flambeau.per_tensor_affine, reduce_range=True)
default_fused_act_fake_quant = fake.FusedMovingAvgObsFakeQuantize.with_args(
    observer=_moving, **_BYTE)
default_fused_wt_fake_quant = fake.FusedMovingAvgObsFakeQuantize.with_args(
    observer=_moving, **_SIGNED, **_WEIGHT)
default_fused_per_channel_wt_fake_quant = fake.FusedMovingAvgObsFakeQuantize.with_args(
    observer=_moving_channels, **_SIGNED, **_CHANNELS)
fused_wt_fake_quant_range_neg_127_to_127 = fake.FusedMovingAvgObsFakeQuantize.with_args(
    observer=_moving, **_NARROW, **_WEIGHT)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = \
    fake.FusedMovingAvgObsFakeQuantize.with_args(observer=_moving_channels, **_NARROW, **_CHANNELS)
default_fixed_qparams_range_0to1_fake_quant = fake.FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer)
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_fixed_qparams_range_neg1to1_fake_quant = fake.FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant

# ---- configurations ------------------------------------------------------------------------------
default_qconfig = QConfig(default_observer, default_weight_observer)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer,
                                      default_per_channel_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=flambeau.float16, is_dynamic=True),
    PlaceholderObserver.with_args(dtype=flambeau.float16))
float16_static_qconfig = QConfig(*2 * [PlaceholderObserver.with_args(dtype=flambeau.float16)])
float_qparams_weight_only_qconfig = QConfig(default_placeholder_observer,
                                            default_float_qparams_observer)
float_qparams_weight_only_qconfig_4bit = QConfig(default_placeholder_observer,
                                                 default_float_qparams_observer_4bit)
default_quint8_weight_qconfig = QConfig(default_observer, obs.MinMaxObserver)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
default_embedding_qat_qconfig = QConfig(
    NoopObserver.with_args(dtype=flambeau.float32), default_embedding_fake_quant)
default_embedding_qat_qconfig_4bit = QConfig(
    NoopObserver.with_args(dtype=flambeau.float32), default_embedding_fake_quant_4bit)
default_weight_only_qconfig = QConfig(Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, Identity)
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, NoopObserver)
default_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(**_QINT8, reduce_range=False, eps=2**-12),
    weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(**_QINT8, reduce_range=False, eps=2**-12),
    per_channel_weight_observer_range_neg_127_to_127)

_SYMMETRIC_ACTIVATION = fake.FusedMovingAvgObsFakeQuantize.with_args(
    observer=_moving, **_SIGNED, **_QINT8, reduce_range=False, eps=2**-12)
default_symmetric_qnnpack_qat_qconfig = QConfig(_SYMMETRIC_ACTIVATION,
                                                fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _SYMMETRIC_ACTIVATION, fused_per_channel_wt_fake_quant_range_neg_127_to_127)

#: Engine -> whether one bit of outputs is left unused, and whether weights have scales by channel.
_ENGINES = {"x86": (True, True), "fbgemm": (True, True), "qnnpack": (False, False),
            "onednn": (False, True)}


def _engine(what: str, backend: str) -> tuple[bool, bool]:
    if backend not in _ENGINES:
        raise AssertionError(f"{what}(): backend must be one of {', '.join(_ENGINES)}, "
                             f"not {backend!r}")
    return _ENGINES[backend]


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The configuration that PyTorch has for an engine; here all engines compute alike.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"onednn"`` or ``"qnnpack"``.
        version: 0.

    Raises:
        AssertionError: There is no such engine.

    Example:
        >>> from flambeau.ao.quantization import get_default_qconfig
        >>> get_default_qconfig("x86").weight().qscheme
        flambeau.per_channel_symmetric
    """
    reduced, by_channel = _engine("get_default_qconfig", backend)
    weight = default_per_channel_weight_observer if by_channel else default_weight_observer
    return QConfig(HistogramObserver.with_args(reduce_range=reduced), weight)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The configuration for training with rounding that PyTorch has for an engine.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"onednn"`` or ``"qnnpack"``.
        version: 0 or 1.

    Raises:
        AssertionError: There is no such engine.
    """
    reduced, by_channel = _engine("get_default_qat_qconfig", backend)
    kind = fake.FakeQuantize if version == 0 else fake.FusedMovingAvgObsFakeQuantize
    activation = kind.with_args(observer=_moving, quant_min=0, quant_max=255,
                                reduce_range=reduced)
    if version == 0:
        weight = default_per_channel_weight_fake_quant if by_channel else default_weight_fake_quant
    else:
        weight = default_fused_per_channel_wt_fake_quant if by_channel \
            else default_fused_wt_fake_quant
    return QConfig(activation, weight)


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two configurations make the same observers.

    Args:
        q1: A configuration, or None.
        q2: Another.
    """
    if q1 is None or q2 is None:
        return q1 is q2
    return all(_same(a, b) for a, b in zip(q1, q2, strict=True))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, _With) and isinstance(b, _With):
        return a.func is b.func and a.keywords == b.keywords
    return a is b or a == b
