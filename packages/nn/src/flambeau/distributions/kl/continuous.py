"""Divergences of two continuous distributions of one family.

Most are in M. Gil, F. Alajaji, T. Linder, "Renyi divergence measures for commonly used univariate
continuous distributions" (2013), as limits.
"""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor

from ..continuous.beta import Beta
from ..continuous.cauchy import Cauchy
from ..continuous.continuous_bernoulli import ContinuousBernoulli
from ..continuous.exponential import Exponential
from ..continuous.gamma import Gamma
from ..continuous.gumbel import Gumbel
from ..continuous.half_normal import HalfNormal
from ..continuous.laplace import Laplace
from ..continuous.normal import Normal
from ..continuous.pareto import Pareto
from ..continuous.uniform import Uniform
from ..multivariate.dirichlet import Dirichlet
from ..utils import euler_constant
from .registry import register_kl


@register_kl(Beta, Beta)
def beta(p: Beta, q: Beta) -> Tensor:
    return dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    constants = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return constants + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Cauchy, Cauchy)
def cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    # F. Chyzak, F. Nielsen, "A closed-form formula for the Kullback-Leibler divergence between
    # Cauchy distributions" (2019)
    apart = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return apart.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    def constant(d: ContinuousBernoulli) -> Tensor:
        return d._log_norm() + (-d.probs).log1p()

    return p.mean * (p.logits - q.logits) + constant(p) - constant(q)


@register_kl(Exponential, Exponential)
def exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + b.lgamma()
        - a.lgamma()
        + (a - b) * a.digamma()
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    # the mean of exp(-(x - loc) / scale) is a gamma function
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = (ratio.lgamma() + ratio.log() - apart).exp()
    return apart - ratio.log() + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(Normal, Normal)
def normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    apart = ((p.loc - q.loc) / q.scale).square()
    return 0.5 * (ratio + apart - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return flambeau.where(p.scale < q.scale, math.inf, kl)


@register_kl(Uniform, Uniform)
def uniform(p: Uniform, q: Uniform) -> Tensor:
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return flambeau.where((q.low > p.low) | (q.high < p.high), math.inf, kl)
