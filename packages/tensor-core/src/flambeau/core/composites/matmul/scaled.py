"""The product of matrices of float8 under PyTorch's older, private name."""
from __future__ import annotations


def _scaled_mm(self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None,
               use_fast_accum=False):
    """``(scale_a * self) @ (scale_b * mat2) + bias``, as ``nn.functional.scaled_mm`` computes it.

    Args:
        self: Shape ``(M, K)``, a float8 dtype.
        mat2: Shape ``(K, N)``, a float8 dtype.
        scale_a: One number, or shape ``(M, 1)``.
        scale_b: One number, or shape ``(1, N)``.
        bias: Added to each row.
        scale_result: The result is multiplied by it.
        out_dtype: The dtype of the result; that of ``self`` when left out.
        use_fast_accum: Accepted for compatibility.

    Raises:
        ValueError: An operand is not of float8, or a scale has another shape.
    """
    for name, x, scale, rows in (("self", self, scale_a, (self.shape[0], 1)),
                                 ("mat2", mat2, scale_b, (1, mat2.shape[1]))):
        if not x.dtype.name.startswith("float8"):
            raise ValueError(f"_scaled_mm(): {name} has dtype {x.dtype}; write "
                             "x.to(flambeau.float8_e4m3fn)")
        if scale.numel() != 1 and tuple(scale.shape) != rows:
            raise ValueError(f"_scaled_mm(): the scale of {name} has shape {tuple(scale.shape)}; "
                             f"it is one number or of shape {rows}")
    result = (self.float() * scale_a) @ (mat2.float() * scale_b)
    if bias is not None:
        result = result + bias
    if scale_result is not None:
        result = result * scale_result
    return result.to(self.dtype if out_dtype is None else out_dtype)
