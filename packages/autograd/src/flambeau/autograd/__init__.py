"""Automatic differentiation: a tape of what tensors went through, walked backwards.

``y.backward()`` and ``grad(y, x)`` compute gradients; ``rule`` states the derivative of an
operator; ``Function`` is a custom forward with a custom backward.
"""
from __future__ import annotations

from flambeau.autograd._engine import (
    TENSOR_ATTRIBUTES,
    SavedTensor,
    install_tape,
    set_own_folders,
)
from flambeau.autograd._table import no_derivative, rule
from flambeau.autograd.function import Function
from flambeau.autograd.functional import backward, grad
from flambeau.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from flambeau.core import _core, install_tensor_methods


def _source_folders() -> list[str]:
    """Where this library's Python sources are: lines in them are not shown to users."""
    import os

    import flambeau

    return [os.path.join(folder, "") for folder in flambeau.__path__]


set_own_folders(_source_folders())
install_tape()
_core.cover_functions(globals(), ("backward", "grad"))
install_tensor_methods(TENSOR_ATTRIBUTES)  # last: other threads may call these at once

#: What is imported when it is first used -> the module it is in.
_LATER = {
    **dict.fromkeys(("GradcheckError", "gradcheck", "gradgradcheck"), "checks"),
    **dict.fromkeys(("detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
                     "nan_check", "set_detect_anomaly"), "anomaly"),
    **dict.fromkeys(("autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype",
                     "is_autocast_available", "is_autocast_cache_enabled", "is_autocast_enabled",
                     "is_autocast_cpu_enabled", "get_autocast_cpu_dtype",
                     "get_autocast_gpu_dtype", "clear_autocast_cache"),
                    "_autocast"),
    "Variable": "variable",
    "is_multithreading_enabled": "_multithreading",
    "set_multithreading_enabled": "_multithreading",
}
_MODULES = ("anomaly", "checks", "forward_ad", "grad_mode", "graph", "profiler",
            "profiler_util")


TYPE_CHECKING = False  # typing would cost time at every import
if TYPE_CHECKING:
    from typing import Any

    from flambeau.autograd import anomaly as anomaly
    from flambeau.autograd import checks as checks
    from flambeau.autograd import forward_ad as forward_ad
    from flambeau.autograd import grad_mode as grad_mode
    from flambeau.autograd import graph as graph
    from flambeau.autograd import profiler as profiler
    from flambeau.autograd import profiler_util as profiler_util
    from flambeau.autograd._autocast import autocast as autocast
    from flambeau.autograd._autocast import clear_autocast_cache as clear_autocast_cache
    from flambeau.autograd._autocast import custom_bwd as custom_bwd
    from flambeau.autograd._autocast import custom_fwd as custom_fwd
    from flambeau.autograd._autocast import get_autocast_cpu_dtype as get_autocast_cpu_dtype
    from flambeau.autograd._autocast import get_autocast_dtype as get_autocast_dtype
    from flambeau.autograd._autocast import get_autocast_gpu_dtype as get_autocast_gpu_dtype
    from flambeau.autograd._autocast import is_autocast_available as is_autocast_available
    from flambeau.autograd._autocast import is_autocast_cache_enabled as is_autocast_cache_enabled
    from flambeau.autograd._autocast import is_autocast_cpu_enabled as is_autocast_cpu_enabled
    from flambeau.autograd._autocast import is_autocast_enabled as is_autocast_enabled
    from flambeau.autograd._multithreading import (
        is_multithreading_enabled as is_multithreading_enabled,
    )
    from flambeau.autograd._multithreading import (
        set_multithreading_enabled as set_multithreading_enabled,
    )
    from flambeau.autograd.anomaly import detect_anomaly as detect_anomaly
    from flambeau.autograd.anomaly import (
        is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    )
    from flambeau.autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
    from flambeau.autograd.anomaly import nan_check as nan_check
    from flambeau.autograd.anomaly import set_detect_anomaly as set_detect_anomaly
    from flambeau.autograd.checks import GradcheckError as GradcheckError
    from flambeau.autograd.checks import gradcheck as gradcheck
    from flambeau.autograd.checks import gradgradcheck as gradgradcheck
    from flambeau.autograd.variable import Variable as Variable


def __getattr__(name: str) -> Any:
    """What few programs need is imported when it is first used."""
    from importlib import import_module

    if name in _LATER:
        return getattr(import_module(f"flambeau.autograd.{_LATER[name]}"), name)
    if name in _MODULES:
        return import_module(f"flambeau.autograd.{name}")
    raise AttributeError(f"module 'flambeau.autograd' has no attribute {name!r}")


__all__ = ["Function", "GradcheckError", "SavedTensor", "backward", "detect_anomaly",
           "enable_grad", "grad", "gradcheck", "gradgradcheck", "inference_mode", "is_grad_enabled",
           "is_inference_mode_enabled", "nan_check", "no_derivative", "no_grad", "rule",
           "set_detect_anomaly", "set_grad_enabled"]
