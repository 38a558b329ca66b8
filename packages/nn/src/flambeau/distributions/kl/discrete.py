"""Divergences of discrete distributions."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor

from ..discrete.bernoulli import Bernoulli
from ..discrete.binomial import Binomial
from ..discrete.categorical import Categorical
from ..discrete.geometric import Geometric
from ..discrete.one_hot_categorical import OneHotCategorical
from ..discrete.poisson import Poisson
from .registry import register_kl


def _softplus(x: Tensor) -> Tensor:
    return flambeau.nn.functional.softplus(x)


def _term(chance: Tensor, other: Tensor, log_ratio: Tensor) -> Tensor:
    """``p log(p / q)``: 0 where p is 0, and else infinite where q is 0."""
    term = flambeau.where(other == 0, math.inf, chance * log_ratio)
    return flambeau.where(chance == 0, 0.0, term)


@register_kl(Bernoulli, Bernoulli)
def bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = _term(p.probs, q.probs, _softplus(-q.logits) - _softplus(-p.logits))
    zeros = _term(1 - p.probs, 1 - q.probs, _softplus(q.logits) - _softplus(p.logits))
    return ones + zeros


@register_kl(Bernoulli, Poisson)
def bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Binomial, Binomial)
def binomial(p: Binomial, q: Binomial) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    kl = p.total_count * (
        p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    )
    return flambeau.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def categorical(p: Categorical, q: Categorical) -> Tensor:
    return _term(p.probs, q.probs, p.logits - q.logits).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def poisson_bounded(p: Poisson, q: Any) -> Tensor:
    """Infinite: every count has a chance in p."""
    return flambeau.full_like(p.rate, math.inf)
