"""Private parts of the profiler and of mixed precision that trainers use."""
from __future__ import annotations

from typing import Any

from flambeau import rooms

_profiler: Any = rooms.import_module(f"{rooms.PREFIX}autograd.profiler")
_autocast: Any = rooms.import_module(f"{rooms.PREFIX}autograd._autocast")
_cast = _autocast._cast


def _profiler_enabled() -> bool:
    """Whether a profile is recorded."""
    return bool(_profiler._recording)


def _disable_profiler() -> None:
    """End all profiles that are recorded; leaving their blocks later does nothing more."""
    for profiles in list(_profiler._recording.values()):
        for profile in list(profiles):
            profile._end()


def _default_schedule_fn(_: int) -> Any:
    """Record every step."""
    return _profiler.ProfilerAction.RECORD
