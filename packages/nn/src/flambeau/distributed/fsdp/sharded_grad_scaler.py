"""``ShardedGradScaler``: a scale of the loss that all processes agree in."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import distributed, rooms

__all__ = ["ShardedGradScaler"]

_GradScaler: Any = rooms.enter("amp.grad_scaler").GradScaler


class ShardedGradScaler(_GradScaler):
    """A ``GradScaler`` of divided gradients: a step is left out where any process has infinities.

    Args:
        device: Where gradients are.
        init_scale: The first factor.
        backoff_factor: What it is multiplied by after infinities.
        growth_factor: What it is multiplied by after many steps without.
        growth_interval: How many.
        enabled: Whether it does anything.
        process_group: The processes; all by default.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, backoff_factor: float = 0.5,
        growth_factor: float = 2.0, growth_interval: int = 2000, enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval,
                         enabled)
        self.process_group = process_group

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the factor, and look for infinities in all processes.

        Args:
            optimizer: The optimizer of the parameters.
        """
        super().unscale_(optimizer)
        if self.is_enabled():
            found = flambeau.tensor([int(self._found_inf[id(optimizer)])])
            distributed.all_reduce(found, distributed.ReduceOp.MAX, self.process_group)
            self._found_inf[id(optimizer)] = bool(found.item())
