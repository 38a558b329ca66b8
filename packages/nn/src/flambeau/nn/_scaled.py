"""Products of matrices in eight bits, whose numbers are multiplied by scales."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor


class ScalingType(enum.Enum):
    """What one scale belongs to: the matrix, a row of it, or a block of so many elements."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """The order of scales in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


#: Rows and elements of a row that share a scale.
_BLOCKS = {
    ScalingType.BlockWise1x16: (1, 16),
    ScalingType.BlockWise1x32: (1, 32),
    ScalingType.BlockWise1x128: (1, 128),
    ScalingType.BlockWise128x128: (128, 128),
}


def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | Sequence[Tensor],
    scale_recipe_a: ScalingType | Sequence[ScalingType],
    scale_b: Tensor | Sequence[Tensor],
    scale_recipe_b: ScalingType | Sequence[ScalingType],
    swizzle_a: SwizzleType | Sequence[SwizzleType] | None = None,
    swizzle_b: SwizzleType | Sequence[SwizzleType] | None = None,
    bias: Tensor | None = None,
    output_dtype: Any = flambeau.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two matrices of float8, each multiplied by its scales.

    ``(scale_a * mat_a) @ (scale_b * mat_b) + bias``, computed in float32 and rounded once.

    Args:
        mat_a: Shape ``(M, K)``, a float8 dtype.
        mat_b: Shape ``(K, N)``, a float8 dtype.
        scale_a: One number for ``TensorWise``, shape ``(M, 1)`` for ``RowWise``, one for each block
            along K, ``(M, K / 128)`` and the like, for ``BlockWise...``.
        scale_recipe_a: What a scale of ``mat_a`` belongs to.
        scale_b: The same for ``mat_b``: ``(1, N)`` for ``RowWise``, ``(N, K / 128)`` and the like
            for blocks.
        scale_recipe_b: What a scale of ``mat_b`` belongs to.
        swizzle_a: The order of ``scale_a`` in memory: ``NO_SWIZZLE`` or None.
        swizzle_b: The same for ``scale_b``.
        bias: Added to each row, shape ``(N,)``.
        output_dtype: The dtype of the result; that of ``mat_a`` for None.
        contraction_dim: Accepted for compatibility; the inner dimension is summed over.
        use_fast_accum: Accepted for compatibility.

    Returns:
        Shape ``(M, N)``.

    Raises:
        ValueError: Shapes do not fit, an operand is not of float8, or scales are swizzled or
            are given in two levels.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([[1.0, 2.0]]).to(flambeau.float8_e4m3fn)
        >>> one, whole = flambeau.tensor(0.5), ScalingType.TensorWise
        >>> scaled_mm(x, x.t(), one, whole, one, whole, output_dtype=flambeau.float32)
        tensor([[1.2500]])
    """
    for name, swizzle in (("swizzle_a", swizzle_a), ("swizzle_b", swizzle_b)):
        if swizzle is not None and _single(name, swizzle) is not SwizzleType.NO_SWIZZLE:
            raise ValueError(f"scaled_mm(): {name} is for GPUs; give scales in C order")
    a = _scaled("a", mat_a, _single("scale_a", scale_a), _single("scale_recipe_a", scale_recipe_a))
    b = _scaled(
        "b", mat_b.t(), _single("scale_b", scale_b), _single("scale_recipe_b", scale_recipe_b)
    )
    result = a @ b.t()
    if bias is not None:
        result = result + bias
    return result.to(mat_a.dtype if output_dtype is None else output_dtype)


def _single(name: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) != 1:
        raise ValueError(f"scaled_mm(): {name} has {len(value)} elements, of which one is taken: "
                         "scales of two levels are for formats of four bits")
    return value[0]


def _scaled(name: str, matrix: Tensor, scale: Tensor, recipe: ScalingType) -> Tensor:
    """The numbers of a matrix whose rows run along what is summed over."""
    if matrix.ndim != 2 or not matrix.dtype.name.startswith("float8"):
        raise ValueError(f"scaled_mm(): mat_{name} is a matrix of float8, not {matrix.dtype} of "
                         f"shape {tuple(matrix.shape)}; write x.to(flambeau.float8_e4m3fn)")
    rows, length = matrix.shape
    recipe = ScalingType(getattr(recipe, "value", recipe))
    if recipe is ScalingType.TensorWise:
        wanted = scale.numel() == 1
        factor = scale.reshape(1, 1) if wanted else scale
    elif recipe is ScalingType.RowWise:
        wanted = scale.numel() == rows
        factor = scale.reshape(rows, 1) if wanted else scale
    else:
        high, wide = _BLOCKS[recipe]
        counts = (-(-rows // high), -(-length // wide))
        wanted = tuple(scale.shape) == counts
        factor = scale.float().repeat_interleave(high, 0).repeat_interleave(wide, 1)
        factor = factor[:rows, :length]
    if not wanted:
        raise ValueError(f"scaled_mm(): scale_{name} has shape {tuple(scale.shape)}, which is not "
                         f"{recipe.name} of a matrix with {rows} rows of {length} elements")
    return matrix.float() * factor.float()
