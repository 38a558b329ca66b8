"""What results are compared by: all that can be seen of them, bit for bit."""

from __future__ import annotations

import flambeau as fl


def bits(results):
    """The dtype, shape, strides and bytes of each tensor."""
    return [(t.dtype, t.shape, t.stride(), t.detach().reshape(-1).view(fl.uint8).tolist())
            for t in results]
