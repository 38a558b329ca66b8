"""Parameters of one dtype whose rows processes exchange together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import distributed

from ._parts import Part

#: Elements of a part from which on it is exchanged alone, without being copied to others.
ALONE_ELEMENTS = 1 << 16


class Bucket:
    """Parameters whose rows processes exchange together.

    Args:
        parts: The parameters.
        group: The processes that have rows.
        dtype: The dtype in which rows are sent.
    """

    def __init__(self, parts: Sequence[Part], group: Any, dtype: Any) -> None:
        self.parts = list(parts)
        self.group = group
        self.count = group.size()
        self.dtype = dtype
        self.size = sum(part.size for part in parts)

    def gather(self, async_op: bool) -> tuple[Any, Any]:
        """Begin to gather all rows: what goes on, and where they will be."""
        flats = [part.flat_local(self.dtype) for part in self.parts]
        mine = flats[0] if len(flats) == 1 else flambeau.cat(flats)
        rows = mine.new_empty((self.count, self.size))
        if self.size == 0:
            return None, rows
        work = distributed.all_gather_into_tensor(rows, mine, self.group, async_op)
        return work, rows

    def wholes(self, rows: Any) -> list[Any]:
        """The parameters from all rows."""
        sizes = [part.size for part in self.parts]
        columns = rows.split(sizes, 1) if len(sizes) > 1 else [rows]
        return [part.whole(each) for part, each in zip(self.parts, columns, strict=True)]

    def reduce(
        self, parts: Sequence[Part], grads: Sequence[Any], dtype: Any, before: float
    ) -> tuple[Any, list[Any]]:
        """This process's rows of the sums of all processes' gradients.

        Args:
            parts: The parameters that have gradients.
            grads: The gradients.
            dtype: The dtype in which they are added.
            before: What they are divided by before.

        Returns:
            The rows of all parameters in one tensor, and of each as a view of it.
        """
        sizes = [part.size for part in parts]
        rows = flambeau.empty(self.count, sum(sizes), dtype=dtype, device=grads[0].device)
        columns = rows.split(sizes, 1)
        for part, grad, column in zip(parts, grads, columns, strict=True):
            column.copy_(part.flat_gradient(grad, self.count, dtype))
        if before != 1:
            rows.div_(before)
        mine = rows.new_empty(sum(sizes))
        if mine.numel():
            distributed.reduce_scatter_tensor(mine, rows, group=self.group)
        return mine, list(mine.split(sizes))

    def check_dtype(self, param_dtype: Any) -> None:
        """Send rows in another dtype where a program has converted the parameters."""
        own = self.parts[0].sharded._local_tensor.dtype
        if own.is_floating_point:
            self.dtype = param_dtype or own


def divided(parts: Sequence[Part], group: Any, param_dtype: Any) -> list[Bucket]:
    """Parameters in buckets: large ones alone, others with those of their dtype."""
    together: dict[Any, list[Part]] = {}
    buckets = []
    for part in parts:
        own = part.spec.dtype
        dtype = param_dtype if param_dtype is not None and own.is_floating_point else own
        if part.size >= ALONE_ELEMENTS:
            buckets.append(Bucket([part], group, dtype))
        else:
            together.setdefault((dtype, own), []).append(part)
    return [*buckets, *(Bucket(each, group, key[0]) for key, each in together.items())]
