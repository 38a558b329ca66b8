"""Which elements are pruned: at random, the smallest, whole channels, or a mask of one's own."""

from __future__ import annotations

import numbers
from typing import Any

import flambeau
from flambeau import Tensor

from .base import BasePruningMethod, dim_of

Amount = int | float


class Identity(BasePruningMethod):
    """Prunes nothing, but puts the mask in place."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random.

    Args:
        amount: How many, or which fraction.
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Amount) -> None:
        self.amount = _checked(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros at random positions."""
        # the largest draws, as in PyTorch: a seed prunes the same elements
        return _without_least(-flambeau.rand_like(t), default_mask, self.amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of the smallest magnitudes.

    Args:
        amount: How many, or which fraction.
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Amount) -> None:
        self.amount = _checked(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros where the magnitudes are smallest."""
        return _without_least(t.abs(), default_mask, self.amount)


class RandomStructured(BasePruningMethod):
    """Prunes whole positions along a dimension at random.

    Args:
        amount: How many, or which fraction.
        dim: The dimension.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        self.amount = _checked(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros at random positions along the dimension."""
        drawn = flambeau.rand(t.shape[_matrix_dim(t, self.dim)], device=t.device)
        return _without_positions(drawn, default_mask, self.amount, self.dim)


class LnStructured(BasePruningMethod):
    """Prunes the positions along a dimension that have the smallest norms.

    Args:
        amount: How many, or which fraction.
        n: The exponent of the norm, such as 2 or ``inf``.
        dim: The dimension.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, n: Any, dim: int = -1) -> None:
        self.amount = _checked(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros where the norms over the other dimensions are smallest."""
        dim = _matrix_dim(t, self.dim)
        others = [d for d in range(t.ndim) if d != dim]
        norms = flambeau.norm(t, p=self.n, dim=others)
        return _without_positions(norms, default_mask, self.amount, dim)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask leaves out.

    Args:
        mask: Ones and zeros, of the parameter's shape.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Both masks at once."""
        if self.mask.shape != default_mask.shape:
            raise AssertionError(
                f"the mask is {list(self.mask.shape)}, and the parameter "
                f"{list(default_mask.shape)}; they must have the same shape"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def _checked(amount: Any) -> Amount:
    if not isinstance(amount, numbers.Real) or isinstance(amount, bool):
        raise TypeError(f"amount is a number of elements or a fraction, not {amount!r}")
    whole = isinstance(amount, numbers.Integral)
    if float(amount) < 0 or not whole and float(amount) > 1:
        raise ValueError(f"amount is a count, or a fraction between 0.0 and 1.0, not {amount}")
    return amount  # type: ignore[return-value]


def _count(amount: Amount, available: int) -> int:
    """How many of those that are available."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * available)
    if amount > available:
        raise ValueError(f"amount={amount} is more than the {available} that are left to prune")
    return int(amount)


def _without_least(scores: Tensor, mask: Tensor, amount: Amount) -> Tensor:
    """Zeros added to a mask at the least scores."""
    made = mask.clone().contiguous()
    least = scores.reshape(-1).topk(_count(amount, scores.numel()), largest=False).indices
    made.view(-1)[least] = 0
    return made


def _without_positions(scores: Tensor, mask: Tensor, amount: Amount, dim: int) -> Tensor:
    """Zeros added to a mask at the positions of the least scores along a dimension."""
    least = scores.topk(_count(amount, scores.numel()), largest=False).indices
    return mask.index_fill(dim, least, 0)


def _matrix_dim(t: Tensor, dim: int) -> int:
    if t.ndim <= 1:
        raise ValueError(
            "structured pruning removes rows, columns or channels: it needs at least 2 "
            f"dimensions, and the tensor has {t.ndim}; use unstructured pruning"
        )
    return dim_of(dim, t)
