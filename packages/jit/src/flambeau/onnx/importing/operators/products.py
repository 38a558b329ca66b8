"""Matrix products."""

from __future__ import annotations

import functools
from typing import Any

import flambeau as fl
from flambeau.onnx.importing.table import Call, computes


@computes("MatMul")
def matmul(call: Call, a: fl.Tensor, b: fl.Tensor) -> fl.Tensor:
    """A product of matrices, batches of them, or vectors."""
    return fl.matmul(a, b)


@computes("Gemm")
def gemm(call: Call, a: fl.Tensor, b: fl.Tensor, c: fl.Tensor | None = None) -> fl.Tensor:
    """``alpha a' b' + beta c``."""
    alpha, beta = call.get("alpha", 1.0), call.get("beta", 1.0)
    a = a.T if call.get("transA") else a
    if alpha == beta == 1 and c is not None and c.ndim == 1 and call.get("transB") \
            and a.is_floating_point() and c.shape[0] == b.shape[0]:
        return fl.nn.functional.linear(a, b, c)
    product = fl.matmul(a, b.T if call.get("transB") else b)
    product = product if alpha == 1 else (product * alpha).to(a.dtype)
    if c is None:
        return product
    return product + (c if beta == 1 else (c * beta).to(a.dtype))


@computes("Einsum")
def einsum(call: Call, *values: fl.Tensor) -> fl.Tensor:
    """Sums of products by the letters of dimensions."""
    return fl.einsum(call.get("equation").replace(" ", ""), *values)


@computes("Det")
def det(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Determinants."""
    return fl.linalg.det(x)


#: As many products of two bytes have a sum that float32 holds exactly: 2**24 / 255**2, in eights.
_EXACT_TERMS = 256


def _centred(x: fl.Tensor, zero: fl.Tensor | None, rows: bool = False) -> fl.Tensor:
    """Bytes less what stands for 0, as float32."""
    real = x.float()
    if zero is None:
        return real
    zero = zero.float()
    return real - (zero.unsqueeze(-1) if rows and zero.ndim == 1 and zero.numel() > 1 else zero)


def integer_product(a: fl.Tensor, a_zero: fl.Tensor | None, b: fl.Tensor,
                    b_zero: fl.Tensor | None) -> fl.Tensor:
    """A product of bytes in int32, as products of float32 that are short enough to be exact."""
    a, b = _centred(a, a_zero, rows=True), _centred(b, b_zero)
    depth = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if depth <= _EXACT_TERMS:
        return fl.matmul(a, b).to(fl.int32)
    row = -2 if b.ndim > 1 else 0
    parts = [fl.matmul(a.narrow(-1, k, n), b.narrow(row, k, n)).to(fl.int32)
             for k, n in _pieces(depth)]
    return functools.reduce(fl.add, parts)


def _pieces(depth: int) -> list[tuple[int, int]]:
    return [(k, min(_EXACT_TERMS, depth - k)) for k in range(0, depth, _EXACT_TERMS)]


@computes("MatMulInteger")
def matmul_integer(call: Call, a: fl.Tensor, b: fl.Tensor, a_zero: Any = None,
                   b_zero: Any = None) -> fl.Tensor:
    """A product of bytes, in int32."""
    return integer_product(a, a_zero, b, b_zero)


@computes("QLinearMatMul")
def qlinear_matmul(call: Call, a: fl.Tensor, a_scale: fl.Tensor, a_zero: fl.Tensor, b: fl.Tensor,
                   b_scale: fl.Tensor, b_zero: fl.Tensor, y_scale: fl.Tensor,
                   y_zero: fl.Tensor) -> fl.Tensor:
    """A product of bytes, rounded to bytes."""
    whole = integer_product(a, a_zero, b, b_zero)
    if a_scale.ndim == 1 and a_scale.numel() > 1:
        a_scale = a_scale.unsqueeze(-1)
    real = whole.to(fl.float32) * (a_scale.float() * b_scale.float() / y_scale.float())
    return requantized(real, y_zero)


def requantized(real: fl.Tensor, zero: fl.Tensor) -> fl.Tensor:
    """Numbers in units of the scale, rounded to the integers of ``zero``."""
    info = fl.iinfo(zero.dtype)
    return fl.clamp(fl.round(real) + zero.to(real.dtype), info.min, info.max).to(zero.dtype)
