"""Mathematical functions written in the formula language itself; importing registers them."""

from . import exponential, logarithm, simple

__all__ = ["exponential", "logarithm", "simple"]
