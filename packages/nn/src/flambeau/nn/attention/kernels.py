"""Choosing among kernels of attention, as scripts written for PyTorch do.

There is one kernel per device: exact attention in blocks, which never stores the matrix of scores
(Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al.,
FlashAttention, 2022). It serves masks, double derivatives and every dtype, so there is nothing
to choose; the names are here so that scripts which choose run.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class SDPBackend(enum.IntEnum):
    """The kernels that PyTorch has; here all of them mean the one there is.

    Example:
        >>> from flambeau.nn.attention import SDPBackend
        >>> SDPBackend.MATH.name
        'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """Name the kernels that ``scaled_dot_product_attention`` may use; the result is the same.

    Args:
        backends: One or several.
        set_priority: Whether their order is the order of preference.

    Raises:
        TypeError: Something else is named.
        ValueError: None is named, so that nothing could compute attention.

    Example:
        >>> import flambeau
        >>> from flambeau.nn import functional as F
        >>> from flambeau.nn.attention import SDPBackend, sdpa_kernel
        >>> x = flambeau.ones(1, 2, 4)
        >>> with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        ...     y = F.scaled_dot_product_attention(x, x, x)
        >>> y[0, 0]
        tensor([1., 1., 1., 1.])
    """
    named = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for each in named:
        if not isinstance(each, SDPBackend):
            raise TypeError(
                "sdpa_kernel() takes members of nn.attention.SDPBackend, such as "
                f"SDPBackend.MATH, not {each!r}"
            )
    if not named:
        raise ValueError("sdpa_kernel(): backends is empty; name at least one SDPBackend")
    yield
