"""Batch normalization over the batches of several processes.

Each process's part has an effect on the results of all, so gradients of sums over processes are
sums over processes as well.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed.nn.functional import all_reduce


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
    group: Any,
) -> Tensor:
    """Normalize each channel over the batches of all processes of a group.

    Args:
        input: This process's batch, ``(N, C, *)``; it may be empty.
        running_mean: Is moved towards the mean.
        running_var: Is moved towards the unbiased variance.
        weight: Of shape ``(C,)``.
        bias: Of shape ``(C,)``.
        momentum: How far the running statistics are moved.
        eps: Keeps the division away from zero.
        group: The processes.

    Returns:
        A tensor of the input's shape and dtype.

    Raises:
        ValueError: All processes together have one value per channel.
    """
    x = input if input.dtype is flambeau.float64 else input.float()
    dims = [d for d in range(x.ndim) if d != 1]
    shape = [1, -1] + [1] * (x.ndim - 2)
    count = x.new_full((1,), x.numel() / x.shape[1])
    totals = all_reduce(flambeau.cat([x.sum(dims), count]), group=group)
    count, mean = totals[-1].detach(), totals[:-1] / totals[-1].detach()
    if count <= 1:
        raise ValueError(
            f"SyncBatchNorm: expected more than 1 value per channel when training, got input of "
            f"shape {tuple(input.shape)} and none in other processes"
        )
    centred = x - mean.view(shape)
    var = all_reduce(centred.square().sum(dims), group=group) / count
    with flambeau.no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            running_var.lerp_((var * (count / (count - 1))).to(running_var.dtype), momentum)
    y = centred * (var + eps).rsqrt().view(shape)
    if weight is not None:
        y = y * weight.view(shape)
    if bias is not None:
        y = y + bias.view(shape)
    return y.to(input.dtype)
