"""Marks and questions that do nothing here."""
from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any

from flambeau import rooms
from flambeau.core import _core
from flambeau.core.vision import enlarged


def _overload(function: Any) -> Any:
    """A signature that only PyTorch's compiler reads."""
    return function


_overload_method = _overload


def _disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """The function as it is, or a decorator: compiled functions call it as any other."""
    return _overload if fn is None else fn


def disable_cache_limit() -> contextlib.AbstractContextManager[None]:
    """Nothing: shapes that are compiled are not counted here."""
    return contextlib.nullcontext()


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[bool, str]:
    """Do nothing: `einsum` chooses the order of products by itself."""
    return True, "auto"


def _record_memory_history(*args: Any, **kwargs: Any) -> None:
    """Do nothing: allocations are not recorded."""


def functionalize(func: Any, *, remove: str = "mutations") -> Any:
    """The function as it is: programs here write to memory where it says so."""
    return func


#: Functions that loop over what values choose, with the functions of Flambeau's that do without.
LOOPS = {"_onnx_paste_masks_in_image_loop": "paste_masks",
         "_onnx_heatmaps_to_keypoints_loop": "find_keypoints"}


def _script_if_tracing(function: Any) -> Any:
    """The function as it is; where sizes are recorded, one of Flambeau's if it loops over them."""
    if not function.__module__.startswith("torchvision.") or function.__name__ not in LOOPS:
        return function

    @functools.wraps(function)
    def called(*args: Any) -> Any:
        if not _get_tracing_state():
            return function(*args)
        return getattr(enlarged, LOOPS[function.__name__])(*args)

    return called


def _log_api_usage_once(event: str) -> None:
    """Do nothing: nobody counts calls."""


def set_logs(**levels: Any) -> None:
    """Do nothing: the compilers whose messages are asked for are PyTorch's."""


def _is_torch_function_mode_enabled() -> bool:
    """Whether calls are shown to a mode."""
    return bool(_core.override_modes())


def reset() -> None:
    """Forget compiled functions, as ``torch.compiler.reset``."""
    rooms.import_module(f"{rooms.PREFIX}compiler").reset()


def parse_args(*kinds: str) -> Any:
    """Mark how PyTorch's exporter reads the arguments of a function: it stays what it is."""
    return _overload


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Do nothing: graphs are not exported by PyTorch's exporter here."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Do nothing: none was registered."""


def _get_tracing_state() -> bool | None:
    """Whether sizes are being recorded that values decide, for which programs have other ways."""
    active = sys.modules.get(f"{rooms.PREFIX}jit.recording.active")
    recorder = active.current() if active else None
    if recorder is None or recorder.value_sizes is None:
        return None
    recorder.value_sizes.is_told = True
    return True


class TransformGetItemToIndex(contextlib.nullcontext[None]):
    """Nothing: inside `vmap` a number that is a tensor is an index without it."""
