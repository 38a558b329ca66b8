"""Settings of PyTorch's tracer, with its defaults, kept for programs that read them back.

None of them changes anything here, but for what ``suppress_errors`` means to programs that set it:
errors of compiling never reach them.
"""
from __future__ import annotations

from typing import Any

from flambeau.as_torch.stands._dynamo.settings import patcher

accumulated_cache_size_limit = accumulated_recompile_limit = 256
allow_rnn = allow_ignore_mark_dynamic = allow_unspec_int_on_nn_module = False
assume_static_by_default = automatic_dynamic_shapes = True
base_dir = debug_dir_root = ""
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = capture_scalar_outputs = capture_autograd_function = False
compiled_autograd = cprofile = dead_code_elimination = disable = False
do_not_emit_runtime_asserts = error_on_nested_fx_trace = error_on_recompile = False
dynamic_shapes = enforce_cond_guards_match = True
fail_on_recompile_limit_hit = False
force_nn_module_property_static_shapes = force_parameter_static_shapes = True
force_unspec_int_unbacked_size_like_on_torchrec_kjt = False
guard_nn_modules = inline_inbuilt_nn_modules = True
log_file_name: str | None = None
numpy_default_complex, numpy_default_float, numpy_default_int = "complex128", "float64", "int64"
only_allow_pt2_compliant_ops = print_specializations = raise_on_ctx_manager_usage = False
optimize_ddp: Any = True
prefer_deferred_runtime_asserts_over_guards = False
report_guard_failures = skip_nnmodule_hook_guards = trace_numpy = True
specialize_float = specialize_int = suppress_errors = verbose = False
traceable_tensor_subclasses: set[type] = set()

patch = patcher(__name__)
