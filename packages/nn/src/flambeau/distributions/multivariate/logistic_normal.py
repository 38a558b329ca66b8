"""The logistic normal distribution."""

from __future__ import annotations

from typing import Any

import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..continuous.normal import Normal
from ..transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    r"""The distribution of chances of which the inverse of stick breaking is normal.

    Args:
        loc: Means of shape ``(..., K - 1)``.
        scale: Standard deviations, positive, which broadcast with ``loc``.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import LogisticNormal
        >>> import flambeau
        >>> LogisticNormal(flambeau.zeros(3), flambeau.ones(3)).sample().shape
        flambeau.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogisticNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def loc(self) -> Tensor:
        """Means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale
