"""Tuning of products, which is left to cuBLAS: settings are kept, and nothing is measured."""
from __future__ import annotations

from typing import Any

__all__ = ["enable", "get_filename", "get_max_tuning_duration", "get_max_tuning_iterations",
           "get_results", "get_rotating_buffer_size", "get_validators", "is_enabled",
           "mgpu_tune_gemm_in_file", "read_file", "record_untuned_enable",
           "record_untuned_is_enabled", "set_filename", "set_max_tuning_duration",
           "set_max_tuning_iterations", "set_numerical_check_tolerances",
           "set_rotating_buffer_size", "tune_gemm_in_file", "tuning_enable",
           "tuning_is_enabled"]

_settings: dict[str, Any] = {"enabled": False, "tuning": True, "untuned": False, "duration": 30,
                             "iterations": 100, "file": "tunableop_results.csv", "buffer": -1}


def enable(val: bool = True) -> None:
    """Accepted for compatibility: cuBLAS chooses its kernels by itself.

    Example:
        >>> from flambeau.cuda import tunable
        >>> tunable.enable(False)
        >>> tunable.is_enabled()
        False
    """
    _settings["enabled"] = bool(val)


def is_enabled() -> bool:
    """What ``enable`` was told."""
    return bool(_settings["enabled"])


def tuning_enable(val: bool = True) -> None:
    """Accepted for compatibility."""
    _settings["tuning"] = bool(val)


def tuning_is_enabled() -> bool:
    """What ``tuning_enable`` was told; True at first."""
    return bool(_settings["tuning"])


def record_untuned_enable(val: bool = True) -> None:
    """Accepted for compatibility: nothing is recorded."""
    _settings["untuned"] = bool(val)


def record_untuned_is_enabled() -> bool:
    """What ``record_untuned_enable`` was told."""
    return bool(_settings["untuned"])


def set_max_tuning_duration(duration: int) -> None:
    """Accepted for compatibility."""
    _settings["duration"] = int(duration)


def get_max_tuning_duration() -> int:
    """What ``set_max_tuning_duration`` was told."""
    return int(_settings["duration"])


def set_max_tuning_iterations(iterations: int) -> None:
    """Accepted for compatibility."""
    _settings["iterations"] = int(iterations)


def get_max_tuning_iterations() -> int:
    """What ``set_max_tuning_iterations`` was told."""
    return int(_settings["iterations"])


def set_filename(filename: str, insert_device_ordinal: bool = False) -> None:
    """Accepted for compatibility: no file is written."""
    _settings["file"] = str(filename)


def get_filename() -> str:
    """What ``set_filename`` was told."""
    return str(_settings["file"])


def set_rotating_buffer_size(buffer_size: int) -> None:
    """Accepted for compatibility."""
    _settings["buffer"] = int(buffer_size)


def get_rotating_buffer_size() -> int:
    """What ``set_rotating_buffer_size`` was told."""
    return int(_settings["buffer"])


def set_numerical_check_tolerances(enable: bool, atol: float = 1e-5, rtol: float = 1e-5) -> None:
    """Accepted for compatibility: one kernel is used, so that there is nothing to compare."""


def get_results() -> tuple[Any, ...]:
    """Nothing: no kernel was measured."""
    return ()


def get_validators() -> tuple[Any, ...]:
    """Nothing: no results are kept whose validity would depend on versions."""
    return ()


def read_file(filename: str | None = None) -> bool:
    """False: results of another library are not read."""
    return False


def tune_gemm_in_file(filename: str) -> None:
    """Not supported: nothing is measured."""
    raise NotImplementedError("cuda.tunable.tune_gemm_in_file(): cuBLAS chooses its kernels by "
                              "itself; leave tuning out")


def mgpu_tune_gemm_in_file(filename_pattern: str, num_gpus: int) -> None:
    """Not supported: nothing is measured."""
    tune_gemm_in_file(filename_pattern)
