"""Types of sparse tensors by dtype, which older programs name: there are none."""
from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; write "
                             "flambeau.sparse_coo_tensor(indices, values, shape, device='cuda')",
                             name=name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
