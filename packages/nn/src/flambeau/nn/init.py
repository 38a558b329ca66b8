"""Initial values. Every function fills its tensor in place, outside autograd, and returns it.

Example:
    >>> import flambeau
    >>> from flambeau import nn
    >>> nn.init.constant_(flambeau.empty(2), 0.5)
    tensor([0.5000, 0.5000])
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core import _core

from ._fans import _calculate_correct_fan, _calculate_fan_in_and_fan_out, expect_tensor
from ._renaming import renamed

_GAINS = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through a nonlinearity.

    Args:
        nonlinearity: The name of its function, e.g. ``"relu"``.
        param: The negative slope of ``"leaky_relu"``; 0.01 when left out.

    Raises:
        ValueError: The name is not known, or ``param`` is no number.

    Example:
        >>> calculate_gain("leaky_relu", 1.0)
        1.0
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(
                f"calculate_gain(): the negative slope of leaky_relu is a number, not {param!r}"
            )
        return math.sqrt(2.0 / (1.0 + slope * slope))
    if nonlinearity not in _GAINS:
        known = ", ".join(sorted([*_GAINS, "leaky_relu"]))
        raise ValueError(f"no gain is known for {nonlinearity!r}; known are {known}")
    return _GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform numbers in ``[a, b)``."""
    expect_tensor("uniform_", tensor)
    with flambeau.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal numbers."""
    expect_tensor("normal_", tensor)
    with flambeau.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with normal numbers, drawing again those that fall outside ``[a, b]``.

    Args:
        tensor: What to fill.
        mean: Mean of the normal distribution.
        std: Its standard deviation.
        a: The least value.
        b: The greatest value.
        generator: Where the random numbers come from.

    Raises:
        ValueError: ``a`` is not less than ``b``, or hardly any normal number lies between them.

    Example:
        >>> import flambeau
        >>> bool((trunc_normal_(flambeau.empty(100)).abs() <= 2).all())
        True
    """
    expect_tensor("trunc_normal_", tensor)
    _check_interval(mean, std, a, b)
    if tensor.is_meta:  # which holds no numbers to look at
        return tensor
    with flambeau.no_grad():
        tensor.normal_(mean, std, generator=generator)
        outside = (tensor < a) | (tensor > b)
        while bool(outside.any()):
            again = flambeau.empty_like(tensor).normal_(mean, std, generator=generator)
            tensor.copy_(flambeau.where(outside, again, tensor))
            outside = (tensor < a) | (tensor > b)
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    expect_tensor("constant_", tensor)
    with flambeau.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    expect_tensor("ones_", tensor)
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    expect_tensor("zeros_", tensor)
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on its diagonal and zeros elsewhere.

    Raises:
        ValueError: The tensor is not a matrix.

    Example:
        >>> import flambeau
        >>> eye_(flambeau.empty(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    expect_tensor("eye_", tensor)
    if tensor.ndim != 2:
        raise ValueError(f"eye_() fills a matrix, not a tensor of shape {tuple(tensor.shape)}")
    rows, columns = tensor.shape
    with flambeau.no_grad():
        row = flambeau.arange(rows, device=tensor.device).reshape(rows, 1)
        return tensor.copy_(row == flambeau.arange(columns, device=tensor.device))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform numbers in ``[-a, a]``, ``a = gain * sqrt(6 / (fan_in + fan_out))``.

    Raises:
        ValueError: The tensor has fewer than two dimensions.
    """
    expect_tensor("xavier_uniform_", tensor)
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal numbers of deviation ``gain * sqrt(2 / (fan_in + fan_out))``.

    Raises:
        ValueError: The tensor has fewer than two dimensions.
    """
    expect_tensor("xavier_normal_", tensor)
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill with uniform numbers in ``[-b, b]``, ``b = gain * sqrt(3 / fan)``.

    Args:
        tensor: What to fill.
        a: The negative slope of ``"leaky_relu"``.
        mode: ``"fan_in"`` keeps the variance of outputs, ``"fan_out"`` that of gradients.
        nonlinearity: What follows the layer; gives the gain.
        generator: Where the random numbers come from.

    Raises:
        ValueError: The tensor has fewer than two dimensions, or a name is not known.

    Example:
        >>> import flambeau
        >>> weight = kaiming_uniform_(flambeau.empty(4, 3), nonlinearity="relu")
        >>> bool((weight.abs() <= 2 ** 0.5).all())
        True
    """
    expect_tensor("kaiming_uniform_", tensor)
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill with normal numbers of deviation ``gain / sqrt(fan)``.

    The arguments are those of ``kaiming_uniform_``.
    """
    expect_tensor("kaiming_normal_", tensor)
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _is_empty(tensor: Tensor) -> bool:
    """Whether there is nothing to fill, which is said: it is rarely meant."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return 0 in tensor.shape


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with an orthogonal matrix, drawn uniformly, times ``gain``.

    Dimensions after the first are taken as one. The shorter side is orthonormal.

    Args:
        tensor: What to fill.
        gain: A factor.
        generator: Where the random numbers come from.

    Raises:
        ValueError: The tensor has fewer than two dimensions.

    Example:
        >>> import flambeau
        >>> q = orthogonal_(flambeau.empty(3, 3))
        >>> bool((q @ q.T - flambeau.eye(3)).abs().max() < 1e-5)
        True
    """
    expect_tensor("orthogonal_", tensor)
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_() needs two dimensions or more, not {tuple(tensor.shape)}")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with flambeau.no_grad():
        flat = flambeau.empty(rows, columns, dtype=tensor.dtype, device=tensor.device)
        flat = flat.normal_(0, 1, generator=generator).to(flambeau.float64)
        q, r = flambeau.linalg.qr(flat.t() if rows < columns else flat)
        q = q * r.diagonal().sgn()  # of all decompositions the one with a positive diagonal
        return tensor.copy_((q.t() if rows < columns else q).mul(gain).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal numbers, and some elements of every column with zero.

    From Martens 2010, "Deep learning via Hessian-free optimization".

    Args:
        tensor: What to fill.
        sparsity: The part of each column that is zero, rounded up.
        std: The standard deviation of the normal distribution.
        generator: Where the random numbers come from.

    Raises:
        ValueError: The tensor is not a matrix, or ``sparsity`` not between 0 and 1.

    Example:
        >>> import flambeau
        >>> (sparse_(flambeau.empty(4, 2), 0.5) == 0).sum(0)
        tensor([2, 2])
    """
    expect_tensor("sparse_", tensor)
    if tensor.ndim != 2:
        raise ValueError(f"sparse_() fills a matrix, not a tensor of shape {tuple(tensor.shape)}")
    if not 0 <= sparsity <= 1:
        raise ValueError(f"sparsity is between 0 and 1, not {sparsity}")
    rows = tensor.shape[0]
    zeros = math.ceil(sparsity * rows)
    with flambeau.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in tensor.T:
            column[flambeau.randperm(rows, generator=generator)[:zeros]] = 0
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it gives back its first input channels.

    Args:
        tensor: A weight of three to five dimensions.
        groups: How many groups the convolution has; each gives back its own channels.

    Raises:
        ValueError: The tensor has another number of dimensions, or its first size is not a
            multiple of ``groups``.

    Example:
        >>> import flambeau
        >>> dirac_(flambeau.empty(2, 2, 3))
        tensor([[[0., 1., 0.],
                 [0., 0., 0.]],
        <BLANKLINE>
                [[0., 0., 0.],
                 [0., 1., 0.]]])
    """
    expect_tensor("dirac_", tensor)
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(
            "dirac_() fills a weight of three, four or five dimensions, not a tensor of shape "
            f"{tuple(tensor.shape)}"
        )
    if groups < 1 or tensor.shape[0] % groups:
        raise ValueError(
            f"dirac_(): the {tensor.shape[0]} output channels do not fall into {groups} groups"
        )
    size = tensor.shape[0] // groups
    middle = tuple(length // 2 for length in tensor.shape[2:])
    with flambeau.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(size, tensor.shape[1])):
                tensor[(group * size + channel, channel, *middle)] = 1
    return tensor


uniform = renamed(uniform_)
normal = renamed(normal_)
constant = renamed(constant_)
eye = renamed(eye_)
dirac = renamed(dirac_)
xavier_uniform = renamed(xavier_uniform_)
xavier_normal = renamed(xavier_normal_)
kaiming_uniform = renamed(kaiming_uniform_)
kaiming_normal = renamed(kaiming_normal_)
orthogonal = renamed(orthogonal_)
sparse = renamed(sparse_)


def fan_in_uniform_(weight: Tensor, bias: Tensor | None) -> None:
    """PyTorch's start for linear layers and convolutions: uniform within ``1/sqrt(fan_in)``."""
    fan_in = math.prod(weight.shape[1:])
    bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    uniform_(weight, -bound, bound)
    if bias is not None:
        uniform_(bias, -bound, bound)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def _check_interval(mean: float, std: float, a: float, b: float) -> None:
    """Refuse an interval that so few normal numbers hit that drawing again would not end soon."""

    def below(x: float) -> float:
        return 0.5 * math.erfc((mean - x) / (std * math.sqrt(2.0)))

    if not a < b:
        raise ValueError(f"trunc_normal_() needs a < b, not a={a} and b={b}")
    if below(b) - below(a) < 1e-3:
        raise ValueError(
            f"fewer than one in a thousand normal numbers of mean {mean} and deviation {std} lie "
            f"between {a} and {b}; use uniform_(tensor, {a}, {b})"
        )


_core.cover_functions(globals(), ("uniform_", "normal_", "constant_", "kaiming_uniform_"))
