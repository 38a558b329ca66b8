"""Weights of integers as the kernels of ``quantized_conv`` read them.

Products take four terms of each of 32 output channels at a time. A run is what lies side by side in
a window of an image whose channels come last: a row of it, or the channels of one element where the
row has gaps. Kernels of one input channel for each output channel take four elements of the window
of each of 64 channels, which they interleave within sixteens.
"""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from flambeau.core import _core, functions

_op = {**functions, **_core.operators()}
_WORD, _CHANNELS, _BLOCK = 4, 32, 64
_LANES = [i % 16 // 4 * 16 + i // 16 * 4 + i % 4 for i in range(_BLOCK)]


def _up(n: int, unit: int) -> int:
    return -(-n // unit) * unit


class Layout(NamedTuple):
    """How a weight lies: sizes, and whether windows are read by rows or channel by channel."""

    outputs: int
    channels: int           # of a group of the input
    kernel: tuple[int, ...]
    groups: int
    dilation: int           # along the last dimension

    @property
    def depthwise(self) -> bool:
        """Whether every output channel has one input channel of its own."""
        return self.groups > 1 and self.channels == 1 and self.outputs == self.groups

    @property
    def joined(self) -> bool:
        """Whether a row of a window is one run."""
        return self.groups == 1 and self.dilation == 1

    @property
    def run(self) -> int:
        """Terms of a run."""
        return self.channels * (self.kernel[-1] if self.joined else 1)

    def pack(self, weight: Any) -> Any:
        """A weight ``[outputs, channels, *kernel]`` in the kernels' order."""
        taps = math.prod(self.kernel)
        if self.depthwise:
            rows = _padded(weight.reshape(self.outputs, taps), _up(self.outputs, _BLOCK),
                           _up(taps, _WORD))
            rows = rows.reshape(-1, _BLOCK, _up(taps, _WORD) // _WORD, _WORD)
            return rows[:, _LANES].permute(0, 2, 1, 3).contiguous()
        count = self.outputs // self.groups
        rows = weight.reshape(self.outputs, self.channels, taps).transpose(1, 2)
        rows = rows.reshape(-1, self.run) if self.run else rows.reshape(-1, 0)
        rows = _padded(rows, rows.shape[0], _up(self.run, _WORD))
        rows = rows.reshape(self.groups, count, -1)
        rows = _op["pad"](rows, (0, 0, 0, _up(count, _CHANNELS) - count))
        rows = rows.reshape(self.groups, _up(count, _CHANNELS) // _CHANNELS, _CHANNELS,
                            rows.shape[2] // _WORD, _WORD)
        return rows.permute(0, 1, 3, 2, 4).contiguous()

    def unpack(self, packed: Any) -> Any:
        """The weight that was packed."""
        taps = math.prod(self.kernel)
        if self.depthwise:
            order = sorted(range(_BLOCK), key=_LANES.__getitem__)
            rows = packed.permute(0, 2, 1, 3)[:, order].reshape(-1, _up(taps, _WORD))
            return rows[:self.outputs, :taps].reshape(self.outputs, 1, *self.kernel)
        count, run = self.outputs // self.groups, _up(self.run, _WORD)
        wide = _up(count, _CHANNELS)
        rows = packed.reshape(self.groups, wide // _CHANNELS, -1, _CHANNELS, _WORD)
        rows = rows.permute(0, 1, 3, 2, 4).reshape(self.groups, wide, -1)[:, :count]
        rows = rows.reshape(-1, run)[:, :self.run] if run else rows.reshape(-1, 0)
        rows = rows.reshape(self.outputs, taps, self.channels).transpose(1, 2)
        return rows.reshape(self.outputs, self.channels, *self.kernel)


def _padded(rows: Any, height: int, width: int) -> Any:
    return _op["pad"](rows, (0, width - rows.shape[1], 0, height - rows.shape[0]))
