r"""Means of functions under a distribution, of which divergences between families are made:

.. math:: \mathrm{KL}(p \| q) = -H(p) - \mathrm{E}_p \log q(x)
"""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor

from ..continuous.beta import Beta
from ..continuous.exponential import Exponential
from ..continuous.gamma import Gamma
from ..continuous.normal import Normal
from ..continuous.pareto import Pareto
from ..continuous.uniform import Uniform
from ..utils import euler_constant


def mean_log(p: Any) -> Tensor:
    """The mean of log(x)."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (flambeau.xlogy(p.high, p.high) - flambeau.xlogy(p.low, p.low)) / (p.high - p.low) - 1


def mean_log_rest(p: Uniform) -> Tensor:
    """The mean of log(1 - x)."""
    return mean_log(Uniform(1 - p.high, 1 - p.low, validate_args=False))


def mean_exp(p: Any, t: Tensor) -> Tensor:
    """The mean of exp(-t x), for positive t."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (-p.concentration * (t / p.rate).log1p()).exp()
    if isinstance(p, Normal):
        return (0.5 * (t * p.scale).square() - t * p.loc).exp()
    return ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low))


def mean_distance(p: Normal, point: Tensor) -> Tensor:
    """The mean of |x - point|, of a folded normal number."""
    z = (p.loc - point) / p.scale
    near = math.sqrt(2 / math.pi) * (-0.5 * z.square()).exp()
    return p.scale * (near + z * flambeau.erf(z / math.sqrt(2)))


def inside(p: Any, kl: Tensor, low: Any = -math.inf, high: Any = math.inf) -> Tensor:
    """A divergence, infinite where p has chances outside of an interval."""
    first, last = _ends(p)
    return flambeau.where((first >= low) & (last <= high), kl, math.inf)


def _ends(p: Any) -> tuple[Any, Any]:
    """The ends of the support, as tensors."""
    if isinstance(p, Uniform):
        return p.low, p.high
    if isinstance(p, Pareto):
        return p.scale, flambeau.full_like(p.scale, math.inf)
    like = p.mean
    ends = {"Interval": (0.0, 1.0), "GreaterThanEq": (0.0, math.inf)}
    low, high = ends.get(type(p.support).__name__[1:], (-math.inf, math.inf))
    return flambeau.full_like(like, low), flambeau.full_like(like, high)
