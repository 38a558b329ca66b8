"""What every distribution has."""

from __future__ import annotations

import warnings
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    r"""A batch of probability distributions.

    A sample has the shape ``sample_shape + batch_shape + event_shape``: independent draws,
    distributions with parameters of their own, and the dimensions of one value.

    Args:
        batch_shape: The shape of the batch of distributions.
        event_shape: The shape of one value.
        validate_args: Whether parameters and values are checked; the default is set by
            :meth:`set_default_validate_args`.

    Raises:
        ValueError: A parameter lies outside its constraint.

    Example:
        >>> from flambeau.distributions import Normal
        >>> normal = Normal(flambeau.zeros(3), 1.0)
        >>> normal.batch_shape, normal.sample((5,)).shape
        (flambeau.Size([3]), flambeau.Size([5, 3]))
        >>> normal.log_prob(flambeau.zeros(3))
        tensor([-0.9189, -0.9189, -0.9189])
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check arguments where ``validate_args`` is not given.

        Args:
            value: Whether they do. They do by default, unless Python runs with ``-O``.

        Raises:
            ValueError: The value is neither True nor False.

        Example:
            >>> from flambeau.distributions import Distribution
            >>> Distribution.set_default_validate_args(True)
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args(): True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = (),
        event_shape: Any = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = flambeau.Size(batch_shape)
        self._event_shape = flambeau.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self).__name__} does not define `arg_constraints`, so that its "
                "parameters are not checked; set it to {}, or pass validate_args=False",
                stacklevel=4,
            )
            return
        for name, constraint in arg_constraints.items():
            computed = name not in vars(self) and isinstance(
                getattr(type(self), name, None), lazy_property
            )
            if computed or constraints.is_dependent(constraint):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Give the same distributions in a batch of another shape; parameters become views.

        Args:
            batch_shape: The new shape; dimensions of size 1 grow, new ones come in front.

        Returns:
            A distribution of the same class.

        Example:
            >>> from flambeau.distributions import Normal
            >>> Normal(0.0, 1.0).expand((2, 3)).batch_shape
            flambeau.Size([2, 3])
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be expanded")

    @property
    def batch_shape(self) -> Any:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraint of each parameter, by name."""
        raise NotImplementedError(f"{type(self).__name__} has no arg_constraints")

    @property
    def support(self) -> Any:
        """The constraint of values: outside of it the density is zero."""
        raise NotImplementedError(f"{type(self).__name__} has no support")

    @property
    def mean(self) -> Tensor:
        """The mean of each distribution."""
        raise NotImplementedError(f"{type(self).__name__} has no mean in closed form")

    @property
    def mode(self) -> Tensor:
        """The most likely value of each distribution."""
        raise NotImplementedError(f"{type(self).__name__} has no mode in closed form")

    @property
    def variance(self) -> Tensor:
        """The variance of each distribution."""
        raise NotImplementedError(f"{type(self).__name__} has no variance in closed form")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, the root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without gradients.

        Args:
            sample_shape: The shape of draws; one draw by default.

        Returns:
            A tensor of shape ``sample_shape + batch_shape + event_shape``.

        Example:
            >>> from flambeau.distributions import Bernoulli
            >>> Bernoulli(flambeau.tensor([0.0, 1.0])).sample((2,))
            tensor([[0., 1.],
                    [0., 1.]])
        """
        with flambeau.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the parameters.

        Args:
            sample_shape: The shape of draws; one draw by default.

        Returns:
            A tensor of shape ``sample_shape + batch_shape + event_shape``.

        Raises:
            NotImplementedError: There is no such function (``has_rsample`` is False); use the
                score function, ``log_prob(sample) * reward``.

        Example:
            >>> from flambeau.distributions import Exponential
            >>> rate = flambeau.tensor(2.0, requires_grad=True)
            >>> x = Exponential(rate).rsample()
            >>> x.backward()
            >>> bool(flambeau.isclose(rate.grad, -x / rate))
            True
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no rsample(): draw with sample(), and give log_prob() of "
            "it, times the reward, to the gradient"
        )

    def sample_n(self, n: int) -> Tensor:
        """Draw ``n`` values: an older name for ``sample((n,))``."""
        warnings.warn("sample_n() is deprecated: write sample((n,))", stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """Give the logarithm of the density, or of the probability, at values.

        Args:
            value: Values, whose shape broadcasts with ``batch_shape + event_shape``.

        Returns:
            A tensor of the broadcast shape, without the dimensions of an event.

        Raises:
            ValueError: A value lies outside the support.

        Example:
            >>> from flambeau.distributions import Uniform
            >>> Uniform(0.0, 2.0).log_prob(flambeau.tensor(1.0))
            tensor(-0.6931)
        """
        raise NotImplementedError(f"{type(self).__name__} has no log_prob()")

    def cdf(self, value: Tensor) -> Tensor:
        """Give the probability of values up to the given ones.

        Args:
            value: Values, whose shape broadcasts with ``batch_shape``.

        Returns:
            Probabilities of the broadcast shape.

        Example:
            >>> from flambeau.distributions import Uniform
            >>> Uniform(0.0, 2.0).cdf(flambeau.tensor(0.5))
            tensor(0.2500)
        """
        raise NotImplementedError(f"{type(self).__name__} has no cdf() in closed form")

    def icdf(self, value: Tensor) -> Tensor:
        """Give the values whose :meth:`cdf` is given.

        Args:
            value: Probabilities, whose shape broadcasts with ``batch_shape``.

        Returns:
            Quantiles of the broadcast shape.

        Example:
            >>> from flambeau.distributions import Uniform
            >>> Uniform(0.0, 2.0).icdf(flambeau.tensor(0.25))
            tensor(0.5000)
        """
        raise NotImplementedError(f"{type(self).__name__} has no icdf() in closed form")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """List all values of a discrete distribution.

        Args:
            expand: Whether the values are repeated for the batch; else its dimensions are 1.

        Returns:
            A tensor whose first dimension counts the values.

        Raises:
            NotImplementedError: There are infinitely many, or their number differs in the batch.

        Example:
            >>> from flambeau.distributions import Bernoulli
            >>> Bernoulli(flambeau.tensor([0.1, 0.2])).enumerate_support()
            tensor([[0., 0.],
                    [1., 1.]])
        """
        raise NotImplementedError(f"the values of {type(self).__name__} cannot be listed")

    def entropy(self) -> Tensor:
        r"""Give the entropy, :math:`-\mathrm{E} \log p(x)`, in nats.

        Returns:
            A tensor of shape ``batch_shape``.

        Example:
            >>> from flambeau.distributions import Bernoulli
            >>> Bernoulli(0.5).entropy()
            tensor(0.6931)
        """
        raise NotImplementedError(f"{type(self).__name__} has no entropy in closed form")

    def perplexity(self) -> Tensor:
        """Give the exponential of the entropy.

        Returns:
            A tensor of shape ``batch_shape``.

        Example:
            >>> from flambeau.distributions import Bernoulli
            >>> Bernoulli(0.5).perplexity()
            tensor(2.)
        """
        return flambeau.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        """The shape of a sample."""
        return flambeau.Size(sample_shape) + self._batch_shape + self._event_shape

    def _check(self, value: Tensor) -> None:
        """Check values where arguments are checked."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        """Raise the error for values of another shape, or outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError(
                f"the value is a tensor, not {type(value).__name__}: write flambeau.tensor(...)"
            )
        shape = value.shape
        cut = len(shape) - len(self._event_shape)
        if cut < 0 or shape[cut:] != self._event_shape:
            raise ValueError(
                f"the last dimensions of the value, of shape {tuple(shape)}, have to be the "
                f"event_shape {tuple(self._event_shape)} of {self!r}"
            )
        expected = self._batch_shape + self._event_shape
        for given, wanted in zip(reversed(shape), reversed(expected), strict=False):
            if given != wanted and 1 not in (given, wanted):
                raise ValueError(
                    f"the value's shape {tuple(shape)} does not broadcast with batch_shape + "
                    f"event_shape = {tuple(expected)} of {self!r}"
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self).__name__} does not define `support`, so that values are not "
                "checked; pass validate_args=False",
                stacklevel=4,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be "
                f"within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """A new object for ``expand``, which knows the attributes of ``cls`` alone."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ of its own: it has to define expand(), "
                f"since that of {cls.__name__} does not know its attributes"
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _expanded(self, cls: type, instance: Any, batch_shape: Any, **event_dims: int) -> Any:
        """A copy whose attributes, where set, are expanded in front of their event dimensions."""
        new = self._get_checked_instance(cls, instance)
        batch_shape = flambeau.Size(batch_shape)
        for name, kept in event_dims.items():
            if name in vars(self):
                value = vars(self)[name]
                last = value.shape[value.dim() - kept :]
                setattr(new, name, value.expand(batch_shape + last))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in vars(self):
                value = vars(self)[name]
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"
