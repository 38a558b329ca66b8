"""What ``DistributedDataParallel`` does in processes that have no batches left."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import distributed
from flambeau.distributed.algorithms import JoinHook


class ShadowHook(JoinHook):
    """Exchanges zeros for gradients with the processes that still have batches.

    Args:
        net: The ``DistributedDataParallel``.
        divide_by_initial_world_size: Whether gradients are divided by the number of all processes,
            instead of those with batches.
    """

    def __init__(self, net: Any, divide_by_initial_world_size: bool = True) -> None:
        self.net = net
        net._divide_by_all = divide_by_initial_world_size

    def main_hook(self) -> None:
        """Call the collectives of one forward and backward pass."""
        net = self.net
        trains, synchronizes, divisor = agreed(net, has_batch=False, trains=False)
        if net.shares_buffers():
            net.share_buffers(False)
        net.require_forward_param_sync = synchronizes
        if trains and net._reducer is not None:
            net._reducer.shadow(divisor)

    def post_hook(self, is_last_joiner: bool) -> None:
        """Copy parameters and buffers of the last process with batches to all."""
        source = common_rank(self.net, is_last_joiner)
        tensors = [p.detach() for p in self.net.module.parameters()]
        self.net.copy_from(source, [*tensors, *self.net.module.buffers()])


def agreed(net: Any, has_batch: bool, trains: bool) -> tuple[bool, bool, int | None]:
    """What the processes with a batch do in this step; all processes ask.

    Args:
        net: The ``DistributedDataParallel``.
        has_batch: Whether this process has one.
        trains: Whether it exchanges gradients.

    Returns:
        Whether those with a batch exchange gradients, whether they are outside of `no_sync`, and
        what sums are divided by (None: the number of all processes).
    """
    flags = [int(has_batch), int(trains), int(has_batch and net.require_backward_grad_sync)]
    counts = flambeau.tensor(flags, device=net.device)
    distributed.all_reduce(counts, group=net.process_group)
    active, training, synchronizing = counts.tolist()
    return bool(training), bool(synchronizing), None if net._divide_by_all else active


def common_rank(net: Any, eligible: bool) -> int:
    """The highest rank in the group of a process that is eligible; all processes ask.

    Raises:
        ValueError: There is none.
    """
    rank = distributed.get_rank(net.process_group) if eligible else -1
    flag = flambeau.tensor([rank], device=net.device)
    distributed.all_reduce(flag, distributed.ReduceOp.MAX, net.process_group)
    if flag.item() < 0:
        raise ValueError("DistributedDataParallel: no process has the parameters of the last step")
    return int(flag.item())
