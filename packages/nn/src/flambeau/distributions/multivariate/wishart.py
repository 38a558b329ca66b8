"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..continuous.chi2 import Chi2
from ..exp_family import ExponentialFamily
from ..utils import lazy_property
from .multivariate_normal import cholesky_of, one_matrix
from .triangular import inverse_of_product, log_diagonal, solve_lower

__all__ = ["Wishart"]

#: How often a singular sample is drawn again.
TRIES = 3


class Wishart(ExponentialFamily):
    r"""The Wishart distribution, of sums of squares of :math:`\nu` normal vectors.

    .. math:: p(X) = \frac{(\det X)^{(\nu - n - 1) / 2} e^{-\operatorname{tr}(V^{-1} X) / 2}}
        {2^{\nu n / 2} (\det V)^{\nu / 2} \Gamma_n(\nu / 2)}

    Args:
        df: Degrees of freedom :math:`\nu`, above ``n - 1``, a number or a tensor.
        covariance_matrix: :math:`V`, positive definite, of shape ``(..., n, n)``.
        precision_matrix: Its inverse, instead.
        scale_tril: Its Cholesky factor, instead.
        validate_args: Whether arguments are checked.

    Raises:
        AssertionError: Not exactly one matrix is given.
        ValueError: ``df`` is too small, or the matrix has too few dimensions.

    Example:
        >>> from flambeau.distributions import Wishart
        >>> Wishart(3.0, flambeau.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        key, matrix = one_matrix(
            "Wishart",
            AssertionError,
            {
                "covariance_matrix": covariance_matrix,
                "precision_matrix": precision_matrix,
                "scale_tril": scale_tril,
            },
        )
        if isinstance(df, Number):
            df = flambeau.tensor(df, dtype=matrix.dtype, device=matrix.device)
        n = matrix.shape[-1]
        if not (df > n - 1).all():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        batch_shape = flambeau.broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch_shape)
        setattr(self, key, matrix.expand(tuple(batch_shape) + (-1, -1)))
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        if (self.df < n).any():
            warnings.warn(
                f"with df below {n} singular samples are likely, of density 0 or infinity: use a "
                "larger df",
                stacklevel=2,
            )
        self._unbroadcasted_scale_tril = cholesky_of(key, matrix)
        self._chi2 = self._squares()

    def _squares(self) -> Chi2:
        """The distributions of the squares on the diagonal of Bartlett's factor."""
        n = self._event_shape[-1]
        like = self._unbroadcasted_scale_tril
        steps = flambeau.arange(n, dtype=like.dtype, device=like.device)
        return Chi2(self.df.unsqueeze(-1) - steps)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(
            Wishart,
            _instance,
            batch_shape,
            df=0,
            covariance_matrix=2,
            precision_matrix=2,
            scale_tril=2,
        )
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._chi2 = new._squares()
        return new

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of V."""
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The matrix V."""
        factor = self._unbroadcasted_scale_tril
        return self._batched(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of V."""
        return self._batched(inverse_of_product(self._unbroadcasted_scale_tril))

    def _degrees(self) -> Tensor:
        return self.df[..., None, None]

    @property
    def mean(self) -> Tensor:
        return self._degrees() * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self._degrees() - self._event_shape[-1] - 1
        return flambeau.where(factor > 0, factor, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        cov = self.covariance_matrix
        diagonal = cov.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._degrees() * (cov.square() + products)

    def _bartlett_sampling(self, sample_shape: Any) -> Tensor:
        """Draw by M. S. Bartlett's decomposition (1933): the factor's diagonal holds roots of
        chi-squared numbers, below it normal ones."""
        diagonal = self._chi2.rsample(sample_shape).sqrt().diag_embed()
        below = flambeau.randn_like(diagonal).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (diagonal + below)
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Draw matrices that are differentiable functions of the parameters.

        Args:
            sample_shape: The shape of draws; one draw by default.
            max_try_correction: How often samples that rounding made singular are drawn again;
                3 by default.

        Returns:
            A tensor of shape ``sample_shape + batch_shape + (n, n)``.
        """
        tries = TRIES if max_try_correction is None else max_try_correction
        sample = self._bartlett_sampling(sample_shape)
        for _ in range(tries):
            singular = ~self.support.check(sample)
            if not singular.any():
                break
            warnings.warn("Singular sample detected: it is drawn again.", stacklevel=2)
            again = self._bartlett_sampling(sample_shape)
            sample = flambeau.where(singular[..., None, None], again, sample)
        return sample

    def _log_scale(self) -> Tensor:
        """Half the log determinant of 2 V."""
        n = self._event_shape[-1]
        return 0.5 * n * math.log(2.0) + log_diagonal(self._unbroadcasted_scale_tril)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        df, n = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        half = solve_lower(factor, value)  # the trace of inv(L L^T) X is that of inv(L) X inv(L)^T
        trace = solve_lower(factor, half.mT).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -df * self._log_scale()
            - flambeau.special.multigammaln(0.5 * df, n)
            + 0.5 * (df - n - 1) * flambeau.linalg.slogdet(value).logabsdet
            - 0.5 * trace
        )

    def entropy(self) -> Tensor:
        df, n = self.df, self._event_shape[-1]
        steps = flambeau.arange(n, device=df.device)
        slopes = (0.5 * (df.unsqueeze(-1) - steps)).digamma().sum(-1)
        return (
            (n + 1) * self._log_scale()
            + flambeau.special.multigammaln(0.5 * df, n)
            - 0.5 * (df - n - 1) * slopes
            + 0.5 * df * n
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        n = self._event_shape[-1]
        return -0.5 * self.precision_matrix, 0.5 * (self.df - n - 1)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        n = x.shape[-1]
        half_df = y + 0.5 * (n + 1)
        log_det = flambeau.linalg.slogdet(-2 * x).logabsdet
        return half_df * (n * math.log(2.0) - log_det) + flambeau.special.multigammaln(half_df, n)
