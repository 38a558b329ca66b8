"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    r"""The chi-squared distribution, of the sum of the squares of :math:`k` normal numbers.

    It is the gamma distribution of concentration :math:`k / 2` and rate :math:`1/2`.

    Args:
        df: Degrees of freedom :math:`k`, positive, a number or a tensor.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Chi2
        >>> Chi2(3.0).mean, Chi2(3.0).df
        (tensor(3.), tensor(3.))
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Chi2, _instance)
        return super().expand(batch_shape, new)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2
