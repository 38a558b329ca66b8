"""``torch.sparse.FloatTensor`` and its like, and old names of products of sparse matrices."""
from __future__ import annotations

import warnings
from typing import Any

from flambeau.core import Tensor, _core

#: The class's name -> its dtype.
KINDS = {"BFloat16Tensor": "bfloat16", "ByteTensor": "uint8", "CharTensor": "int8",
         "DoubleTensor": "float64", "FloatTensor": "float32", "HalfTensor": "float16",
         "IntTensor": "int32", "LongTensor": "int64", "ShortTensor": "int16"}


class _SparseType(type):
    """The type of classes that make sparse tensors of one dtype, and are asked about them."""

    _dtype: Any

    def __call__(cls, *arguments: Any, device: Any = None) -> Tensor:
        import flambeau

        warnings.warn(f"torch.sparse.{cls.__name__} is deprecated; write torch.sparse_coo_tensor("
                      "indices, values, shape)", stacklevel=2)
        options: dict[str, Any] = {"dtype": cls._dtype, "device": device}
        if len(arguments) >= 2 and isinstance(arguments[1], Tensor):
            made: Tensor = flambeau.sparse_coo_tensor(*arguments, **options)
            return made
        shape = arguments[0] if arguments and not isinstance(arguments[0], int) else arguments
        empty: Tensor = flambeau.sparse_coo_tensor(tuple(shape) or (0,), **options)
        return empty

    def __instancecheck__(cls, instance: object) -> bool:
        return (isinstance(instance, Tensor) and bool(instance.is_sparse)
                and instance.dtype == cls._dtype)


def __getattr__(name: str) -> Any:
    if name not in KINDS:
        raise AttributeError(f"module 'torch.sparse' has no attribute {name!r}")
    dtype = _core._dtype_named(KINDS[name])
    made = _SparseType(name, (), {"__module__": "torch.sparse", "_dtype": dtype})
    globals()[name] = made
    return made


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, under its old name."""
    product: Tensor = input.mm(mat2)
    return product
