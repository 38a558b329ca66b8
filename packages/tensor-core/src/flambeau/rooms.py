"""Which package each part of the `flambeau` namespace comes from.

The core owns the namespace; other packages ship rooms below it. This table is the only place
that knows them by name. A room is imported when it is first asked for, and one that is not
installed answers with the command that installs it, both as `flambeau.nn` and as
`import flambeau.nn`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # these, and importlib below, would cost time at every import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any

PREFIX = "flambeau."

# Modules below `flambeau` that the core ships and imports on first use.
OWN_MODULES = ("_C", "__config__", "accelerator", "amp", "array_api", "backends", "cpu",
               "distributed", "fft", "futures", "hub", "linalg", "library", "masked",
               "multiprocessing", "nested", "ops", "overrides", "quasirandom", "random",
               "return_types", "serialization", "signal", "sparse", "special", "storage",
               "testing", "types", "utils", "version")

# Modules of the core that change what a process does and are therefore imported by name alone.
IMPORTED_BY_NAME = ("as_torch",)

# Module below `flambeau` -> distribution that ships it.
ROOMS = {
    "autograd": "flambeau-autograd",
    "func": "flambeau-autograd",
    "profiler": "flambeau-autograd",
    "utils.checkpoint": "flambeau-autograd",
    "amp.autocast_mode": "flambeau-autograd",
    "amp.grad_scaler": "flambeau-optim",
    "nn": "flambeau-nn",
    "ao": "flambeau-nn",
    "__future__": "flambeau-nn",
    "utils.data": "flambeau-nn",
    "distributions": "flambeau-nn",
    "distributed.tensor": "flambeau-nn",
    "distributed.fsdp": "flambeau-nn",
    "distributed.checkpoint": "flambeau-nn",
    "utils.hooks": "flambeau-nn",
    "utils.flop_counter": "flambeau-nn",
    "optim": "flambeau-optim",
    "jit": "flambeau-jit",
    "compiler": "flambeau-jit",
    "fx": "flambeau-jit",
    "export": "flambeau-jit",
    "onnx": "flambeau-jit",
    "cuda": "flambeau-cuda-backend",
}

# Module below `flambeau` -> a room of another package that it cannot be imported without.
ALSO_NEEDED = {"fx": "nn", "export": "nn"}

# Public name, or attribute of Tensor, that is filled in from a room -> that room.
NAMES = {
    "no_grad": "autograd",
    "enable_grad": "autograd",
    "inference_mode": "autograd",
    "set_grad_enabled": "autograd",
    "vmap": "func",
    "autocast": "autograd",
    "is_autocast_enabled": "autograd",
    "get_autocast_dtype": "autograd",
    "is_autocast_cache_enabled": "autograd",
    "is_anomaly_enabled": "autograd",
    "is_anomaly_check_nan_enabled": "autograd",
    "is_autocast_cpu_enabled": "autograd",
    "get_autocast_cpu_dtype": "autograd",
    "get_autocast_gpu_dtype": "autograd",
    "clear_autocast_cache": "autograd",
    "GradScaler": "optim",
    "amp.autocast": "autograd",
    "amp.custom_fwd": "autograd",
    "amp.custom_bwd": "autograd",
    "amp.is_autocast_available": "autograd",
    "amp.GradScaler": "optim",
    "Tensor.backward": "autograd",
    "Tensor.register_hook": "autograd",
    "Tensor.retain_grad": "autograd",
    "compile": "jit",
    "cond": "jit",
}


# Public name that is rarely asked for -> module of the core that has it.
OLDER = {
    "__version__": "version",
    **dict.fromkeys(("OutOfMemoryError", "is_storage", "layout", "memory_format",
                     "set_default_tensor_type", "typename", "UntypedStorage", "TypedStorage",
                     "from_file"),
                    "core.compat.older_names"),
    **dict.fromkeys(("nuclear_norm", "pca_lowrank", "svd_lowrank"),
                    "core.composites.linalg.lowrank"),
    **dict.fromkeys(("Event", "Stream"), "core.streams"),
    **dict.fromkeys(("dequantize", "int_repr", "per_channel_affine",
                     "per_channel_affine_float_qparams", "per_channel_symmetric",
                     "per_tensor_affine", "per_tensor_symmetric", "q_per_channel_axis",
                     "q_per_channel_scales", "q_per_channel_zero_points", "q_scale",
                     "q_zero_point", "qint32", "qint8", "qscheme", "quantize_per_channel",
                     "quantize_per_tensor", "quantize_per_tensor_dynamic",
                     "quantized_batch_norm", "quantized_max_pool1d", "quantized_max_pool2d",
                     "quantized_max_pool3d", "quint2x4",
                     "quint4x2", "quint8"),
                    "core.quantized"),
    "_scaled_mm": "core.composites.matmul.scaled",
    "lobpcg": "core.composites.linalg.eigenpairs",
    "utils.swap_tensors": "utils._swapping",
    **dict.fromkeys(("dsmm", "hspmm", "smm", "sparse_bsc_tensor", "sparse_bsr_tensor",
                     "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
                     "sparse_csr_tensor", "sspaddmm"), "sparse"),
    **dict.fromkeys(("jagged", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc",
                     "sparse_csr"),
                    "core.layouts"),
    **dict.fromkeys(("get_float32_matmul_precision", "get_num_interop_threads",
                     "set_float32_matmul_precision", "set_flush_denormal",
                     "set_num_interop_threads"), "core.compat.no_effect"),
}

# Names that PyTorch has and this library does not: what to use instead.
RESERVED = {
    **dict.fromkeys(("xpu", "mtia", "mps"), "there is no backend for such devices"),
    "quantization": "use flambeau.ao.quantization",
    "utils.model_zoo": "use flambeau.hub.load_state_dict_from_url",
    "utils.bottleneck": "use flambeau.profiler.profile",
    "utils.cpp_extension": "use flambeau.core.register_op, or compile against the header in "
                           "flambeau.core.get_include()",
}


def missing(what: str) -> ModuleNotFoundError:
    """Return the error that says which package a room or name is in, and how to install it."""
    room = NAMES.get(what, what)
    distribution = ROOMS[room]
    return ModuleNotFoundError(
        f"flambeau.{what} is in {distribution}: pip install {distribution}",
        name=f"flambeau.{room}",
    )


def import_module(name: str) -> ModuleType:
    """Import a module by name; importing importlib earlier would cost time at every import."""
    import importlib

    return importlib.import_module(name)


def enter(what: str) -> ModuleType:
    """Import the room that `what` names or is filled in from.

    Args:
        what: a key of `ROOMS` or of `NAMES`, such as `"nn"` or `"Tensor.backward"`.

    Returns:
        The room's module.

    Raises:
        ModuleNotFoundError: the room's package is not installed.
        ValueError: there is no such room or name.

    Example:
        >>> from flambeau import rooms
        >>> rooms.enter("nnn")
        Traceback (most recent call last):
        ValueError: enter(): 'nnn' is neither a room nor a name that a room fills in
    """
    room = NAMES.get(what, what)
    if room not in ROOMS:
        raise ValueError(f"enter(): {what!r} is neither a room nor a name that a room fills in")
    try:
        return import_module(f"flambeau.{room}")
    except ModuleNotFoundError as error:
        if error.name != f"flambeau.{room}":
            raise
        raise missing(what) from None


def installed(room: str) -> bool:
    """Say whether a room's package is installed, without importing the room.

    `importlib.util.find_spec` cannot be asked alone: for an absent room it raises the error
    that names the package.
    """
    import importlib.util

    try:
        return importlib.util.find_spec(f"flambeau.{room}") is not None
    except ModuleNotFoundError:
        return False


def gpu() -> ModuleType:
    """The room of GPUs; where it is not installed, what answers questions in its place."""
    if installed("cuda"):
        return enter("cuda")
    stand_in: ModuleType = import_module("flambeau.core.no_cuda").stand_in
    return stand_in


def extend_path(path: list[str], package: str) -> list[str]:
    """Add the folders of this name on `sys.path` to a package's path, as `pkgutil` does.

    Sibling packages installed elsewhere (another site folder, an editable install) lie there.
    """
    inner = package.replace(".", os.sep)
    folders = [os.path.join(entry, inner) for entry in sys.path]
    return path + [f for f in dict.fromkeys(folders) if f not in path and os.path.isdir(f)]


def _half_built(room: str) -> ModuleType | None:
    """The room that one of its own modules asks for while it is being imported.

    Waiting for it could last forever: another thread may import the room, and wait for that
    module.
    """
    caller = sys._getframe(2).f_globals.get("__name__", "")
    return sys.modules.get(room) if caller.startswith(f"{room}.") else None


def lazy_attributes(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package of this namespace that rooms add to."""
    prefix = package.removeprefix("flambeau").removeprefix(".")

    def __getattr__(name: str) -> Any:
        key = f"{prefix}.{name}" if prefix else name
        if key in OWN_MODULES:
            return import_module(f"flambeau.{key}")
        if key == "cuda":
            return gpu()
        if key in ROOMS:
            return _half_built(f"flambeau.{key}") or enter(key)
        if key in OLDER:
            from flambeau.core import _core

            older = getattr(import_module(f"flambeau.{OLDER[key]}"), name)
            shown = _core.shown_function(name, older)
            if shown is not older:      # the same function each time: programs compare them
                setattr(sys.modules[package], name, shown)
            return shown
        if key in NAMES:
            value = getattr(enter(key), name)
            setattr(sys.modules[package], name, value)
            return value
        if not prefix and name.endswith("Tensor"):
            tensor_type = import_module("flambeau.core.compat.tensor_types").named(name)
            if tensor_type is not None:
                return tensor_type
        if not prefix and name.endswith("Storage"):
            storage_type = import_module("flambeau.core.compat.typed_storages").named_class(name)
            if storage_type is not None:
                return storage_type
        hint = f"; {RESERVED[key]}" if key in RESERVED else ""
        if key in IMPORTED_BY_NAME:
            hint = f"; write import flambeau.{key}, before anything imports torch"
        raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}", name=name,
                             obj=sys.modules[package])

    return __getattr__


class _AbsentRooms:
    """The last finder of `sys.meta_path`: it meets only names that nothing else found."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """Raise for a room that is not installed, or not made; leave every other name alone."""
        key = name.removeprefix(PREFIX)
        if not name.startswith(PREFIX):
            return
        if key in ROOMS:
            raise missing(key)
        if key in RESERVED:
            raise ModuleNotFoundError(f"No module named {name!r}; {RESERVED[key]}", name=name)


def explain_absent_rooms() -> None:
    """Make `import flambeau.nn` name the package to install when it is absent."""
    if not any(finder is _AbsentRooms for finder in sys.meta_path):
        sys.meta_path.append(_AbsentRooms)
