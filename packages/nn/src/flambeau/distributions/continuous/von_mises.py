"""The distribution of von Mises."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    r"""The distribution of von Mises, of angles around a mean direction.

    .. math:: p(x) = \frac{e^{\kappa \cos(x - \mu)}}{2 \pi I_0(\kappa)}

    Args:
        loc: The mean angle :math:`\mu` in radians, a number or a tensor.
        concentration: The concentration :math:`\kappa`, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import VonMises
        >>> VonMises(0.0, 1.0).log_prob(flambeau.tensor(0.0))
        tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(VonMises, _instance, batch_shape, loc=0, concentration=0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        # with the factor e^-kappa taken out of I_0, nothing overflows
        kappa = self.concentration
        away = flambeau.sin((value - self.loc) / 2).square()
        return -2 * kappa * away - math.log(2 * math.pi) - flambeau.special.i0e(kappa).log()

    @lazy_property
    def _proposal(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that samples are proposed from."""
        kappa = self.concentration.detach().double()
        tau = 1 + (1 + 4 * kappa * kappa).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # rho is about kappa / 2 for small ones, where the difference has no digits left
        return flambeau.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho * rho) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw angles in :math:`[-\\pi, \\pi)` by rejection (D. J. Best and N. I. Fisher,
        "Efficient simulation of the von Mises distribution", 1979).

        Args:
            sample_shape: The shape of draws; one draw by default.

        Returns:
            A tensor of shape ``sample_shape + batch_shape``.
        """
        shape = self._extended_shape(sample_shape)
        with flambeau.no_grad():
            kappa = self.concentration.double()
            angle = flambeau.zeros(shape, dtype=kappa.dtype, device=kappa.device)
            done = flambeau.zeros(shape, dtype=flambeau.bool, device=kappa.device)
            # All draw until the last is accepted, and take what is accepted later as well: so does
            # PyTorch, whose numbers these are with its generator.
            while not done.all():
                drawn, accepted = _propose(shape, kappa, self._proposal)
                angle = flambeau.where(accepted, drawn, angle)
                done |= accepted
            around = self.loc.double() + angle
            wrapped = (around + math.pi) % (2 * math.pi) - math.pi
            return wrapped.to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance, 1 less the length of the mean direction."""
        kappa = self.concentration
        return 1 - flambeau.special.i1e(kappa) / flambeau.special.i0e(kappa)


def _propose(shape: Any, kappa: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    """Angles around 0, and which of them are accepted."""
    u = flambeau.rand((3, *shape), dtype=kappa.dtype, device=kappa.device)
    z = flambeau.cos(math.pi * u[0])
    f = (1 + r * z) / (r + z)
    c = kappa * (r - f)
    accepted = (c * (2 - c) > u[1]) | ((c / u[1]).log() + 1 >= c)
    return (u[2] - 0.5).sign() * f.clamp(min=-1, max=1).acos(), accepted
