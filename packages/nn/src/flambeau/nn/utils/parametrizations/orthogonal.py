"""Orthogonal and unitary weights."""

from __future__ import annotations

import flambeau
from flambeau import Tensor

from ..._siblings import functional as F
from ...modules.module import Module
from .._norms import tensor_of
from ..parametrize import register_parametrization

_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """A map from all matrices to those with orthonormal columns (or rows, if these are fewer).

    With ``base`` the map is about that matrix: ``Q = base @ map(X)``, and setting a value sets
    the base (Lezcano Casado, Trivializations for Gradient-Based Optimization on Manifolds, 2019).
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError(
                "orthogonal(): reflections of Householder do not reach all unitary matrices; "
                'choose orthogonal_map="matrix_exp" or "cayley" for complex weights'
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        """Map."""
        wide = x.shape[-2] < x.shape[-1]
        tall = x.mT if wide else x
        if self.orthogonal_map == "householder":
            q = _reflections(tall)
        else:
            q = _rotation(tall, self.orthogonal_map)
        if self.use_trivialization and self.base is not None:
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, q: Tensor) -> Tensor:
        """What the map takes to the orthogonal matrix next to ``q``."""
        if q.shape != self.shape:
            raise ValueError(
                f"orthogonal(): the weight is {list(self.shape)}, and cannot become {list(q.shape)}"
            )
        with flambeau.no_grad():
            wide = q.shape[-2] < q.shape[-1]
            tall = q.mT if wide else q
            if self.use_trivialization:
                self.base = _completed(tall)
                return _minus_identity(q)
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    f"orthogonal(): a value cannot be given to {self.orthogonal_map!r} with "
                    "use_trivialization=False"
                )
            x = _reflectors(tall)
            return x.mT if wide else x


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    r"""Keep a matrix, or each of a batch, orthogonal; unitary if it is complex.

    Its columns are orthonormal, or its rows if these are fewer. It is computed from a matrix of
    the same shape, the original, as the exponential of a skew matrix (``"matrix_exp"``), its
    Cayley transform ``(I + A/2) (I - A/2)^{-1}`` (``"cayley"``), or a product of reflections
    (``"householder"``).

    Args:
        module: The module that has the matrix.
        name: The name of the matrix.
        orthogonal_map: Which of the three; for square and complex matrices ``"matrix_exp"``, else
            ``"householder"``, when left out.
        use_trivialization: Keep an orthogonal matrix as the base, about which the map is taken,
            so that training starts where the weight is: at it if it is orthogonal, else at its
            factor Q.

    Returns:
        The module.

    Raises:
        ValueError: There is no such matrix, or no such map for it.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(20, 40))
        >>> q = layer.weight
        >>> flambeau.allclose(q.mT @ q, flambeau.eye(20), atol=1e-5)
        True
    """
    weight = tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"orthogonal(): {name!r} has {weight.ndim} dimensions; a matrix or a batch of "
            "matrices is needed"
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f"orthogonal_map has to be one of {_MAPS}, not {orthogonal_map!r}")
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


def _rotation(x: Tensor, kind: str) -> Tensor:
    """The first columns of the rotation that the lower triangle of ``x`` gives."""
    rows, columns = x.shape[-2:]
    lower = F.pad(x.tril(), (0, rows - columns))
    skew = lower - lower.mH
    if kind == "matrix_exp":
        return flambeau.matrix_exp(skew)[..., :columns]
    identity = flambeau.eye(rows, dtype=x.dtype, device=x.device)
    return flambeau.linalg.solve(identity - skew / 2, identity + skew / 2)[..., :columns]


def _reflections(x: Tensor) -> Tensor:
    """The product of the reflections whose vectors are below the diagonal of ``x``."""
    vectors = x.tril(-1)
    tau = 2.0 / (1.0 + (vectors * vectors).sum(-2))
    signs = x.detach().diagonal(dim1=-2, dim2=-1).int()
    return flambeau.linalg.householder_product(vectors, tau) * signs.unsqueeze(-2)


def _reflectors(q: Tensor) -> Tensor:
    """The opposite: vectors of reflections, with signs on the diagonal."""
    x, tau = flambeau.geqrf(q)
    diagonal = x.diagonal(dim1=-2, dim2=-1)
    # LAPACK gives tau = 0 exactly where it does without a reflection.
    diagonal.copy_(diagonal.sign() * flambeau.where(tau == 0, -1.0, 1.0).to(x.dtype))
    return x


def _completed(q: Tensor) -> Tensor:
    """A square matrix with orthonormal columns that begins with those of ``q``."""
    rows, columns = q.shape[-2:]
    if rows == columns and _is_orthogonal(q):
        return q.detach().clone()
    drawn = flambeau.randn(*q.shape[:-1], rows - columns, dtype=q.dtype, device=q.device)
    factor, upper = flambeau.linalg.qr(flambeau.cat([q.detach(), drawn], -1))
    return factor * upper.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(q: Tensor) -> bool:
    identity = flambeau.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    allowed = 10.0 * q.shape[-2] * flambeau.finfo(q.dtype).eps
    return flambeau.allclose(q.mH @ q, identity.expand(*q.shape[:-2], -1, -1), atol=allowed)


def _minus_identity(like: Tensor) -> Tensor:
    """Which every map takes to the identity, reflections because of the signs on the diagonal."""
    made = flambeau.zeros_like(like)
    made.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
    return made
