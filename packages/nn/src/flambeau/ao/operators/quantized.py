"""The table of ``ops.quantized``: each operator and its function."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ao.operators import activations, products, recurrent, sums, tables

__all__ = ["OPERATORS"]

_NO_OPERATORS = ("Convolution", "PackedLinear", "batch_norms", "convolutions")

#: Functions by name, and by name and form.
OPERATORS: dict[str, Callable[..., Any]] = {
    **{name: getattr(module, name) for module in (sums, products, activations)
       for name in module.__all__ if name not in _NO_OPERATORS},
    **products.convolutions(), **activations.batch_norms(), **tables.bags(), **recurrent.cells(),
    "linear_unpack_fp16": products.linear_unpack,
    **{f"{name}.{form}": getattr(sums, name) for form in ("out", "Scalar")
       for name in ("add", "add_relu", "mul", "mul_relu")},
    "cat.out": sums.cat, "cat_relu.out": sums.cat_relu, "add_out": sums.add,
    "add_relu_out": sums.add_relu, "cat_out": sums.cat, "cat_relu_out": sums.cat_relu,
    "mul_out": sums.mul, "mul_relu_out": sums.mul_relu}
