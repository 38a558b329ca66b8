"""Divergences of normal distributions of vectors, and of distributions made of others.

.. math:: \\mathrm{KL}(p \\| q) = \\tfrac{1}{2} \\left(\\log\\frac{\\det\\Sigma_q}{\\det\\Sigma_p}
    + \\operatorname{tr}(\\Sigma_q^{-1} \\Sigma_p) + d^T \\Sigma_q^{-1} d - n\\right)

with the difference d of the means (K. P. Murphy, "Machine learning: a probabilistic
perspective", 2012, section 4.1).
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ..combined.independent import Independent
from ..combined.transformed_distribution import TransformedDistribution
from ..exp_family import ExponentialFamily
from ..multivariate.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    lowrank_logdet,
    lowrank_mahalanobis,
)
from ..multivariate.multivariate_normal import MultivariateNormal
from ..multivariate.triangular import log_diagonal, mahalanobis, solve_lower
from ..utils import sum_rightmost
from .registry import kl_divergence, register_kl


def _squares(matrix: Tensor) -> Tensor:
    """The sum of the squares of a matrix."""
    return matrix.square().sum((-2, -1))


def _logdet(d: Any) -> Tensor:
    if isinstance(d, LowRankMultivariateNormal):
        return lowrank_logdet(*d._parts())
    return 2 * log_diagonal(d._unbroadcasted_scale_tril)


def _factors(d: Any) -> list[Tensor]:
    """Matrices whose products with their transposes sum to the covariance."""
    if isinstance(d, LowRankMultivariateNormal):
        return [d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag.sqrt().diag_embed()]
    return [d._unbroadcasted_scale_tril]


def _trace(q: Any, factor: Tensor) -> Tensor:
    """The trace of the inverse covariance of q, times ``factor @ factor.mT``."""
    if isinstance(q, MultivariateNormal):
        lower = q._unbroadcasted_scale_tril
        return _squares(solve_lower(*_together(lower, factor)))
    low, diagonal, capacitance = q._parts()
    half = solve_lower(capacitance, low.mT / diagonal.unsqueeze(-2))
    return _squares(factor / diagonal.sqrt().unsqueeze(-1)) - _squares(half @ factor)


def _together(lower: Tensor, factor: Tensor) -> tuple[Tensor, Tensor]:
    """Two matrices with the batch dimensions of both."""
    batch = tuple(flambeau.broadcast_shapes(lower.shape[:-2], factor.shape[:-2]))
    return lower.expand(batch + lower.shape[-2:]), factor.expand(batch + factor.shape[-2:])


def _distance(q: Any, x: Tensor) -> Tensor:
    if isinstance(q, LowRankMultivariateNormal):
        return lowrank_mahalanobis(*q._parts(), x)
    return mahalanobis(q._unbroadcasted_scale_tril, x)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def normal_vectors(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two normal distributions of vectors with different event "
            f"shapes, {tuple(p.event_shape)} and {tuple(q.event_shape)}, cannot be computed"
        )
    trace: Any = sum(_trace(q, factor) for factor in _factors(p))
    distance = _distance(q, q.loc - p.loc)
    return 0.5 * (_logdet(q) - _logdet(p) + trace + distance - p.event_shape[0])


@register_kl(Independent, Independent)
def independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL of Independent distributions that take different numbers of batch dimensions as "
            "part of a value"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    # a bijection changes nothing
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL of transformed distributions with different transforms or event shapes"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(ExponentialFamily, ExponentialFamily)
def exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    r"""The Bregman divergence of log normalizers, F(b) - F(a) - <b - a, F'(a)>."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"The cross KL-divergence between different exponential families "
            f"({type(p).__name__}, {type(q).__name__}) cannot be computed using Bregman "
            "divergences: write a formula and give it to register_kl()"
        )
    with flambeau.enable_grad():
        a = [n if n.requires_grad else n.detach().requires_grad_() for n in p._natural_params]
        normalizer = p._log_normalizer(*a)
        slopes = flambeau.autograd.grad(normalizer.sum(), a, create_graph=True)
    b = q._natural_params
    result = q._log_normalizer(*b) - normalizer
    for ours, theirs, slope in zip(a, b, slopes, strict=True):
        result = result - sum_rightmost((theirs - ours) * slope, len(q.event_shape))
    needed = any(n.requires_grad for n in (*p._natural_params, *b))
    return result if needed and flambeau.is_grad_enabled() else result.detach()
