"""Types of arguments, for annotations."""
from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import IO, Any, TypeAlias

import flambeau
from flambeau import rooms
from flambeau.futures import Future

FILE_LIKE: TypeAlias = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION: TypeAlias = (Callable[[Any, str], Any] | flambeau.device | str | dict[str, str]
                           | None)

_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]
__all__ = ["Future"]
#: The protocol of pickles in files.
DEFAULT_PROTOCOL = 2
legacy_contiguous_format = flambeau.contiguous_format

#: Settings and constants as they are where nothing was changed.
_cache_enabled = 0
fp32_precision = "none"
MP_STATUS_CHECK_INTERVAL = 5.0
_foreach_supported_types = [flambeau.Tensor]
np_str_obj_array_pattern = re.compile("[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}")
#: The end of the name of a module's extra state among its weights.
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """What `Module.to` is given: device, dtype, non_blocking and memory format."""
    _parse = rooms.enter("nn").modules.module._conversion._parse

    device, dtype = _parse(args, kwargs)
    device = flambeau.device(device) if device is not None else None
    return device, dtype, bool(kwargs.get("non_blocking", False)), kwargs.get("memory_format")
