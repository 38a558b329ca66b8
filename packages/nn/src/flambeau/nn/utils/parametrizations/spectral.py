"""Weights of spectral norm one."""

from __future__ import annotations

import flambeau
from flambeau import Tensor

from ..._siblings import functional as F
from ...modules.module import Module
from .._norms import as_matrix, power_step, random_unit, spectral_dim, tensor_of
from ..parametrize import register_parametrization


class _SpectralNorm(Module):
    """The weight divided by its greatest singular value, which a power iteration follows."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"spectral_norm(): dim is from {-weight.ndim} to {weight.ndim - 1}, not {dim}"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm(): n_power_iterations is positive, not {n_power_iterations}"
            )
        self.dim = dim % weight.ndim
        self.eps = eps
        if weight.ndim == 1:
            return  # its norm is known
        self.n_power_iterations = n_power_iterations
        with flambeau.no_grad():
            matrix = as_matrix(weight, self.dim)
            self.register_buffer("_u", random_unit(weight, matrix.shape[0], eps))
            self.register_buffer("_v", random_unit(weight, matrix.shape[1], eps))
            self._follow(matrix, 15)

    def forward(self, weight: Tensor) -> Tensor:
        """Divide; in training after a step of the power iteration."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._follow(matrix, self.n_power_iterations)
        # Copies, so that a backward after the next forward finds the vectors of its own forward.
        u, v = self._u.clone(), self._v.clone()
        return weight / flambeau.vdot(u, flambeau.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Any tensor will do: its spectral norm is divided out."""
        return value

    def _follow(self, matrix: Tensor, steps: int) -> None:
        with flambeau.no_grad():
            for _ in range(steps):
                power_step(matrix, self._u, self._v, self.eps, v_first=False)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    r"""Divide a weight by its spectral norm, its greatest singular value as a matrix.

    The norm is followed by a power iteration, one step each time the weight is read in training
    (Miyato et al., Spectral Normalization for Generative Adversarial Networks, 2018).

    Args:
        module: The module that has the weight.
        name: The name of the weight.
        n_power_iterations: Steps of the power iteration per reading.
        eps: Keeps the divisions away from zero.
        dim: The dimension of the outputs, rows of the matrix; the second for transposed
            convolutions, else the first, when left out.

    Returns:
        The module.

    Raises:
        ValueError: It has no such weight, or there are no steps.
        IndexError: It has no such dimension.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(20, 40)).eval()
        >>> 0.8 < flambeau.linalg.matrix_norm(layer.weight, 2).item() < 1.2
        True
    """
    weight = tensor_of(module, name)
    made = _SpectralNorm(weight, n_power_iterations, spectral_dim(module, dim), eps)
    return register_parametrization(module, name, made)
