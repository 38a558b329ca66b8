"""The tensor core: tensors, the operator table, dispatch, the CPU backend."""
from __future__ import annotations

from flambeau.core import _core
from flambeau.core._core import (
    Generator,
    Operator,
    Tensor,
    as_tensor,
    call,
    can_cast,
    default_generator,
    device,
    draws_like_pytorch,
    dtype,
    empty_cache,
    exchange_own_generator,
    find_op,
    from_dlpack,
    from_numpy,
    frombuffer,
    get_algorithm,
    get_default_device,
    get_default_dtype,
    get_num_threads,
    get_promotion,
    get_rng_state,
    infer,
    initial_seed,
    install_tensor_methods,
    interpose,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_tensor,
    isa_level,
    manual_seed,
    memory_stats,
    op_keys,
    over_buffer,
    parallel_for_address,
    promote_types,
    reset_peak_memory_stats,
    result_type,
    scope,
    scope_path,
    scopes_wanted,
    seed,
    set_algorithm,
    set_default_device,
    set_default_dtype,
    set_num_threads,
    set_promotion,
    set_rng_state,
    storage_id,
    tensor,
    update,
    want_scopes,
)
from flambeau.core.dtypes import dtypes, finfo, iinfo
from flambeau.core.size import Size

TYPE_CHECKING = False  # typing would cost time at every import
if TYPE_CHECKING:
    from typing import Any

_core._set_size_type(Size)

from flambeau.core import blas, environment, lazy, ops  # noqa: E402
from flambeau.core.composites import functions as composed  # noqa: E402
from flambeau.core.composites import methods  # noqa: E402

environment.check(isa_level)
blas.find()
ops.name_outputs()
install_tensor_methods(methods.ATTRIBUTES)
install_tensor_methods(lazy.ATTRIBUTES)
functions: dict[str, Any] = {**_core.functions, **composed.FUNCTIONS}
namespaces = _core.namespaces
for _name, _function in composed.NAMESPACE_FUNCTIONS.items():
    _space, _, _short = _name.rpartition(".")
    namespaces.setdefault(_space, {})[_short] = _function


def get_include() -> str:
    """Folder of ``flambeau/abi.h``, for packages that compile against the interface."""
    from pathlib import Path

    return str(Path(__file__).parent / "include")


#: The format of files that ``save`` is given none for.
default_save_format = {"name": "flambeau"}


def save(obj: Any, f: Any, *args: Any, **options: Any) -> None:
    """Save tensors and the structure that holds them; see ``flambeau.core.io.save``."""
    from flambeau.core import io as tensor_io

    tensor_io.save(obj, f, *args, **options)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *,
         weights_only: bool | None = None, mmap: bool | None = False, **options: Any) -> Any:
    """Load what ``save`` wrote, or any safetensors file; see ``flambeau.core.io.load``."""
    from flambeau.core import io as tensor_io

    return tensor_io.load(f, map_location, pickle_module, weights_only=weights_only, mmap=mmap,
                          **options)


def save_training_state(path: Any, model: Any = None, optimizer: Any = None,
                        scheduler: Any = None, scaler: Any = None, loader: Any = None,
                        step: int | None = None, **options: Any) -> None:
    """Save what training needs to go on; see ``flambeau.core.training_state``."""
    from flambeau.core import training_state

    training_state.save_training_state(path, model, optimizer, scheduler, scaler, loader, step,
                                       **options)


def load_training_state(path: Any, model: Any = None, optimizer: Any = None,
                        scheduler: Any = None, scaler: Any = None, loader: Any = None,
                        **options: Any) -> Any:
    """Put back what ``save_training_state`` saved; see ``flambeau.core.training_state``."""
    from flambeau.core import training_state

    return training_state.load_training_state(path, model, optimizer, scheduler, scaler, loader,
                                              **options)


def set_printoptions(**options: Any) -> None:
    """Choose how tensors are printed; see ``flambeau.core.printing.set_printoptions``."""
    from flambeau.core import printing

    printing.set_printoptions(**options)


def register_op(schema: str, formula: str | None = None, **facts: Any) -> Operator:
    """Add an operator at run time; see ``flambeau.core.register.register_op``."""
    from flambeau.core.register import register_op as add

    return add(schema, formula, **facts)


def row(key: str) -> Any:
    """The operator definition with this key, built in or registered at run time."""
    from flambeau.core.register import row as find

    return find(key)


__all__ = [
    "Generator", "Operator", "Size", "Tensor", "as_tensor", "call", "can_cast",
    "default_generator", "device", "draws_like_pytorch", "dtype", "dtypes", "empty_cache",
    "exchange_own_generator", "find_op", "finfo", "get_algorithm",
    "from_dlpack", "from_numpy", "frombuffer", "functions", "get_default_device",
    "get_default_dtype", "get_include",
    "get_num_threads", "get_promotion", "get_rng_state", "iinfo", "infer", "initial_seed",
    "install_tensor_methods", "interpose", "is_grad_enabled", "is_inference_mode_enabled",
    "is_tensor", "isa_level", "load",
    "load_training_state", "manual_seed", "memory_stats", "namespaces", "op_keys", "ops",
    "over_buffer", "parallel_for_address", "promote_types", "register_op",
    "reset_peak_memory_stats",
    "result_type", "row", "save", "save_training_state",
    "scope", "scope_path", "scopes_wanted", "seed", "set_algorithm",
    "set_default_device", "set_default_dtype", "set_num_threads", "set_printoptions",
    "set_promotion", "set_rng_state", "storage_id", "tensor", "update", "want_scopes",
]
