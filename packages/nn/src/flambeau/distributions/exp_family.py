"""Exponential families: entropy from derivatives of the log normalizer."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    r"""A family of distributions of the form

    .. math:: p(x; \theta) = \exp(\langle t(x), \theta\rangle - F(\theta) + k(x))

    with natural parameters :math:`\theta`, log normalizer :math:`F` and carrier measure
    :math:`k`. A class that defines ``_natural_params``, ``_log_normalizer`` and
    ``_mean_carrier_measure`` has its entropy, and the divergence of two of its members, by
    differentiation (F. Nielsen and R. Nock, "Entropies and cross-entropies of exponential
    families", 2010).

    Example:
        >>> from flambeau.distributions import Exponential, ExponentialFamily
        >>> ExponentialFamily.entropy(Exponential(1.0)).item()
        1.0
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self).__name__} has no _natural_params")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _log_normalizer()")

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of the carrier measure."""
        raise NotImplementedError(f"{type(self).__name__} has no _mean_carrier_measure")

    def entropy(self) -> Tensor:
        r"""Give :math:`F(\theta) - \langle\theta, \nabla F(\theta)\rangle - \mathrm{E} k(x)`.

        Returns:
            A tensor of shape ``batch_shape``.
        """
        result = -self._mean_carrier_measure
        wanted = flambeau.is_grad_enabled()
        with flambeau.enable_grad():
            natural = self._natural_params
            wanted = wanted and any(p.requires_grad for p in natural)
            params = [
                p if p.requires_grad else p.detach().requires_grad_()
                for p in natural
            ]
            normalizer = self._log_normalizer(*params)
            slopes = flambeau.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = result + normalizer
        for param, slope in zip(params, slopes, strict=True):
            result = result - (param * slope).reshape(self._batch_shape + (-1,)).sum(-1)
        return result if wanted else result.detach()
