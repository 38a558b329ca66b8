"""Flambeau: tensors, and rooms for automatic differentiation, networks and compilation.

``import flambeau`` gives tensors and operators; ``flambeau.autograd``, ``flambeau.nn``,
``flambeau.optim``, ``flambeau.jit`` and ``flambeau.cuda`` come from packages of their own and
are imported on first use.
"""
from flambeau import rooms

__path__ = rooms.extend_path(__path__, __name__)  # before other threads look for what is below

from flambeau.core import (
    Generator,
    Size,
    Tensor,
    _core,
    as_tensor,
    can_cast,
    default_generator,
    device,
    dtype,
    finfo,
    from_dlpack,
    from_numpy,
    frombuffer,
    functions,
    get_default_device,
    get_default_dtype,
    get_num_threads,
    get_promotion,
    get_rng_state,
    iinfo,
    initial_seed,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_tensor,
    load,
    load_training_state,
    manual_seed,
    promote_types,
    result_type,
    save,
    save_training_state,
    seed,
    set_default_device,
    set_default_dtype,
    set_num_threads,
    set_printoptions,
    set_promotion,
    set_rng_state,
    tensor,
)
from flambeau.core import dtypes as _dtypes
from flambeau.core.layouts import FORMATS as _FORMATS
from flambeau.core.layouts import strided as strided

globals().update(functions)
globals().update(_dtypes)
_core.cover_functions(globals(), ("as_tensor", "from_numpy", "result_type", "tensor", *functions))
rooms.explain_absent_rooms()
__getattr__ = rooms.lazy_attributes(__name__)

pi = 3.141592653589793
e = 2.718281828459045
inf = 1e400
nan = inf - inf
newaxis = None
contiguous_format = _FORMATS["contiguous_format"]
preserve_format = _FORMATS["preserve_format"]
channels_last = _FORMATS["channels_last"]
channels_last_3d = _FORMATS["channels_last_3d"]

__all__ = [
    "Generator", "Size", "Tensor", "as_tensor", "can_cast", "default_generator", "device", "dtype",
    "e", "finfo", "from_dlpack", "from_numpy", "frombuffer", "get_default_device",
    "get_default_dtype",
    "get_num_threads", "get_promotion", "get_rng_state", "iinfo", "inf", "initial_seed",
    "is_grad_enabled", "is_inference_mode_enabled", "is_tensor", "load",
    "load_training_state", "manual_seed", "nan",
    "newaxis", "pi",
    "promote_types", "result_type", "save", "save_training_state", "seed",
    "set_default_device", "set_default_dtype",
    "set_num_threads",
    "set_printoptions", "set_promotion", "set_rng_state", "tensor",
]
__all__.extend(functions)
__all__.extend(_dtypes)
