"""``DistributedDataParallel``: one network in several processes, each with its own data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau import distributed
from flambeau.distributed.algorithms import Join, Joinable
from flambeau.distributed.collectives import broadcast_coalesced

from ..modules.module import Module
from .buckets import Hook
from .joining import ShadowHook, agreed, common_rank
from .reducer import Reducer

BUCKET_MB = 25.0


class DistributedDataParallel(Module, Joinable):
    r"""A network of which each process has a copy, and whose gradients are averages over all.

    .. math:: g = \frac{1}{n} \sum_{r=0}^{n-1} g_r

    The first process's parameters and buffers are copied to all when it is made. In the backward
    pass gradients are exchanged in buckets, while further ones are computed. Where every process
    has the same number of examples, the average is the gradient of the mean loss over all.

    Args:
        module: The network, which is found as ``module``: keys of ``state_dict`` begin with
            ``module.``.
        device_ids: Accepted for compatibility.
        output_device: Accepted for compatibility.
        dim: Accepted for compatibility.
        broadcast_buffers: Whether ``forward`` copies the first process's buffers to all.
        init_sync: Whether parameters and buffers are copied at the beginning.
        process_group: The processes; all by default.
        bucket_cap_mb: The size of a bucket in MB, 25 by default.
        find_unused_parameters: Whether some parameters may have no part in the outputs.
        check_reduction: Accepted for compatibility.
        gradient_as_bucket_view: Whether gradients stay in the memory of the buckets.
        static_graph: The same parameters are used in each pass; those that are not are found.
        options: Accepted for compatibility: PyTorch's further keyword arguments.

    Raises:
        RuntimeError: No parameter needs a gradient, or the processes' networks differ.
        ValueError: ``flambeau.distributed.init_process_group`` was not called.

    Example:
        >>> import flambeau
        >>> from flambeau import distributed, nn
        >>> distributed.init_process_group("gloo", world_size=1, rank=0)
        >>> net = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
        >>> net(flambeau.ones(4, 3)).shape
        flambeau.Size([4, 2])
        >>> distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **options: Any,
    ) -> None:
        Module.__init__(self)
        Joinable.__init__(self)
        self.process_group = process_group
        size = distributed.get_world_size(process_group)  # raises where there is no world
        self.module = module
        self.dim = dim
        self.device_ids = device_ids
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self._divide_by_all = True
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters "
                "that require a gradient."
            )
        self.device = named[0][1].device
        # No part of the network; in one process alone it is made where a program asks for it.
        self.__dict__["_reducer"] = None
        bucket_mb = BUCKET_MB if bucket_cap_mb is None else bucket_cap_mb
        self.__dict__["_plan"] = (named, init_sync, bucket_mb)
        if size > 1:
            self._begin()

    def _begin(self) -> None:
        named, init_sync, bucket_mb = self.__dict__["_plan"]
        self._check_alike(named)
        if init_sync:
            self.copy_from(0, [p.detach() for p in self.module.parameters()])
            self.copy_from(0, list(self.module.buffers()))
        names, parameters = zip(*named, strict=True)
        self.__dict__["_reducer"] = Reducer(
            names,
            parameters,
            self.process_group,
            int(bucket_mb * (1 << 20)),
            self.find_unused_parameters or self.static_graph,
            self.gradient_as_bucket_view,
        )

    @property
    def reducer(self) -> Reducer:
        """What exchanges gradients; one process alone exchanges nothing unless asked for it."""
        if self._reducer is None:
            self._begin()
        found: Reducer = self._reducer
        return found

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """How gradients are exchanged, as trainers ask for it."""
        return {
            "module_name": type(self.module).__name__,
            "world_size": distributed.get_world_size(self.process_group),
            "rank": distributed.get_rank(self.process_group),
            "backend_name": distributed.get_backend(self.process_group),
            "broadcast_buffers": self.broadcast_buffers,
            "find_unused_parameters": self.find_unused_parameters,
            "gradient_as_bucket_view": self.gradient_as_bucket_view,
            "static_graph": self.static_graph,
        }

    def _check_alike(self, named: list[tuple[str, Any]]) -> None:
        """Check that all processes have the same parameters."""
        mine = [(name, tuple(p.shape), str(p.dtype)) for name, p in named]
        every: list[Any] = [None] * distributed.get_world_size(self.process_group)
        distributed.all_gather_object(every, mine, self.process_group)
        for rank, theirs in enumerate(every):
            if theirs != every[0]:
                found = next(
                    (pair for pair in zip(every[0], theirs, strict=False) if pair[0] != pair[1]),
                    (f"{len(every[0])} parameters", f"{len(theirs)} parameters"),
                )
                raise RuntimeError(
                    f"DistributedDataParallel: the networks of rank 0 and rank {rank} differ: "
                    f"{found[0]} and {found[1]}"
                )

    def copy_from(self, source: int, tensors: list[Any]) -> None:
        """Copy the tensors of a process to all.

        Args:
            source: The process, by its number in the group.
            tensors: The tensors.
        """
        broadcast_coalesced(tensors, self.process_group, source)

    def shares_buffers(self) -> bool:
        """Whether the next forward pass copies buffers of one process to all."""
        copies = self.broadcast_buffers and self.require_forward_param_sync
        return copies and next(self.module.buffers(), None) is not None

    def share_buffers(self, has_batch: bool) -> None:
        """Copy the first process's buffers to all; in a `Join`, those of one with a batch.

        Args:
            has_batch: Whether this process has one.
        """
        source = common_rank(self, has_batch) if self._join_config.enable else 0
        self.copy_from(source, list(self.module.buffers()))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the network gives."""
        reducer = self._reducer
        if reducer is None:
            return self.module(*inputs, **kwargs)
        trains = flambeau.is_grad_enabled() and self.require_backward_grad_sync
        if trains:
            reducer.check_finished()
        divisor = None
        if self._join_config.enable:
            Join.notify_join_context(self)
            divisor = agreed(self, True, trains)[2]
        if self.shares_buffers():
            self.share_buffers(True)
        outputs = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = self.require_backward_grad_sync
        if trains:
            reducer.begin(outputs, divisor)
        else:
            reducer.end()
        return outputs

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """Have a function exchange the gradients.

        Args:
            state: What the function is given first.
            hook: Takes the state and a bucket of gradients, whose ``buffer()`` is the sum of
                nothing yet; gives a future of the averages.

        Raises:
            RuntimeError: There is a hook.
        """
        if not callable(hook):
            raise TypeError("register_comm_hook(): Communication hook must be callable.")
        self.reducer.set_hook(state, hook)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients in each process in the block; the next pass exchanges the sums."""
        former, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = former

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A block of steps in which processes may have different numbers of batches.

        Args:
            divide_by_initial_world_size: Whether gradients are divided by the number of all
                processes; otherwise by that of the processes with a batch.
            enable: Whether it does anything.
            throw_on_early_termination: Whether all processes raise once one has no batches left.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> ShadowHook:
        """What a process without batches does.

        Args:
            kwargs: ``divide_by_initial_world_size``, as in `join`.
        """
        return ShadowHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The processes."""
        return self.process_group
