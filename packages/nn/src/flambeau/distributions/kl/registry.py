"""The table of Kullback-Leibler divergences, by the classes of two distributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from flambeau import Tensor

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Any]

#: What was registered.
_KL_REGISTRY: dict[tuple[type, type], Formula] = {}
#: What was found for the classes of distributions so far.
_KL_MEMOIZE: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Register a divergence of two classes; a decorator.

    It also serves subclasses, for which the formula of the closest classes is taken.

    Args:
        type_p: The class of the first distribution.
        type_q: The class of the second distribution.

    Returns:
        A decorator of functions of two distributions.

    Raises:
        TypeError: An argument is no class.

    Example:
        >>> import flambeau
        >>> from flambeau.distributions import Normal, kl_divergence, register_kl
        >>> class Mine(Normal): pass
        >>> @register_kl(Mine, Mine)
        ... def _divergence(p, q): return flambeau.tensor(7.0)
        >>> kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0))
        tensor(7.)
    """
    for each in (type_p, type_q):
        if not isinstance(each, type):      # a library's own base class of distributions counts
            raise TypeError(f"register_kl(): a class of distributions, not {each!r}")

    def decorator(formula: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()
        return formula

    return decorator


def _dispatch_kl(type_p: type, type_q: type) -> Formula:
    """The formula of the closest classes; a warning where that depends on who is asked first."""
    order_p = {cls: i for i, cls in enumerate(type_p.__mro__)}
    order_q = {cls: i for i, cls in enumerate(type_q.__mro__)}
    matches = [(order_p[p], order_q[q], formula) for (p, q), formula in _KL_REGISTRY.items()
               if p in order_p and q in order_q]
    if not matches:
        return _none
    left = min(matches, key=lambda match: match[:2])
    right = min(matches, key=lambda match: (match[1], match[0]))
    if left[2] is not right[2]:
        names = f"{type_p.__name__}, {type_q.__name__}"
        warnings.warn(
            f"Ambiguous kl_divergence({names}): two formulas of parent classes fit. Please "
            f"register_kl({names})",
            RuntimeWarning,
            stacklevel=3,
        )
    return left[2]


def _none(p: Any, q: Any) -> Any:
    return NotImplemented


def kl_divergence(p: Any, q: Any) -> Tensor:
    r"""Compute the Kullback-Leibler divergence of two distributions.

    .. math:: \mathrm{KL}(p \| q) = \int p(x) \log \frac{p(x)}{q(x)} \, dx

    Args:
        p: A distribution.
        q: A distribution, whose batch broadcasts with that of ``p``.

    Returns:
        A tensor of the broadcast batch shape.

    Raises:
        NotImplementedError: Nothing is registered for their classes.

    Example:
        >>> from flambeau.distributions import Normal, kl_divergence
        >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
        tensor(0.5000)
    """
    key = type(p), type(q)
    formula = _KL_MEMOIZE.get(key)
    if formula is None:
        formula = _KL_MEMOIZE[key] = _dispatch_kl(*key)
    result = formula(p, q)
    if result is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}: write one and give it to register_kl()"
        )
    return result
