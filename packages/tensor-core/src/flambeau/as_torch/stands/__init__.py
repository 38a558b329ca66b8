"""Modules and names of PyTorch that exist under the alias alone: libraries take them as given.

A module is found here by its name in PyTorch (`hub.py` is `torch.hub`), and a name of a module that
Flambeau has by the table below.
"""
from __future__ import annotations

import importlib.util

#: Names of modules that Flambeau has, which mean something else to programs of PyTorch's.
OTHERS = {
    **dict.fromkeys(("jit.ScriptFunction", "jit.ScriptModule", "jit.script"), "scripts.objects"),
    "jit.trace": "scripts.tracing",
    **dict.fromkeys(("jit.load", "jit.save"), "scripts.archives"),
    **dict.fromkeys(("jit.freeze", "jit.optimize_for_inference"), "scripts.freezing"),
}

#: Name of PyTorch's, without `torch` -> module of this package that has it under its last word.
HOMES = {
    **dict.fromkeys(("jit.Attribute", "jit.RecursiveScriptModule", "jit.script_method",
                     "jit.set_module", *(f"jit._script.{name}" for name in (
                         "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "script"))),
                    "scripts.objects"),
    **dict.fromkeys(("jit.trace_module", "jit._trace.trace", "jit._trace.trace_module",
                     "jit.TopLevelTracedModule", "jit._trace.TopLevelTracedModule",
                     "jit.TracedModule", "jit._trace.TracedModule"), "scripts.tracing"),
    **dict.fromkeys(("jit._serialization.load", "jit._serialization.save"), "scripts.archives"),
    **dict.fromkeys(("jit._freeze.freeze", "jit._freeze.optimize_for_inference",
                     "jit.run_frozen_optimizations"), "scripts.freezing"),
    "jit.CompilationUnit": "scripts.sources",
    **dict.fromkeys(("jit.TracerWarning", "jit._trace.TracerWarning", "jit.TracingCheckError",
                     "jit._trace.TracingCheckError", "jit.enable_onednn_fusion", "jit.fuser",
                     "jit.onednn_fusion_enabled", "jit.optimized_execution",
                     "jit.set_fusion_strategy", "jit.strict_fusion"), "scripts.settings"),
    "jit.isinstance": "instances", "jit.fork": "forks", "jit.wait": "forks",
    "jit._fork": "forks", "jit._wait": "forks",
    "_inductor.decomposition.register_decomposition": "_decomp",
    "jit._flatten": "trees", "jit._unflatten": "trees",
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
    **dict.fromkeys(("_assert_async", "_conj", "_dim_arange", "_euclidean_dist",
                     "_has_compatible_shallow_copy_type", "_int_mm",
                     "_is_all_true", "_is_any_true", "_log_softmax", "_log_softmax_backward_data",
                     "_nnpack_available", "_pin_memory", "_safe_softmax", "_segment_reduce",
                     "_shape_as_tensor", "_softmax", "_softmax_backward_data", "_stack",
                     "_unique2", "_weight_norm", "native_norm"), "private"),
    "onnx.operators.shape_as_tensor": "private",
    "spmm": "sparse_types",
    **{f"sparse.{kind}Tensor": "sparse_types" for kind in (
        "BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")},
    **dict.fromkeys(("legacy_contiguous_format", "utils.data.dataloader._collate_fn_t",
                     "utils.data.dataloader._worker_init_fn_t", "serialization.DEFAULT_PROTOCOL"),
                    "types"),
    "_dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex": "marks",
    "_C._is_torch_function_mode_enabled": "marks",
    "_C._nn._parse_to": "types", "_standard_gamma": "draws", "_sample_dirichlet": "draws",
    **dict.fromkeys(("_compile._disable_dynamo", "_disable_dynamo",
                     "_dynamo.utils.disable_cache_limit"), "marks"),
    "_C._log_api_usage_once": "marks", "_C._get_tracing_state": "marks",
    "_logging.set_logs": "marks",
    **dict.fromkeys((
        "_C.PyTorchFileReader", "_C.PyTorchFileWriter", "PyTorchFileReader", "PyTorchFileWriter",
        "serialization._is_torchscript_zip", "serialization._is_zipfile",
        "serialization._open_zipfile_reader", "serialization._open_zipfile_writer"),
        "compiled.zip_records"),
    "serialization.MAP_LOCATION": "types", "serialization.FILE_LIKE": "types",
    **dict.fromkeys(("_dynamo.eval_frame.OptimizedModule",
                     "_dynamo.eval_frame.is_dynamo_supported", "_dynamo.utils.counters"),
                    "_dynamo"),
    "func.rearrange": "rearranging", "functorch.einops.rearrange": "rearranging",
    "func.functionalize": "marks",
    "_C._functions.AccumulateGrad": "training.graph_nodes",
    "_C._VariableFunctions": "private", "while_loop": "higher",
    **{f"{space}{name}": "higher" for name in ("cond", "while_loop")
       for space in ("_higher_order_ops.", f"_higher_order_ops.{name}.")},
    "functorch.experimental.control_flow.cond": "higher",
    **dict.fromkeys(("functorch.experimental.control_flow.map", "_higher_order_ops.map",
                     "_higher_order_ops.map.map"), "higher"),
    **{f"fx.experimental.symbolic_shapes.{name}": "symbolic" for name in (
        "ConstraintViolationError", "GuardOnDataDependentSymNode", "constrain_range",
        "definitely_false", "definitely_true", "expect_true", "free_symbols",
        "free_unbacked_symbols", "guard_bool", "guard_float", "guard_int", "guard_or_false",
        "guard_or_true", "guard_scalar", "guard_size_oblivious", "has_free_symbols",
        "has_free_unbacked_symbols", "has_hint", "has_static_value", "hint_int",
        "is_concrete_bool", "is_concrete_float", "is_concrete_int", "is_symbolic",
        "statically_known_true", "sym_and", "sym_eq", "sym_or")},
    **{f"_functorch.{module}.{name}": "transforms" for module in ("apis", "eager_transforms")
       for name in ("chunk_vmap", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
                    "linearize", "vjp", "vmap")},
    **{f"functorch.experimental.{name}": "transforms" for name in (
        "chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp",
        "replace_all_batch_norm_modules_")},
    **{f"_functorch.make_functional.{name}": "functional_modules" for name in (
        "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble",
        "make_functional", "make_functional_with_buffers")},
    **{f"utils._pytree.{name}": "trees" for name in (
        "_dict_flatten", "_dict_flatten_with_keys", "_dict_unflatten", "_list_flatten",
        "_list_flatten_with_keys", "_list_unflatten", "_tuple_flatten",
        "_tuple_flatten_with_keys", "_tuple_unflatten", "is_structseq_instance",
        "treespec_dumps", "treespec_loads")},
    **{f"utils._cxx_pytree.{name}": "trees" for name in ("treespec_dumps", "treespec_loads")},
    **{f"optim.optimizer.{name}": "training.optimizers" for name in (
        "_default_to_fused_or_foreach", "_disable_dynamo_if_unsupported", "_dispatch_sqrt",
        "_get_capturable_supported_devices", "_get_value", "_stack_if_compiling",
        "_use_grad_for_differentiable", "_view_as_real")},
    **{f"_utils.{name}": "gathered" for name in (
        "_element_size", "_flatten_dense_tensors", "_take_tensors", "_unflatten_dense_tensors")},
    **{f"autograd.functional.{name}": "functionals" for name in (
        "_as_tuple", "_construct_standard_basis_for", "_grad_postprocess", "_tuple_postprocess")},
    "_vmap_internals._vmap": "functionals", "_functorch.eager_transforms._as_tuple": "transforms",
    "distributions.multivariate_normal._precision_to_scale_tril": "functionals",
    "distributions.transforms._clipped_sigmoid": "functionals",
    "_higher_order_ops.associative_scan": "functionals",
    "_higher_order_ops.associative_scan.associative_scan": "functionals",
    **{f"_utils.{name}": "rebuilding" for name in (
        "ExceptionWrapper", "_rebuild_parameter", "_rebuild_tensor", "_rebuild_tensor_v2")},
    **{f"nn.functional.{name}": "projections" for name in (
        "_canonical_mask", "_get_softmax_dim", "_in_projection", "_in_projection_packed",
        "_none_or_dtype", "_verify_batch_size")},
    **{f"utils.data.dataloader.{name}": "training.loaders" for name in (
        "_BaseDataLoaderIter", "_DatasetKind", "_MultiProcessingDataLoaderIter",
        "_SingleProcessDataLoaderIter")},
    **dict.fromkeys(("_choose_qparams_per_tensor", "_empty_affine_quantized",
                     "_empty_per_channel_affine_quantized", "_make_per_channel_quantized_tensor",
                     "_make_per_tensor_quantized_tensor", "_saturate_weight_to_fp16",
                     "empty_quantized", "fused_moving_avg_obs_fake_quant"),
                    "compiled.quantized_making"),
    "testing.assert_allclose": "checks", "Future": "types",
    **{f"optim.{module}.{name}": "training.stepping" for name in (
        "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop",
        "rprop", "sgd") for module in (name, "_functional")},
    **dict.fromkeys(("autocast_decrement_nesting", "autocast_increment_nesting",
                     "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
                     "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
                     "set_autocast_gpu_dtype"), "training.autocasting"),
    **dict.fromkeys(("optim.lbfgs._strong_wolfe", "optim.lbfgs._cubic_interpolate"),
                    "training.optimizers"),
    **{f"utils._contextlib.{name}": "contexts" for name in (
        "_DecoratorContextManager", "_NoParamDecoratorContextManager")},
    **{f"nn.init._no_grad_{name}_": "contexts" for name in ("fill", "normal", "uniform", "zero")},
    **dict.fromkeys((
        "_guards.active_fake_mode", "_guards.detect_fake_mode", "backends.flags_frozen",
        "get_device_module",
        "fx.experimental.proxy_tensor.get_innermost_proxy_mode",
        "fx.experimental.proxy_tensor.get_proxy_mode",
        "nn.attention.flex_attention._DEFAULT_SPARSE_BLOCK_SIZE",
        "nn.modules.module._IncompatibleKeys", "nn.modules.transformer._get_activation_fn",
        "utils.checkpoint.check_backward_validity", "utils.checkpoint.detach_variable",
        "utils.checkpoint.get_device_states",
        "utils.checkpoint.set_device_states"), "contexts"),
    "nn.modules.module._EXTRA_STATE_KEY_SUFFIX": "types",
    **{f"nn.modules.module._global_{kind}_hooks": "training.hooks" for kind in (
        "backward", "backward_pre", "buffer_registration", "forward", "forward_pre",
        "module_registration", "parameter_registration")},
    "_C._functorch.get_unwrapped": "transforms", "_C._functorch.is_batchedtensor": "transforms",
    **dict.fromkeys(("_C._get_accelerator", "_utils._get_available_device_type",
                     "_utils._get_device_index", "cuda._utils._get_device_index"), "devices"),
    **{f"utils.weak.{name}": "weak_references" for name in (
        "TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary")},
    **{f"_tensor_str.{name}": "printing" for name in (
        "PRINT_OPTS", "_add_suffixes", "_str", "_str_intern", "_tensor_str", "get_printoptions",
        "printoptions", "set_printoptions")},
    "nn.functional._Reduction": "nn", "nn.modules.module._addindent": "nn",
    "nn.modules.transformer._get_clones": "nn", "nn.modules.rnn.apply_permutation": "nn",
    "utils.hooks.warn_if_has_hooks": "nn",
    "nn.utils.parametrize._cache_enabled": "types", "backends.cudnn.fp32_precision": "types",
    "utils.data._utils.MP_STATUS_CHECK_INTERVAL": "types",
    "utils._foreach_utils._foreach_supported_types": "types",
    **{f"utils.data._utils.collate.{name}": "types" for name in (
        "default_collate_err_msg_format", "np_str_obj_array_pattern")},
    **dict.fromkeys(("backends.opt_einsum.set_flags", "cuda.memory._record_memory_history"),
                    "marks"),
    **{f"distributions.multivariate_normal.{name}": "functionals" for name in (
        "_batch_mahalanobis", "_batch_mv")},
    **{f"{home}.{name}": "compiled.attention" for home in ("backends.cuda", "nn.attention")
       for name in ("SDPAParams", "can_use_cudnn_attention", "can_use_efficient_attention",
                    "can_use_flash_attention", "is_flash_attention_available")},
    "_utils_internal.get_file_path_2": "testing.files",
    "testing._internal.optests.opcheck": "testing.operators",
    "distributed.distributed_c10d._rank_not_in_group": "compiled.collectives",
    **dict.fromkeys(("distributed.distributed_c10d._get_default_group",
                     "distributed.distributed_c10d._pg_map",
                     "distributed.tensor._utils.compute_local_shape_and_global_offset",
                     "distributed.utils._sync_module_states"), "training.processes"),
    **dict.fromkeys(("amp.autocast_mode._cast", "autograd._disable_profiler",
                     "autograd._profiler_enabled", "profiler.profiler._default_schedule_fn"),
                    "training.recording"),
    **{f"testing._internal.common_utils.{name}": "utils._test_cases" for name in (
        "TestCase", "run_tests")},
    **{f"utils.collect_env.{name}": "utils._environment" for name in (
        "get_cpu_info", "get_gcc_version", "get_gpu_info", "get_nvidia_driver_version", "run")},
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
