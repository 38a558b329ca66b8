"""``DistributedDataParallel``, which programs test for; none can be made."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module


class DistributedDataParallel(Module):
    """A network trained by several processes. There is no such training: it cannot be made.

    ``isinstance(net, DistributedDataParallel)`` can be asked, and is false.

    Raises:
        RuntimeError: Always.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "DistributedDataParallel needs processes that are coupled, and "
            "flambeau.distributed.is_available() is False: train the network itself in one process"
        )
