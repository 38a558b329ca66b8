"""Cross entropy of a linear map, in pieces of the batch, so that not all scores exist at once."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor

from ._core import ops

_POLICIES = ("auto", "accurate", "balanced", "compact")
_IGNORED = -100


class _Settings(NamedTuple):
    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyOptions(_Settings):
    """How ``linear_cross_entropy`` cuts the batch into pieces.

    Each piece's scores are computed, reduced to a loss, dropped, and computed again for the
    gradient, so memory holds the scores of one piece. Gradients of any order work.

    Args:
        allow_retain_graph: Accepted for compatibility: a graph can be retained in any case.
        batch_chunk_size: Rows of a piece.
        chunking_method: ``"auto"``, ``"aspect_ratio"`` (as many rows as make the scores of a
            piece as large as the input, rounded up to a power of two), ``"aspect_ratio:N"``
            (that over N), or ``None``: by ``batch_chunk_size``, or all rows at once.
        acc_policy: Accepted for compatibility: ``"auto"``, ``"accurate"``, ``"balanced"`` or
            ``"compact"``.
        acc_dtype: The dtype in which the pieces are computed; that of the input when left out.

    Raises:
        ValueError: A setting is not known.

    Example:
        >>> LinearCrossEntropyOptions(batch_chunk_size=64, chunking_method=None).batch_chunk_size
        64
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> LinearCrossEntropyOptions:
        self = super().__new__(cls, *args, **kwargs)
        self._check()
        return self

    def _check(self) -> None:
        size, dtype = self.batch_chunk_size, self.acc_dtype
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"acc_policy is one of {_POLICIES}, not {self.acc_policy!r}")
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size is a number greater than 0 or None, not {size!r}")
        if dtype is not None and not getattr(dtype, "is_floating_point", False):
            raise ValueError(f"acc_dtype is a floating dtype or None, not {dtype!r}")
        self._divisor()

    def rows(self, batch: int, features: int, classes: int) -> int:
        """How many rows a piece has."""
        divisor = self._divisor()
        if divisor is None:
            return self.batch_chunk_size or batch
        pieces = math.ceil(classes / max(features, 1))
        wanted = max(1, math.ceil(batch / max(pieces, 1)))
        by_ratio = max(1, 2 ** math.ceil(math.log2(wanted)) // divisor)
        if self.batch_chunk_size in (None, by_ratio) or self.chunking_method == "auto":
            return self.batch_chunk_size or by_ratio
        raise ValueError(
            f"batch_chunk_size={self.batch_chunk_size} and chunking_method="
            f"{self.chunking_method!r}, which gives {by_ratio}, disagree; set one to None"
        )

    def _divisor(self) -> int | None:
        if self.chunking_method is None:
            return None
        if self.chunking_method == "auto":
            return 2
        name, colon, number = self.chunking_method.partition(":")
        divisor = int(number) if number.isdigit() else 0 if colon else 1
        if name != "aspect_ratio" or divisor < 1:
            raise ValueError(
                'chunking_method is "auto", "aspect_ratio", "aspect_ratio:N" with N at least 1, '
                f"or None, not {self.chunking_method!r}"
            )
        return divisor


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    Args:
        input: Shape ``(in_features,)`` or ``(N, in_features)``.
        linear_weight: Shape ``(C, in_features)``, or ``(C, d1, ..., in_features)`` for a loss at
            every position of ``d1, ...``.
        target: Class numbers ``()``, ``(N,)`` or ``(N, d1, ...)``, or probabilities ``(C,)``,
            ``(N, C)`` or ``(N, C, d1, ...)``.
        linear_bias: Shape ``(C,)`` or ``(C, d1, ...)``.
        weight: A factor for every class.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        ignore_index: A target that does not count; -100 when left out.
        label_smoothing: The part of the target that is spread over all classes.
        options: Compute in pieces of the batch; with class numbers and one position only.

    Returns:
        The loss, or with ``reduction="none"`` the loss of every target.

    Raises:
        RuntimeError: Shapes do not fit, or ``ignore_index`` is given with probabilities.

    Example:
        >>> import flambeau
        >>> x, w = flambeau.zeros(3, 4), flambeau.zeros(10, 4)
        >>> linear_cross_entropy(x, w, flambeau.tensor([1, 5, 9]))
        tensor(2.3026)
    """
    _check_shapes(input, linear_weight, linear_bias)
    classes, *positions = linear_weight.shape[:-1]
    soft = tuple(target.shape) == (*input.shape[:-1], classes, *positions)
    if soft and ignore_index is not None:
        raise RuntimeError(
            "linear_cross_entropy(): ignore_index means nothing where the target holds "
            "probabilities; leave it out"
        )
    ignored = _IGNORED if ignore_index is None else ignore_index
    in_pieces = options is not None and not soft and not positions and input.ndim == 2
    if options is not None and in_pieces:
        settings = (weight, ignored, reduction, label_smoothing)
        return _in_pieces(input, linear_weight, linear_bias, target, settings, options)
    scores = _scores(input, linear_weight, linear_bias)
    return ops.cross_entropy(
        scores,
        target,
        weight,
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _check_shapes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    given = f"input {tuple(input.shape)} and linear_weight {tuple(weight.shape)}"
    if input.ndim not in (1, 2) or weight.ndim < 2 or input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "linear_cross_entropy() takes an input (in_features,) or (N, in_features) and a "
            f"linear_weight (C, ..., in_features), not {given}"
        )
    if weight.ndim > 2 and input.ndim == 1:
        raise RuntimeError(
            f"linear_cross_entropy() with several positions needs an input (N, in_features), not "
            f"{given}"
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(
            f"linear_cross_entropy() takes a linear_bias of shape {tuple(weight.shape[:-1])}, "
            f"not {tuple(bias.shape)}"
        )


def _scores(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The linear map; several positions come after the classes."""
    flat = None if bias is None else bias.reshape(-1)
    scores = ops.linear(input, weight.reshape(-1, weight.shape[-1]), flat)
    return scores.reshape(*input.shape[:-1], *weight.shape[:-1])


def _in_pieces(
    input: Tensor,
    linear_weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    settings: tuple[Tensor | None, int, str, float],
    options: LinearCrossEntropyOptions,
) -> Tensor:
    """Sum the losses of the pieces; the mean divides by the weights of all targets at the end."""
    from flambeau.utils.checkpoint import checkpoint  # few programs need it

    weight, ignored, reduction, smoothing = settings
    part = "none" if reduction == "none" else "sum"
    dtype = options.acc_dtype or input.dtype

    def loss_of(rows: Tensor, matrix: Tensor, offset: Tensor | None, wanted: Tensor) -> Tensor:
        scores = _scores(rows.to(dtype), matrix.to(dtype), _as(offset, dtype))
        return ops.cross_entropy(
            scores,
            wanted,
            _as(weight, dtype),
            ignore_index=ignored,
            reduction=part,
            label_smoothing=smoothing,
        )

    batch, features = input.shape
    size = options.rows(batch, features, linear_weight.shape[0])
    pieces = zip(ops.split(input, size), ops.split(target, size), strict=True)
    losses = [
        checkpoint(loss_of, rows, linear_weight, bias, wanted, use_reentrant=False)
        for rows, wanted in pieces
    ]
    if reduction == "none":
        return ops.cat(losses).to(input.dtype)
    total = losses[0] if len(losses) == 1 else ops.stack(losses).sum()
    if reduction == "mean":
        total = total / _weight_of(target, weight, ignored, dtype)
    return total.to(input.dtype)


def _as(tensor: Tensor | None, dtype: Any) -> Tensor | None:
    return None if tensor is None else tensor.to(dtype)


def _weight_of(target: Tensor, weight: Tensor | None, ignored: int, dtype: Any) -> Tensor:
    """How much all targets count together."""
    kept = target != ignored
    if weight is None:
        return kept.sum().to(dtype)
    return weight.to(dtype)[flambeau.where(kept, target, 0)].mul(kept).sum()
