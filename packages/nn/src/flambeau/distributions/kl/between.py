"""Divergences between families of continuous distributions, from means of functions."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor

from ..continuous.beta import Beta
from ..continuous.continuous_bernoulli import ContinuousBernoulli
from ..continuous.exponential import Exponential
from ..continuous.gamma import Gamma
from ..continuous.gumbel import Gumbel
from ..continuous.laplace import Laplace
from ..continuous.normal import Normal
from ..continuous.pareto import Pareto
from ..continuous.uniform import Uniform
from .moments import inside, mean_distance, mean_exp, mean_log, mean_log_rest
from .registry import register_kl


def _of(*families: type, to: type) -> Any:
    """Register the divergence of several families from one."""

    def decorate(formula: Any) -> Any:
        for family in families:
            register_kl(family, to)(formula)
        return formula

    return decorate


@_of(Exponential, Gamma, Gumbel, Laplace, Normal, Pareto, to=Beta)
@_of(Exponential, Gamma, Gumbel, Laplace, Normal, Pareto, to=ContinuousBernoulli)
@_of(Gumbel, Laplace, Normal, to=Exponential)
@_of(Gumbel, Laplace, Normal, to=Gamma)
@_of(Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Normal, to=Pareto)
@_of(Exponential, Gamma, Gumbel, Laplace, Normal, Pareto, to=Uniform)
def infinite(p: Any, q: Any) -> Tensor:
    """Infinite: p has chances where q has none."""
    shape = flambeau.broadcast_shapes(p.batch_shape, q.batch_shape)
    return flambeau.full_like(p.mean, math.inf).expand(shape)


@_of(Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform, to=Normal)
def to_normal(p: Any, q: Normal) -> Tensor:
    away = p.variance + (p.mean - q.loc).square()
    width = 2 * q.scale.square()
    return -p.entropy() + 0.5 * (math.pi * width).log() + away / width


@_of(Beta, ContinuousBernoulli, Gamma, Pareto, Uniform, to=Exponential)
def to_exponential(p: Any, q: Exponential) -> Tensor:
    return inside(p, -p.entropy() - q.rate.log() + q.rate * p.mean, low=0.0)


@_of(Beta, ContinuousBernoulli, to=Uniform)
def to_uniform(p: Any, q: Uniform) -> Tensor:
    return inside(p, -p.entropy() + (q.high - q.low).log(), q.low, q.high)


@_of(Beta, Exponential, Pareto, Uniform, to=Gamma)
def to_gamma(p: Any, q: Gamma) -> Tensor:
    alpha, rate = q.concentration, q.rate
    constant = alpha.lgamma() - alpha * rate.log()
    kl = -p.entropy() + constant - (alpha - 1) * mean_log(p) + rate * p.mean
    return inside(p, kl, low=0.0)


@_of(Exponential, Gamma, Normal, Uniform, to=Gumbel)
def to_gumbel(p: Any, q: Gumbel) -> Tensor:
    slope = q.scale.reciprocal()
    tail = (q.loc * slope).exp() * mean_exp(p, slope)
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) * slope + tail


@_of(Normal, to=Laplace)
def to_laplace(p: Normal, q: Laplace) -> Tensor:
    return -p.entropy() + (2 * q.scale).log() + mean_distance(p, q.loc) / q.scale


@_of(Beta, Uniform, to=ContinuousBernoulli)
def to_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    kl = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_norm()
    return inside(p, kl, 0.0, 1.0)


@_of(Uniform, to=Beta)
def uniform_to_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    constant = a.lgamma() + b.lgamma() - (a + b).lgamma()
    kl = -p.entropy() + constant - (a - 1) * mean_log(p) - (b - 1) * mean_log_rest(p)
    return inside(p, kl, 0.0, 1.0)


@_of(Uniform, to=Pareto)
def uniform_to_pareto(p: Uniform, q: Pareto) -> Tensor:
    alpha = q.alpha
    constant = alpha.log() + alpha * q.scale.log()
    return inside(p, -p.entropy() - constant + (alpha + 1) * mean_log(p), low=q.scale)
