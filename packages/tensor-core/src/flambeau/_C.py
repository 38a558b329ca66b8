"""Private names of PyTorch's that classes of tensors written for it import."""
from flambeau.core._core import DisableTorchDispatch as _DisableTorchDispatch
from flambeau.core._core import DisableTorchFunction, DisableTorchFunctionSubclass
from flambeau.core._core import are_classes_shown as _is_torch_function_enabled
from flambeau.core._core import no_dispatch as _disabled_torch_dispatch_impl
from flambeau.core._core import no_override as _disabled_torch_function_impl

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_DisableTorchDispatch",
           "_disabled_torch_dispatch_impl", "_disabled_torch_function_impl",
           "_is_torch_function_enabled"]
