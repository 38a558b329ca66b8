"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..continuous.beta import Beta
from ..distribution import Distribution
from ..utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    r"""The distribution of Cholesky factors of :math:`n` by :math:`n` correlation matrices.

    .. math:: p(L) \propto \prod_{i=2}^n L_{ii}^{n - i + 2 \eta - 2},
        \quad\text{so that}\quad p(L L^T) \propto \det(L L^T)^{\eta - 1}

    The constant is that of D. Lewandowski, D. Kurowicka, H. Joe, "Generating random correlation
    matrices based on vines and extended onion method" (2009), whose onion method draws samples.

    Args:
        dim: The size :math:`n` of the matrices, 2 or more.
        concentration: :math:`\eta`, positive: 1 is uniform, more is closer to the identity.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: ``dim`` is less than 2.

    Example:
        >>> from flambeau.distributions import LKJCholesky
        >>> factor = LKJCholesky(3, 0.5).sample()
        >>> (factor @ factor.mT).diagonal().round(decimals=4)
        tensor([1., 1., 1.])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.size(), (dim, dim), validate_args=validate_args)
        # the squared length of row i to the left of the diagonal; row 0 has none
        steps = flambeau.arange(
            dim - 1, dtype=self.concentration.dtype, device=self.concentration.device
        )
        steps = flambeau.cat([steps.new_zeros((1,)), steps])
        last = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2)
        self._beta = Beta(steps + 0.5, last - 0.5 * steps)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(LKJCholesky, _instance, batch_shape, concentration=0)
        new.dim = self.dim
        new._beta = self._beta.expand(flambeau.Size(batch_shape) + (self.dim,))
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw factors: each row has a length from a beta distribution, and any direction.

        Args:
            sample_shape: The shape of draws; one draw by default.

        Returns:
            A tensor of shape ``sample_shape + batch_shape + (dim, dim)``.
        """
        shape = self._extended_shape(sample_shape)
        like = self.concentration
        with flambeau.no_grad():
            lengths = self._beta.sample(sample_shape).unsqueeze(-1)
            away = flambeau.randn(shape, dtype=like.dtype, device=like.device).tril(-1)
            norms = flambeau.linalg.vector_norm(away, dim=-1, keepdim=True)
            rows = lengths.sqrt() * flambeau.where(norms > 0, away / norms, 0.0)
            rest = (1 - rows.square().sum(-1)).clamp(min=flambeau.finfo(like.dtype).tiny)
            return rows + rest.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        eta, last = self.concentration, self.dim - 1
        row = flambeau.arange(2, self.dim + 1, dtype=eta.dtype, device=eta.device)
        powers = 2 * (eta - 1).unsqueeze(-1) + self.dim - row
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        alpha = eta + 0.5 * last
        normalizer = (
            0.5 * last * math.log(math.pi)
            + flambeau.special.multigammaln(alpha - 0.5, last)
            - last * alpha.lgamma()
        )
        return (powers * diagonal.log()).sum(-1) - normalizer
