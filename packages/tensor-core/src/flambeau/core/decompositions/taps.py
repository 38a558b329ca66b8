"""Windows over the last dimensions: what each tap of a kernel meets."""
from __future__ import annotations

from itertools import product

from flambeau.core import ops
from flambeau.core.decompositions.shared import each, filled


class Taps:
    """Windows of a ``size``: ``count`` of them along each dimension.

    Args:
        size: of the last dimensions.
        kernel, stride, padding, dilation: a number, or one for each of these dimensions.
        ceil_mode: whether windows may reach past the padding.
    """

    def __init__(self, size, kernel, stride, padding, dilation, ceil_mode=False):
        n = len(size)
        self.size, self.kernel = tuple(size), each(kernel, n)
        self.stride, self.padding = each(stride, n, self.kernel), each(padding, n, 0)
        self.dilation = each(dilation, n, 1)
        self.count = tuple(self._count(d, ceil_mode) for d in range(n))

    def _count(self, d, ceil_mode):
        span = self.size[d] + 2 * self.padding[d] - (self.kernel[d] - 1) * self.dilation[d] - 1
        count = (span + (self.stride[d] - 1 if ceil_mode else 0)) // self.stride[d] + 1
        starts_outside = (count - 1) * self.stride[d] >= self.size[d] + self.padding[d]
        return count - 1 if ceil_mode and starts_outside else count

    def _room(self):
        """Sizes with the padding, and with what windows meet beyond it."""
        reach = [(c - 1) * s + (k - 1) * d + 1 for c, s, k, d in zip(
            self.count, self.stride, self.kernel, self.dilation, strict=True)]
        return [max(n + 2 * p, r) for n, p, r in
                zip(self.size, self.padding, reach, strict=True)]

    def _inside(self, room):
        for d, (p, n) in enumerate(zip(self.padding, self.size, strict=True)):
            room = room.narrow(d - len(self.size), p, n)
        return room

    def __iter__(self):
        """Each tap as a function from a room to what the tap meets there, a view."""
        for tap in product(*map(range, self.kernel)):
            yield lambda room, tap=tap: self._met(room, tap)

    def _met(self, room, tap):
        n = len(self.size)
        for d in range(n):
            first, step = tap[d] * self.dilation[d], self.stride[d]
            room = ops.slice(room, d - n, first, first + (self.count[d] - 1) * step + 1, step)
        return room

    def unfold(self, x, fill=0):
        """``[..., *size]`` to ``[..., taps, *count]``."""
        n = len(self.size)
        room = filled((*x.shape[:-n], *self._room()), fill, x)
        ops.copy_(self._inside(room), x)
        return ops.stack([met(room) for met in self], -n - 1)

    def fold(self, columns):
        """The transpose of ``unfold``: columns that met the same element add up."""
        n = len(self.size)
        room = filled((*columns.shape[:-n - 1], *self._room()), 0, columns)
        for i, met in enumerate(self):
            ops.add_(met(room), columns.select(-n - 1, i))
        return self._inside(room)
