"""What distributions share: broadcasting of parameters, chances and log odds, lazy attributes."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any

import flambeau
from flambeau import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

#: Euler and Mascheroni's constant: minus the derivative of the gamma function at 1.
euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    r"""Make tensors of one shape from tensors and numbers.

    Numbers take the dtype and device of the first tensor, or the default dtype where there is
    none.

    Args:
        values: Tensors, or numbers.

    Returns:
        A tuple of tensors of the common shape; views where shapes had to grow.

    Raises:
        ValueError: An argument is neither a tensor nor a number.

    Example:
        >>> from flambeau.distributions.utils import broadcast_all
        >>> [t.shape for t in broadcast_all(flambeau.zeros(3), 1.0)]
        [flambeau.Size([3]), flambeau.Size([3])]
    """
    for value in values:
        if not isinstance(value, (Tensor, Number)):
            raise ValueError(
                "broadcast_all(): parameters are tensors or numbers, not "
                f"{type(value).__name__}: write flambeau.tensor(...) of it first"
            )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    options: dict[str, Any] = {"dtype": flambeau.get_default_dtype()}
    if first is not None:
        options = {"dtype": first.dtype, "device": first.device}
    tensors = [v if isinstance(v, Tensor) else flambeau.tensor(v, **options) for v in values]
    return tuple(flambeau.broadcast_tensors(*tensors))


def standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Normal numbers of mean 0 and deviation 1."""
    return flambeau.normal(
        flambeau.zeros(shape, dtype=dtype, device=device),
        flambeau.ones(shape, dtype=dtype, device=device),
    )


_standard_normal = standard_normal


def uniform_like(like: Tensor, shape: Any, *, inner: bool = False) -> Tensor:
    """Uniform numbers in ``[0, 1)`` of the dtype and device of ``like``.

    With ``inner`` they lie in ``(0, 1)``, so that their logarithm, and that of their rest to 1,
    are finite.
    """
    u = flambeau.rand(shape, dtype=like.dtype, device=like.device)
    return clamp_probs(u) if inner else u


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Sum over the last ``dim`` dimensions."""
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


_sum_rightmost = sum_rightmost


def clamp_probs(probs: Tensor) -> Tensor:
    """Move chances inside ``[eps, 1 - eps]``, where logarithms of both sides are finite.

    Args:
        probs: Chances, a floating-point tensor.

    Returns:
        A tensor of the same shape; ``eps`` is the machine precision of its dtype.

    Example:
        >>> from flambeau.distributions.utils import clamp_probs
        >>> clamp_probs(flambeau.tensor([0.0, 0.5])).log().isfinite()
        tensor([True, True])
    """
    eps = flambeau.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    r"""Give the chances that log odds stand for.

    .. math:: p = \frac{1}{1 + e^{-l}} \quad\text{or}\quad p_i = \frac{e^{l_i}}{\sum_j e^{l_j}}

    Args:
        logits: Log odds; of categories along the last dimension unless ``is_binary``.
        is_binary: Each element stands for itself.

    Returns:
        Chances of the same shape.

    Example:
        >>> from flambeau.distributions.utils import logits_to_probs
        >>> logits_to_probs(flambeau.zeros(2))
        tensor([0.5000, 0.5000])
    """
    return flambeau.sigmoid(logits) if is_binary else flambeau.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    r"""Give log odds, or logarithms of the chances of categories.

    .. math:: l = \log p - \log(1 - p) \quad\text{or}\quad l_i = \log p_i

    Args:
        probs: Chances; of categories along the last dimension unless ``is_binary``. They are
            moved inside ``(0, 1)`` first, so that results are finite.
        is_binary: Each element stands for itself.

    Returns:
        Logarithms of the same shape.

    Example:
        >>> from flambeau.distributions.utils import probs_to_logits
        >>> probs_to_logits(flambeau.tensor([0.5]), is_binary=True)
        tensor([0.])
    """
    inner = clamp_probs(probs)
    if is_binary:
        return flambeau.log(inner) - flambeau.log1p(-inner)
    return flambeau.log(inner)


class lazy_property:
    """An attribute that is computed when it is first read, and kept.

    Args:
        wrapped: The method that computes it. It runs with gradients enabled, so that what is
            kept serves later calls whichever mode the first one was in.

    Example:
        >>> from flambeau.distributions.utils import lazy_property
        >>> class Square:
        ...     def __init__(self, side): self.side = side
        ...     @lazy_property
        ...     def area(self): return self.side ** 2
        >>> square = Square(3)
        >>> square.area, "area" in vars(square)
        (9, True)
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return _ClassProperty(self.wrapped)
        with flambeau.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _ClassProperty(lazy_property, property):
    """What the class itself answers: tools for documentation see a property."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Take the lower triangle of matrices, row by row.

    Args:
        mat: Shape ``(..., n, n)``.
        diag: The last diagonal taken, from ``-n`` to ``n - 1``; 0 is the main one.

    Returns:
        A tensor of shape ``(..., number of elements)``.

    Raises:
        ValueError: There is no such diagonal.

    Example:
        >>> from flambeau.distributions.utils import tril_matrix_to_vec
        >>> tril_matrix_to_vec(flambeau.tensor([[1, 2], [3, 4]]))
        tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(
            f"tril_matrix_to_vec(): diag is {diag}, outside [{-n}, {n - 1}], the diagonals of "
            f"{n} by {n} matrices"
        )
    rows, columns = flambeau.tril_indices(n, n, offset=diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    r"""Fill the lower triangles of matrices with vectors, row by row.

    Of ``n`` rows and diagonals up to ``d`` there are
    :math:`n (n + 1) / 2 + n d - d (d + 1) / 2` elements for :math:`d \ge 0`, and the same with
    ``n + d`` rows of their own triangle for :math:`d < 0`.

    Args:
        vec: Shape ``(..., number of elements)``.
        diag: The last diagonal filled; 0 is the main one.

    Returns:
        A tensor of shape ``(..., n, n)``, zero above that diagonal.

    Raises:
        ValueError: No matrix has a triangle of that many elements.

    Example:
        >>> from flambeau.distributions.utils import vec_to_tril_matrix
        >>> vec_to_tril_matrix(flambeau.tensor([1, 3, 4]))
        tensor([[1, 0],
                [3, 4]])
    """
    count = vec.shape[-1]
    n = next((n for n in range(abs(diag), count + abs(diag) + 2) if _held(n, diag) >= count), 0)
    if _held(n, diag) != count:
        raise ValueError(
            f"vec_to_tril_matrix(): {count} elements fill no lower triangle up to diagonal {diag}"
        )
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    rows, columns = flambeau.tril_indices(n, n, offset=diag, device=vec.device)
    mat[..., rows, columns] = vec
    return mat


def _held(n: int, diag: int) -> int:
    """Number of elements of an n by n matrix up to a diagonal."""
    return sum(min(max(row + diag + 1, 0), n) for row in range(n))
