"""Centring and scaling, written in operators: what normalization kernels do before weights."""
from __future__ import annotations

__all__ = ["centre", "standardized"]


def centre(input, dims, rstd):
    """``x - mean`` and ``1 / sqrt(var + eps)``; eps is what the statistics leave over."""
    centred = input - input.mean(dims, keepdim=True)
    variance = centred.square().mean(dims, keepdim=True)
    eps = (rstd ** -2 - variance).detach()
    return centred, (variance + eps).rsqrt()


def standardized(input, dims, mean, rstd, differentiated: bool):
    """``(x - mean) * rstd``; to be differentiated it is made from ``input`` alone, because the
    statistics that a kernel gave have no history."""
    if not differentiated:
        return (input - mean) * rstd
    centred, scale = centre(input, dims, rstd)
    return centred * scale
