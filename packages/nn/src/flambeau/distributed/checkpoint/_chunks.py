"""Parts of tensors: which this process has, and which elements two of them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.distributed.tensor import DTensor
from flambeau.distributed.tensor._layout import part

Box = tuple[tuple[int, ...], tuple[int, ...]]     # offsets and sizes


def own_box(tensor: Any) -> Box:
    """Where this process's elements of a tensor are."""
    if isinstance(tensor, DTensor):
        spec = tensor._spec
        if any(each.is_partial() for each in spec.placements):
            raise ValueError("checkpoints hold no DTensor with Partial(); redistribute() it to "
                             "Replicate() or Shard(dim)")
        sizes, offsets = part(spec.shape, spec.mesh, spec.placements)
        return offsets, sizes
    return (0,) * tensor.ndim, tuple(tensor.shape)


def own_elements(tensor: Any) -> Any:
    """This process's elements of a tensor."""
    return (tensor._local_tensor if isinstance(tensor, DTensor) else tensor).detach()


def common(a: Box, b: Box) -> Box | None:
    """The elements that two parts have in common; None where there are none."""
    first = tuple(map(max, a[0], b[0]))
    last = tuple(min(p + s, q + t) for p, s, q, t in zip(a[0], a[1], b[0], b[1], strict=True))
    sizes = tuple(end - start for start, end in zip(first, last, strict=True))
    return None if any(size <= 0 for size in sizes) else (first, sizes)


def narrowed(tensor: Any, offsets: Sequence[int], box: Box) -> Any:
    """Some elements of a part that begins at ``offsets``."""
    for dim, (start, size, base) in enumerate(zip(box[0], box[1], offsets, strict=True)):
        tensor = tensor.narrow(dim, start - base, size)
    return tensor
