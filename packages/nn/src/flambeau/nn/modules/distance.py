"""Distances and similarities of the rows of two tensors."""

from __future__ import annotations

from flambeau import Tensor

from .._siblings import functional as F
from .module import Module


class PairwiseDistance(Module):
    """The p-norm of ``x1 - x2 + eps`` along the last dimension.

    Shapes: inputs ``(N, D)`` or ``(D,)``; output ``(N,)`` or ``()``, with ``keepdim`` ``(N, 1)``
    or ``(1,)``.

    Args:
        p: The exponent of the norm.
        eps: Keeps the gradient finite where two points are the same.
        keepdim: Keep the last dimension with size 1.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.PairwiseDistance()(flambeau.zeros(1, 2), flambeau.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Compute the distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """``x1 . x2 / max(|x1| * |x2|, eps)`` along one dimension: the cosine of their angle.

    Shapes: inputs that broadcast together; the output lacks dimension ``dim``.

    Args:
        dim: The dimension of the vectors.
        eps: The least length that vectors are divided by.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.CosineSimilarity(dim=0)(flambeau.tensor([1.0, 0.0]), flambeau.tensor([1.0, 1.0]))
        tensor(0.7071)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Compute the cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
