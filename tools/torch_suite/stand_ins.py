"""Small private helpers of PyTorch that its tests use, in Flambeau's public names."""

from __future__ import annotations

import functools
import importlib
from typing import Any


def no(*args: Any, **kwargs: Any) -> bool:
    """Answer False."""
    return False


def nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""


def same(value: Any) -> Any:
    """Give the argument back."""
    return value


def keep_hooks_of_all_modules(kind: str, hooks: dict[int, Any]) -> None:
    """Forget the hooks of all modules that are of one kind and not in a table."""
    table = importlib.import_module("flambeau.nn.modules.module._everywhere").EVERYWHERE
    for number in [i for i, hook in table.items() if hook.kind == kind and i not in hooks]:
        del table[number]


def validate_compressed(*args: Any) -> None:
    """`torch._validate_sparse_compressed_tensor_args`: parts, size and layout."""
    flambeau = importlib.import_module("flambeau")
    *parts, size, layout = args
    flambeau.sparse_compressed_tensor(*parts, size, layout=layout, check_invariants=True)


def validate_layout(layout: str, *args: Any) -> None:
    """`torch._validate_sparse_csr_tensor_args` and its like."""
    validate_compressed(*args, getattr(importlib.import_module("flambeau"), layout))


def validate_coordinates(indices: Any, values: Any, size: Any, is_coalesced: Any = None) -> None:
    """`torch._validate_sparse_coo_tensor_args`."""
    flambeau = importlib.import_module("flambeau")
    flambeau.sparse_coo_tensor(indices, values, size, is_coalesced=is_coalesced)


class ScriptState:
    """What the set-up of tests that may use TorchScript puts back: there is nothing."""

    ignore_lib_warnings = _clear_class_state = ConcreteTypeStore = staticmethod(nothing)


def nested_map(condition: Any, function: Any, condition_msg: Any = None) -> Any:
    """`torch.autograd.function._nested_map`: a function over what containers hold."""
    def mapped(value: Any) -> Any:
        if condition(value):
            return function(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(mapped, value))
        if isinstance(value, list | tuple):
            return type(value)(map(mapped, value))
        if isinstance(value, dict):
            return {key: mapped(each) for key, each in value.items()}
        return value

    return mapped


ORD_FIRST = ("norm",)
SAME_SHAPE = ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod")


def input_mask(input: Any, *args: Any, mask: Any = None, **kwargs: Any) -> Any:
    """`torch.masked._input_mask`: which elements take part, of the input's shape."""
    sparse = importlib.import_module("flambeau.masked._sparse")
    if mask is not None:
        return sparse.dense(mask).expand(input.shape)
    if str(input.layout) != "torch.strided":
        return sparse.stored(input)
    return importlib.import_module("flambeau").ones_like(input) == 1


def canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """`torch.masked._canonical_dim`: dimensions, none negative, in order."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    return tuple(sorted(d % ndim if ndim else 0 for d in (dim if isinstance(dim, list | tuple)
                                                          else (dim,))))


def output_mask(op: Any, input: Any, *args: Any, dim: Any = None, keepdim: bool = False,
                mask: Any = None, **kwargs: Any) -> Any:
    """`torch.masked._output_mask`: which elements of a result some element took part in."""
    both = input_mask(input, mask=mask)
    if op.__name__ in SAME_SHAPE:
        return both
    place = 1 if op.__name__ in ORD_FIRST else 0
    dim = args[place] if len(args) > place else dim
    if dim is None:
        dim = tuple(range(input.ndim))
    return both if dim == () else both.any(dim, keepdim=keepdim)


def tensors_match(one: Any, other: Any, exact: bool = True, rtol: float = 1e-05,
                  atol: float = 1e-08) -> bool:
    """`torch.masked.maskedtensor.core._tensors_match`."""
    dense = importlib.import_module("flambeau.masked._sparse").dense
    one, other = dense(one), dense(other)
    if one.dtype is not other.dtype or one.shape != other.shape:
        return False
    return bool((one == other).all()) if exact else one.allclose(
        other, rtol=rtol, atol=atol, equal_nan=True)


def masks_match(one: Any, other: Any) -> bool:
    """`torch.masked.maskedtensor.core._masks_match`."""
    masked = importlib.import_module("flambeau.masked").MaskedTensor
    if isinstance(one, masked) and isinstance(other, masked):
        return tensors_match(one.get_mask(), other.get_mask())
    return True


class InferredType:
    """`torch._C._jit_try_infer_type`: the type of a value, which is Python's here."""

    def __init__(self, value: Any) -> None:
        self.type = lambda: type(value)

    def success(self) -> bool:
        return True


class UndefinedGrad:
    """Passes tensors on and gives no gradient."""

    def __call__(self, *tensors: Any) -> Any:
        return _identity(nothing).apply(*tensors)


def _identity(in_backward: Any) -> Any:
    function = importlib.import_module("flambeau.autograd").Function

    def forward(ctx: Any, *tensors: Any) -> Any:
        outputs = tuple(tensor.view_as(tensor) for tensor in tensors)
        return outputs if len(outputs) > 1 else outputs[0]

    def backward(ctx: Any, *grads: Any) -> Any:
        in_backward()
        return (None,) * len(grads)

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Identity", (function,), methods)


def dirichlet_backward(sample: Any, concentration: Any, grad: Any) -> Any:
    """`torch.distributions.dirichlet._Dirichlet_backward`."""
    ops = importlib.import_module("flambeau").core.ops
    total = concentration.sum(-1, True).expand_as(concentration)
    slope = ops.dirichlet_grad(sample, concentration, total)
    return slope * (grad - (sample * grad).sum(-1, True))


def forward_level() -> int:
    """`forward_ad._current_level`: there is one level, 0, or none, -1."""
    module = importlib.import_module("flambeau.autograd.forward_ad")
    return -1 if module._open_level() is None else 0


@functools.cache
def storage_types() -> dict[Any, str]:
    """`torch.storage._dtype_to_storage_type_map()`."""
    flambeau = importlib.import_module("flambeau")
    names = {"double": "Double", "float": "Float", "half": "Half", "long": "Long", "int": "Int",
             "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
             "bfloat16": "BFloat16", "cdouble": "ComplexDouble", "cfloat": "ComplexFloat"}
    return {getattr(flambeau, dtype): f"{name}Storage" for dtype, name in names.items()}
