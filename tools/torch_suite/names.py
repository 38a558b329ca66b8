"""The adapter's tables: private or renamed names of PyTorch's, and what stands for them."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

from . import stand_ins
from .stubs import AbsentValue

# Modules executed from PyTorch's own text: the tests' library, and plain Python over public names.
SOURCES = (
    "torch.testing",
    "torch.utils.weak",
    "torchgen.utils",
)

# A table of the arguments of all of PyTorch's functions; without it tests read signatures.
GENERATED = "torch.testing._internal.generated.annotated_fn_args"


class Made:
    """A value of the table that is made when it is asked for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class Path:
    """A value of the table that is a dotted name of Flambeau's."""

    def __init__(self, path: str) -> None:
        self.path = path


class Missing:
    """An entry of the table for a name that PyTorch does not have either."""


# Name of PyTorch -> a value, or a callable without arguments in `Made` that makes it.
NAMES: dict[str, Any] = {
    "torch._C._DisableFuncTorch": contextlib.nullcontext,
    "torch._C._functions.UndefinedGrad": stand_ins.UndefinedGrad,
    "torch._C._debug_only_are_vmap_fallback_warnings_enabled": stand_ins.no,
    "torch._C._debug_only_display_vmap_fallback_warnings": stand_ins.nothing,
    "torch._C._functorch._debug_only_are_vmap_fallback_warnings_enabled": stand_ins.no,
    "torch._C._functorch._debug_only_display_vmap_fallback_warnings": stand_ins.nothing,
    "torch._C._functorch._is_vmap_fallback_enabled": stand_ins.no,
    "torch._C._functorch._set_vmap_fallback_enabled": stand_ins.nothing,
    "torch._C._get_privateuse1_backend_name": lambda: "privateuseone",
    "torch._C._set_grad_enabled": Path("flambeau.set_grad_enabled"),
    "torch._C._jit_clear_class_registry": stand_ins.nothing,
    "torch._C._jit_try_infer_type": stand_ins.InferredType,
    "torch._C.has_lapack": True,
    "torch._C.has_spectral": True,
    "torch._foreach_copy": Missing(),
    "torch._foreach_zero": Missing(),
    "torch.autograd.forward_ad._current_level": Made(stand_ins.forward_level),
    "torch.autograd.function._nested_map": stand_ins.nested_map,
    "torch.distributions.dirichlet._Dirichlet_backward": stand_ins.dirichlet_backward,
    "torch.distributions.kl._kl_expfamily_expfamily":
        Path("flambeau.distributions.kl.multivariate.exponential_family"),
    "torch.jit._recursive": stand_ins.ScriptState,
    "torch.jit._recursive.ConcreteTypeStore": stand_ins.nothing,
    "torch.jit._state._clear_class_state": stand_ins.nothing,
    "torch.jit._state": stand_ins.ScriptState,
    "torch.fx.operator_schemas._torchscript_type_to_python_type": stand_ins.same,
    "torch.masked._canonical_dim": stand_ins.canonical_dim,
    "torch.masked._input_mask": stand_ins.input_mask,
    "torch.masked._output_mask": stand_ins.output_mask,
    "torch.masked.maskedtensor.core._masks_match": stand_ins.masks_match,
    "torch.masked.maskedtensor.core._tensors_match": stand_ins.tensors_match,
    "torch.storage._dtype_to_storage_type_map": stand_ins.storage_types,
    f"{GENERATED}.annotated_args": {},
    "torch.utils._mode_utils.no_dispatch": contextlib.nullcontext,
    "torch._validate_sparse_compressed_tensor_args": stand_ins.validate_compressed,
    "torch._validate_sparse_coo_tensor_args": stand_ins.validate_coordinates,
    **{f"torch._validate_{layout}_tensor_args":
       functools.partial(stand_ins.validate_layout, layout)
       for layout in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")},
}

# Private variable of PyTorch's that tests assign -> what stands for the assignment.
ASSIGNED = {
    f"torch.nn.modules.module._global_{kind}_hooks": functools.partial(
        stand_ins.keep_hooks_of_all_modules, kind)
    for kind in ("backward", "forward", "forward_pre")
}

# Values that tables and comparisons mention and Flambeau does not have, by their type.
ABSENT_VALUES = {
    "dtype": ("quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16"),
    "layout": ("_mkldnn",),
}


def absent_value(kind: str, name: str) -> AbsentValue:
    """Return the stub of a dtype or layout."""
    full = f"torch.{name}"
    of_its_own = type(f"<absent {full}>", (AbsentValue,), {})  # errors name the type
    made: AbsentValue = of_its_own(full, getattr(importlib.import_module("flambeau"), kind))
    return made


for _kind, _names in ABSENT_VALUES.items():
    for _name in _names:
        _make = functools.partial(absent_value, _kind, _name)
        NAMES[f"torch.{_name}"] = Made(functools.cache(_make))


def is_source(name: str) -> bool:
    """Say whether a module is executed from PyTorch's own text."""
    within = any(name == source or name.startswith(source + ".") for source in SOURCES)
    return within and name != GENERATED


def is_missing(full: str) -> bool:
    """Say whether PyTorch of the tests' time had no such name, which a test file relies on."""
    return isinstance(NAMES.get(full), Missing)


def value(full: str) -> Any:
    """Return what the table says about a name."""
    entry = NAMES[full]
    if isinstance(entry, Made):
        return entry.make()
    if isinstance(entry, Path):
        module, _, name = entry.path.rpartition(".")
        return getattr(importlib.import_module(module), name)
    if isinstance(entry, Missing):
        raise AttributeError(full)
    return entry

