"""``DistributedDataParallel`` in a world of one process: the network itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau import distributed

from ..modules.module import Module


class DistributedDataParallel(Module):
    """The network itself, under the name ``module``, as PyTorch runs it with one process.

    Gradients are the sums over one process, hence left as they are. The keys of ``state_dict``
    begin with ``module.``, so that checkpoints of wrapped networks fit.

    Args:
        module: The network.
        device_ids: Accepted for compatibility.
        output_device: Accepted for compatibility.
        dim: Accepted for compatibility.
        broadcast_buffers: Accepted for compatibility.
        options: Accepted for compatibility: PyTorch's further keyword arguments.

    Raises:
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
        **options: Any,
    ) -> None:
        super().__init__()
        distributed.get_world_size()  # raises where there is no world
        self.module = module
        self.dim = dim
        self.device_ids = device_ids
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the network gives."""
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients in the block, which is what happens in any case."""
        former, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = former
