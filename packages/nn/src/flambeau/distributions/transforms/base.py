"""What every transform has: caches, inverses, shapes."""

from __future__ import annotations

import weakref
from typing import Any

import flambeau.distributions.constraints as constraints
from flambeau import Tensor

__all__ = ["Transform"]


class Transform:
    r"""A differentiable function with the logarithm of its Jacobian's determinant.

    Subclasses define ``_call``, and ``_inverse`` and :meth:`log_abs_det_jacobian` where these
    exist; ``domain`` and ``codomain`` say which values they are about.

    Args:
        cache_size: 1 keeps the last argument and result, so that the inverse of a result just
            computed is the argument itself; it saves time, and rounding. 0 keeps none.

    Attributes:
        domain: The constraint of arguments.
        codomain: The constraint of results.
        bijective: Whether every result has one argument.

    Raises:
        ValueError: ``cache_size`` is neither 0 nor 1.

    Example:
        >>> import flambeau
        >>> from flambeau.distributions import ExpTransform
        >>> exp = ExpTransform(cache_size=1)
        >>> x = flambeau.tensor(1.0)
        >>> exp(x), exp.inv(exp(x)) is x
        (tensor(2.7183), True)
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size is 0 or 1, not {cache_size!r}")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> int:
        """Number of last dimensions of one argument, where results have as many.

        Raises:
            ValueError: Results have another number.
        """
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError(
            f"{type(self).__name__} changes the number of dimensions of a value: use "
            ".domain.event_dim or .codomain.event_dim"
        )

    @property
    def inv(self) -> Any:
        """The inverse, a transform too; ``transform.inv.inv is transform``."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """1 where results grow with arguments, -1 where they fall.

        Raises:
            NotImplementedError: The transform is no monotonic function of one number.
        """
        raise NotImplementedError(f"{type(self).__name__} is not monotonic")

    def with_cache(self, cache_size: int = 1) -> Any:
        """Give the same transform with a cache, or without one.

        Args:
            cache_size: 0 or 1.

        Returns:
            A transform; this one where nothing changes.

        Example:
            >>> from flambeau.distributions import ExpTransform
            >>> exp = ExpTransform()
            >>> exp.with_cache(0) is exp
            True
        """
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self).__name__} has to define with_cache()")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        """Give the value of ``x``."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        """Give the argument whose value is ``y``."""
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _call()")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        r"""Give :math:`\log |\det \partial y / \partial x|`.

        Args:
            x: Arguments.
            y: The transform of ``x``.

        Returns:
            A tensor of the shape of ``x`` without the dimensions of one argument.

        Example:
            >>> import flambeau
        >>> from flambeau.distributions import AffineTransform
            >>> x = flambeau.zeros(2)
            >>> AffineTransform(0.0, 2.0).log_abs_det_jacobian(x, 2 * x)
            tensor([0.6931, 0.6931])
        """
        raise NotImplementedError(f"{type(self).__name__} has no determinant")

    def __repr__(self) -> str:
        return type(self).__name__ + "()"

    def forward_shape(self, shape: Any) -> Any:
        """Give the shape of results, from that of arguments."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Give the shape of arguments, from that of results."""
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform; it has the transform's own cache."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Any:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)
