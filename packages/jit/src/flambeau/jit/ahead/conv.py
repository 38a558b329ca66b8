"""Convolutions: the weight times strips of unfolded input, as the core's kernels sum them.

A sum begins with the bias and takes its taps in order, channel by channel, with fused multiply-add;
taps in the padding count as zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.jit.ahead.loops import ZERO, Loops
from flambeau.jit.ahead.product import Tile, columns, even_rows, rows
from flambeau.jit.llvm.machine import Machine


@dataclass(frozen=True)
class Conv:
    """Sizes; channels count those of one group.

    Args:
        n: images.
        groups: groups.
        c: channels in.
        o: channels out.
        image: height and width.
        window: height and width.
        stride: down and across.
        padding: likewise.
        dilation: likewise.
        bias: whether there is one.
    """

    n: int
    groups: int
    c: int
    o: int
    image: tuple[int, int]
    window: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    bias: bool

    @property
    def padded(self) -> tuple[int, int]:
        """The image with its padding."""
        return (self.image[0] + 2 * self.padding[0], self.image[1] + 2 * self.padding[1])

    @property
    def result(self) -> tuple[int, int]:
        """Height and width of the result."""
        down, across = ((whole - d * (k - 1) - 1) // s + 1 for whole, k, s, d in zip(
            self.padded, self.window, self.stride, self.dilation, strict=True))
        return down, across

    @property
    def taps(self) -> int:
        """Terms of a sum."""
        return self.c * self.window[0] * self.window[1]

    def scratch(self, machine: Machine) -> int:
        """Floats that the function needs: padded channels, and a strip."""
        planes = self.c * self.padded[0] * self.padded[1] if any(self.padding) else 0
        return planes + self.taps * columns(machine)


def conv_text(p: Conv, machine: Machine) -> str:
    """The function: image, weight, bias where there is one, result, scratch."""
    out = Loops(machine, 4 + p.bias)
    result, scratch = f"%a{2 + p.bias}", f"%a{3 + p.bias}"
    plane, size = p.image[0] * p.image[1], p.result[0] * p.result[1]
    with out.loop(p.n) as n, out.loop(p.groups) as g:
        source = out.at("%a0", out.offset((n, p.groups * p.c * plane), (g, p.c * plane)))
        weight = out.at("%a1", out.offset((g, p.o * p.taps)))
        bias = out.at("%a2", out.offset((g, p.o))) if p.bias else ""
        to = out.at(result, out.offset((n, p.groups * p.o * size), (g, p.o * size)))
        strip = scratch
        if any(p.padding):
            strip = out.at(scratch, str(p.c * p.padded[0] * p.padded[1]))
            _pad(out, p, source, scratch)
            source = scratch
        wide = columns(machine)
        for first, strips, width in even_rows(size, wide):
            with out.loop(strips) as s:
                pixel = out.offset((s, width), start=first)
                _gather(out, p, source, strip, pixel, width)
                _multiply(out, p, weight, bias, strip, out.at(to, pixel), width)
    return out.text()


def _pad(out: Loops, p: Conv, source: str, to: str) -> None:
    """Copy the channels into planes with zeros around."""
    high, wide = p.padded
    with out.loop(p.c * high * wide) as k:
        out.store(ZERO, out.at(to, k))
    with out.loop(p.c) as c, out.loop(p.image[0]) as y, out.loop(p.image[1]) as x:
        value = out.load(out.at(source, out.offset((c, p.image[0] * p.image[1]),
                                                   (y, p.image[1]), (x, 1))))
        start = p.padding[0] * wide + p.padding[1]
        out.store(value, out.at(to, out.offset((c, high * wide), (y, wide), (x, 1),
                                               start=start)))


def _gather(out: Loops, p: Conv, source: str, strip: str, pixel: str, width: int) -> None:
    """All taps of the strip's pixels, pixels side by side."""
    high, wide = p.padded
    table = out.variable(f"[{width} x i64]")
    with out.loop(width) as j:
        at = out.offset((pixel, 1), (j, 1))
        y = out.add(f"udiv i64 {at}, {p.result[1]}")
        x = out.add(f"sub i64 {at}, {out.add(f'mul i64 {y}, {p.result[1]}')}")
        start = out.offset((y, p.stride[0] * wide), (x, p.stride[1]))
        out.store(start, out.at(table, j, "i64"), "i64", 8)
    with out.loop(p.c) as c, out.loop(p.window[0]) as ky, out.loop(p.window[1]) as kx:
        tap = out.offset((c, high * wide), (ky, p.dilation[0] * wide), (kx, p.dilation[1]))
        source_at = out.at(source, tap)
        area = p.window[0] * p.window[1]
        row = out.offset((c, area), (ky, p.window[1]), (kx, 1))
        row_at = out.at(strip, out.offset((row, columns(out.machine))))
        with out.loop(width) as j:
            start = out.load(out.at(table, j, "i64"), "i64", 8)
            out.store(out.load(out.at(source_at, start)), out.at(row_at, j))


def _multiply(out: Loops, p: Conv, weight: str, bias: str, strip: str, to: str, width: int
              ) -> None:
    """All channels of the strip's pixels."""
    size = p.result[0] * p.result[1]
    for first, tiles, height in even_rows(p.o, rows(out.machine)):
        with out.loop(tiles) as t:
            channel = out.offset((t, height), start=first)
            tile = Tile(out, height, width, (p.taps, 1), columns(out.machine), False)
            starts = None
            if p.bias:
                starts = [out.splat(out.load(out.at(out.at(bias, channel), str(i))), tile.lanes)
                          for i in range(height)]
            tile.start(starts)
            tile.run(out.at(weight, out.offset((channel, p.taps))), strip, p.taps)
            for i in range(height):
                at = out.at(to, out.offset((channel, size), start=i * size))
                for v, value in enumerate(tile.values(i)):
                    out.store_part(value, out.at(at, str(v * tile.lanes)), tile.parts[v],
                                   tile.lanes)
