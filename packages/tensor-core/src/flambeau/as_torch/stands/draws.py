"""Draws that libraries take from PyTorch's private operators."""
from __future__ import annotations

from flambeau.core import Generator, Tensor, _core


def _standard_gamma(alpha: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of gamma distributions of rate 1."""
    drawn: Tensor = _core.operators()["standard_gamma"](alpha, generator=generator)
    return drawn


def _sample_dirichlet(alpha: Tensor, generator: Generator | None = None) -> Tensor:
    """Shares that add up to 1, by Dirichlet's distribution."""
    drawn = _standard_gamma(alpha.double(), generator)
    return (drawn / drawn.sum(-1, keepdim=True)).to(alpha.dtype)
