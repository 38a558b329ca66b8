"""What the two kinds of weight and spectral norm share, parametrizations and hooks."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .._siblings import functional as F
from ..modules.module import Module


def norm_except(weight: Tensor, dim: int) -> Tensor:
    """The norm over all dimensions but ``dim``, kept in place; over all of them if it is -1."""
    if dim == -1:
        return flambeau.linalg.vector_norm(weight)
    others = [d for d in range(weight.ndim) if d != dim % weight.ndim]
    return flambeau.linalg.vector_norm(weight, dim=others, keepdim=True)


def of_norm(direction: Tensor, norm: Tensor, dim: int) -> Tensor:
    """``norm * direction / |direction|``."""
    return direction * (norm / norm_except(direction, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Rows along ``dim``, everything else in columns."""
    return weight.movedim(dim, 0).flatten(1)


def power_step(matrix: Tensor, u: Tensor, v: Tensor, eps: float, v_first: bool) -> None:
    """One step of the power method, in place, towards the first singular vectors."""
    matrix = matrix.detach()
    for left in (not v_first, v_first):
        target, source = (u, v) if left else (v, u)
        product = matrix @ source if left else matrix.mH @ source
        target.copy_(F.normalize(product, dim=0, eps=eps))


def random_unit(like: Tensor, size: int, eps: float) -> Tensor:
    """A random vector of length one."""
    drawn = flambeau.empty(size, dtype=like.dtype, device=like.device).normal_()
    return F.normalize(drawn, dim=0, eps=eps)


def spectral_dim(module: Module, dim: int | None) -> int:
    """The dimension of the outputs: the second for transposed convolutions, else the first."""
    if dim is not None:
        return dim
    return 1 if getattr(module, "transposed", False) else 0


def tensor_of(module: Module, name: str) -> Any:
    """The parameter or buffer of that name.

    Raises:
        ValueError: There is none.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no parameter or buffer named {name!r}")
    return weight
