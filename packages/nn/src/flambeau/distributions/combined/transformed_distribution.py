"""Distributions of transformed values."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..transforms import ComposeTransform, Transform
from ..utils import sum_rightmost
from .independent import Independent

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    r"""The distribution of :math:`y = f(x)`, where :math:`x` has a distribution.

    .. math:: \log p(y) = \log p(x) - \log |\det \partial y / \partial x|

    Args:
        base_distribution: The distribution of :math:`x`.
        transforms: A transform, or a list of transforms of which the first comes first.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: A transform is none, or takes values of more dimensions than there are.

    Example:
        >>> from flambeau.distributions import ExpTransform, Normal, TransformedDistribution
        >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()])
        >>> log_normal.log_prob(flambeau.tensor(1.0))
        tensor(-0.9189)
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(
        self, base_distribution: Any, transforms: Any, validate_args: bool | None = None
    ) -> None:
        self.transforms = _listed(transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        whole = ComposeTransform(self.transforms)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {tuple(base_shape)}: give it a larger batch"
            )
        shape = whole.forward_shape(base_shape)
        base_event_dim = len(base_distribution.event_shape)
        needed = whole.inverse_shape(shape)
        if base_shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - base_event_dim])
        moved = whole.domain.event_dim - base_event_dim
        if moved > 0:
            base_distribution = Independent(base_distribution, moved)
        self.base_dist = base_distribution
        change = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(shape) - max(whole.codomain.event_dim, base_event_dim + change)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = flambeau.Size(batch_shape)
        shape = batch_shape + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(
            shape[: len(shape) - len(self.base_dist.event_shape)]
        )
        new.transforms = self.transforms
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with flambeau.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        dims = len(self.event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            slopes = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(slopes, dims - transform.domain.event_dim)
            y = x
        inner = self.base_dist.log_prob(y)
        return total + sum_rightmost(inner, dims - len(self.base_dist.event_shape))

    def _turned(self, chance: Tensor) -> Tensor:
        """Chances of lower values, from those of the base: the rest where f falls."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return chance
        return sign * (chance - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        self.base_dist._check(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._turned(value)))


def _listed(transforms: Any) -> list[Any]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list) or not all(isinstance(t, Transform) for t in transforms):
        raise ValueError(f"transforms must be a Transform or a list, but was {transforms}")
    return transforms
