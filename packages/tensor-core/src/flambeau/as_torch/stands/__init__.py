"""Modules and names of PyTorch that exist under the alias alone: libraries take them as given.

A module is found here by its name in PyTorch (`hub.py` is `torch.hub`), and a name of a module that
Flambeau has by the table below.
"""
from __future__ import annotations

import importlib.util

#: Name of PyTorch's, without `torch` -> module of this package that has it under its last word.
HOMES = {
    "jit._overload": "marks", "jit._overload_method": "marks", "jit._script_if_tracing": "marks",
    "_jit_internal._overload": "marks", "_jit_internal._overload_method": "marks",
    **dict.fromkeys(("_C.DispatchKey", "_C.DispatchKeySet", "_C._ExcludeDispatchKeyGuard"), "keys"),
    **dict.fromkeys(("onnx.symbolic_helper.parse_args", "onnx.register_custom_op_symbolic",
                     "onnx.unregister_custom_op_symbolic"), "marks"),
    **dict.fromkeys(("_assert", "_check", "_check_index", "_check_value", "_check_type",
                     "_check_with", "_check_not_implemented", "_check_is_size",
                     "_check_tensor_all",
                     "_check_tensor_all_with"), "checks"),
    **dict.fromkeys(("sym_int", "sym_float", "sym_max", "sym_min", "sym_sqrt", "sym_not",
                     "sym_ite", "sym_sum"), "symbols"),
    **dict.fromkeys(("hub._get_torch_home", "hub.HASH_REGEX", "hub.tqdm", "hub.urlparse",
                     "utils.model_zoo.tqdm"), "hub"),
    **dict.fromkeys(("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"),
                    "indices"),
    **dict.fromkeys(("_assert_async", "_conj", "_dim_arange", "_euclidean_dist", "_int_mm",
                     "_is_all_true", "_is_any_true", "_log_softmax", "_log_softmax_backward_data",
                     "_nnpack_available", "_pin_memory", "_safe_softmax", "_segment_reduce",
                     "_shape_as_tensor", "_softmax", "_softmax_backward_data", "_stack",
                     "_unique2", "_weight_norm"), "private"),
    "spmm": "sparse_types",
    **{f"sparse.{kind}Tensor": "sparse_types" for kind in (
        "BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")},
    **dict.fromkeys(("legacy_contiguous_format", "utils.data.dataloader._collate_fn_t",
                     "utils.data.dataloader._worker_init_fn_t", "serialization.DEFAULT_PROTOCOL"),
                    "types"),
    "_dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex": "marks",
    "_C._nn._parse_to": "types", "_standard_gamma": "draws", "_sample_dirichlet": "draws",
    "_C._log_api_usage_once": "marks", "_C._get_tracing_state": "marks",
    "serialization.MAP_LOCATION": "types", "serialization.FILE_LIKE": "types",
    "_dynamo.reset": "marks",
    "nn.modules.module._EXTRA_STATE_KEY_SUFFIX": "types",
}

#: The beginning of a name of `torch` itself -> module that makes what begins so.
FAMILIES = {"_foreach_": "lists"}


def stand_of(name: str) -> str | None:
    """The module that has ``torch.name`` under its last word; None where there is none."""
    found = HOMES.get(name) or next(
        (home for start, home in FAMILIES.items() if name.startswith(start)), None)
    return found and f"{__name__}.{found}"


def home_of(module: str) -> str | None:
    """The module that stands for ``torch.module``; None where there is none."""
    name = f"{__name__}.{module}"
    try:
        return name if importlib.util.find_spec(name) is not None else None
    except ModuleNotFoundError:
        return None
