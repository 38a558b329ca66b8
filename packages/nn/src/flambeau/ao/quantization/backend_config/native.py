"""What this library computes in integers; PyTorch's engines are other names for it."""
from __future__ import annotations

from typing import Any

import flambeau.ao.quantization.backend_config.configs as configs
import flambeau.ao.quantization.backend_config.kinds as kinds
from flambeau.ao.quantization.fuse_modules import FUSERS

from .configs import BackendConfig, BackendPatternConfig, ObservationType

__all__ = ["get_fbgemm_backend_config", "get_native_backend_config", "get_onednn_backend_config",
           "get_qnnpack_backend_config", "get_x86_backend_config"]

_SHARED = ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT


def _ways(kind: Any) -> list[configs.DTypeConfig]:
    if kind in kinds.TABLES:
        return [configs.BYTES, configs.NIBBLES]
    if kind in kinds.STEPS:
        return [configs.DYNAMIC, configs.HALF]
    weighted = kind in kinds.WEIGHTED or kind in kinds.WEIGHTED_FUNCTIONS
    ways = [configs.STATIC if weighted else configs.PLAIN]
    return ways + [configs.DYNAMIC, configs.HALF] if kind in kinds.LINEAR else ways


def _made(name: str) -> BackendConfig:
    found = BackendConfig(name)
    for kind in (*kinds.OWN, *kinds.FIXED, *kinds.TABLES, *kinds.STEPS, *kinds.SHARED):
        config = BackendPatternConfig(kind).set_dtype_configs(_ways(kind))
        if kind in kinds.SHARED:
            config.set_observation_type(_SHARED)
        found.set_backend_pattern_config(config)
    for row, fuser in FUSERS.items():
        found.set_backend_pattern_config(BackendPatternConfig(row).set_fuser_method(fuser))
    return found


def get_native_backend_config() -> BackendConfig:
    """What this library computes in integers."""
    return _made("native")


def _engine(name: str) -> Any:
    def get() -> BackendConfig:
        return _made(name)

    get.__name__ = get.__qualname__ = f"get_{name}_backend_config"
    get.__doc__ = f"What this library computes in integers, under the name {name!r}."
    return get


get_x86_backend_config, get_fbgemm_backend_config = _engine("x86"), _engine("fbgemm")
get_qnnpack_backend_config, get_onednn_backend_config = _engine("qnnpack"), _engine("onednn")
