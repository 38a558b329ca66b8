"""Matrix products, with the sums of the core's kernels (``docs/design/products.md``).

A sum has slabs of 256 terms, each from its first term to its last with fused multiply-add; or, with
few rows and many terms, vectors along the terms whose elements are added by halves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flambeau.jit.ahead.loops import MINUS_ZERO, ZERO, Loops
from flambeau.jit.llvm.machine import Machine

#: Terms of a slab.
SLAB = 256
#: Vectors along the terms: from so many terms on, with at most so many rows (with many terms).
MIN_TERMS, MANY_TERMS, FEW_ROWS, FEW_ROWS_OF_MANY = 64, 1024, 16, 32
#: Rows of a tile by the bits of a vector; tiles are two vectors wide.
_ROWS = {512: 14, 256: 6, 128: 8}
VECTORS = 2


@dataclass(frozen=True)
class Shape:
    """A batch of products ``c[m, n] = a[m, k] @ b[k, n]``; strides in elements.

    Args:
        m: rows.
        n: columns.
        k: terms.
        a: strides of a row and of a term.
        b: strides of a term and of a column; where ``packed``, of nothing.
        c: stride of a row; columns lie side by side.
        batch: sizes and the three operands' strides of further dimensions.
        packed: whether ``b`` lies in panels of columns (``pack``).
        bias: whether a row is added.
        scale: whether each row is multiplied with a number, at the end.
        form: ``dot`` or ``tile``; empty: as the core decides.
    """

    m: int
    n: int
    k: int
    a: tuple[int, int]
    b: tuple[int, int]
    c: int
    batch: tuple[tuple[int, int, int, int], ...] = ()
    packed: bool = False
    bias: bool = False
    scale: bool = False
    form: str = ""

    def is_dot(self, machine: Machine) -> bool:
        """Whether sums run along vectors, as ``choose_form`` of the core says."""
        if self.form:
            return self.form == "dot"
        swapped = self.n <= FEW_ROWS and self.n < self.m
        rows, term = (self.n, self.a[1]) if swapped else (self.m, self.b[0])
        most = FEW_ROWS_OF_MANY if self.k >= MANY_TERMS else FEW_ROWS
        if machine.vector_bits == 512:  # two vectors of terms for each row
            most = min(most, self.k // 32)
        return term == 1 and self.k >= MIN_TERMS and rows <= most


def columns(machine: Machine) -> int:
    """Columns of a tile and of a packed panel."""
    return VECTORS * machine.vector_bits // 32


def rows(machine: Machine) -> int:
    """Rows of a tile."""
    return _ROWS[machine.vector_bits]


class Tile:
    """Writes one tile: sums over all terms of some rows and columns.

    Args:
        out: where to.
        height: rows.
        width: columns, at most two vectors.
        a_steps: elements of ``a`` from row to row and from term to term.
        b_step: elements of ``b`` from term to term.
        exact: whether ``b`` ends with its columns, so that no more may be read.
    """

    def __init__(self, out: Loops, height: int, width: int, a_steps: tuple[int, int], b_step: int,
                 exact: bool) -> None:
        self.out, self.height, self.width = out, height, width
        self.a_steps, self.b_step, self.exact = a_steps, b_step, exact
        self.lanes = out.machine.vector_bits // 32
        self.kind = out.vector(self.lanes)
        self.parts = [min(self.lanes, width - first) for first in range(0, width, self.lanes)]
        self.sums = [[out.variable(self.kind) for _ in self.parts] for _ in range(height)]

    def start(self, values: list[str] | None = None) -> None:
        """Give each row its first sum, or 0."""
        for number, row in enumerate(self.sums):
            value = "zeroinitializer" if values is None else values[number]
            for sum_ in row:
                self.out.store(value, sum_, self.kind, 64)

    def run(self, a: str, b: str, terms: int) -> None:
        """Add the products of so many terms."""
        out = self.out
        unroll = next(u for u in (4, 2, 1) if terms % u == 0 and u * self.height <= 16 or u == 1)
        with out.loop(terms, unroll) as first:
            for more in range(unroll):
                b_at = out.at(b, out.offset((first, self.b_step), start=more * self.b_step))
                row = [self.load(out.at(b_at, str(v * self.lanes)), part)
                       for v, part in enumerate(self.parts)]
                for i, sums in enumerate(self.sums):
                    start = i * self.a_steps[0] + more * self.a_steps[1]
                    at = out.at(a, out.offset((first, self.a_steps[1]), start=start))
                    factor = out.splat(out.load(at), self.lanes)
                    for sum_, right in zip(sums, row, strict=True):
                        value = out.load(sum_, self.kind, 64)
                        out.store(out.fma(factor, right, value, self.lanes), sum_, self.kind, 64)

    def load(self, pointer: str, part: int) -> str:
        return self.out.load_part(pointer, part if self.exact else self.lanes, self.lanes)

    def values(self, row: int) -> list[str]:
        """The sums of a row."""
        return [self.out.load(sum_, self.kind, 64) for sum_ in self.sums[row]]


def product_text(shape: Shape, machine: Machine) -> str:
    """The function: ``a``, ``b``, ``c``, then bias or scale, then memory for panels of ``b``."""
    pointers = 3 + shape.bias + shape.scale
    needs_panels = not shape.packed and not shape.is_dot(machine)
    out = Loops(machine, pointers + needs_panels)
    with out.loops([each[0] for each in shape.batch]) as indices:
        a, b, c = (out.at(f"%a{k}", out.offset(*((index, each[k + 1]) for index, each
                                                in zip(indices, shape.batch, strict=True))))
                   for k in range(3))
        extra = "%a3"
        if shape.scale:
            total, terms = shape.m, []
            for index, each in zip(reversed(indices), reversed(shape.batch), strict=True):
                terms.append((index, total))
                total *= each[0]
            extra = out.at("%a3", out.offset(*terms))
        if shape.is_dot(machine):
            _dots(out, shape, a, b, c)
        else:
            if needs_panels:
                pack(out, shape, b, f"%a{pointers}")
                b = f"%a{pointers}"
            _tiles(out, shape, a, b, c, extra)
    return out.text()


def pack(out: Loops, shape: Shape, b: str, panels: str) -> None:
    """Copy ``b`` into panels of columns, zeros behind the last one."""
    wide = columns(out.machine)
    whole, rest = divmod(shape.n, wide)
    for first, count, width in ((0, whole, wide), (whole, 1, rest)):
        if count == 0 or width == 0:
            continue
        with out.loop(count) as panel, out.loop(shape.k) as k:
            to = out.at(panels, out.offset((panel, shape.k * wide), (k, wide),
                                           start=first * shape.k * wide))
            start = first * wide * shape.b[1]
            source = out.at(b, out.offset((panel, wide * shape.b[1]), (k, shape.b[0]),
                                          start=start))
            with out.loop(width) as j:
                value = out.load(out.at(source, out.offset((j, shape.b[1]))))
                out.store(value, out.at(to, j))
            if width < wide:
                with out.loop(wide - width) as j:
                    out.store(ZERO, out.at(to, out.offset((j, 1), start=width)))


def _tiles(out: Loops, shape: Shape, a: str, b: str, c: str, extra: str) -> None:
    high, wide = rows(out.machine), columns(out.machine)
    for j0, panels, width in ((0, shape.n // wide, wide), (shape.n // wide, 1, shape.n % wide)):
        if not panels or not width:
            continue
        with out.loop(panels) as panel:
            b_at = out.at(b, out.offset((panel, shape.k * wide), start=j0 * shape.k * wide))
            column = out.offset((panel, wide), start=j0 * wide)
            for i0, tiles, height in even_rows(shape.m, high):
                with out.loop(tiles) as tile:
                    a_at = out.at(a, out.offset((tile, height * shape.a[0]),
                                                start=i0 * shape.a[0]))
                    row = out.offset((tile, height), start=i0)
                    c_at = out.at(c, out.offset((row, shape.c), (column, 1)))
                    _one(Tile(out, height, width, shape.a, wide, False), shape, a_at, b_at, c_at,
                         out.at(extra, column if shape.bias else row))


def even_rows(m: int, high: int) -> list[tuple[int, int, int]]:
    """First row, number and height of tiles: whole ones, and one of what is left."""
    whole, rest = divmod(m, high)
    return [each for each in ((0, whole, high), (whole * high, 1, rest)) if each[1] and each[2]]


def _one(tile: Tile, shape: Shape, a: str, b: str, c: str, extra: str) -> None:
    """Slab by slab: what is there of ``c`` is added to, beginning with minus zero."""
    out, slabs, rest = tile.out, shape.k // SLAB, shape.k % SLAB
    if shape.k <= SLAB:
        tile.start()
        tile.run(a, b, shape.k)
        _finish(tile, shape, c, extra, False)
        return
    _each(tile, shape, c, lambda i, v, at: out.store_part(
        f"<{', '.join([f'float {MINUS_ZERO}'] * tile.lanes)}>", at, tile.parts[v], tile.lanes))
    with out.loop(slabs - (rest == 0)) as slab:
        tile.start()
        tile.run(out.at(a, out.offset((slab, SLAB * shape.a[1]))),
                 out.at(b, out.offset((slab, SLAB * tile.b_step))), SLAB)
        sums = [tile.values(i) for i in range(tile.height)]
        _each(tile, shape, c, lambda i, v, at: out.store_part(
            _sum(tile, sums[i][v], at, v), at, tile.parts[v], tile.lanes))
    done = (slabs - (rest == 0)) * SLAB
    tile.start()
    tile.run(out.at(a, str(done * shape.a[1])), out.at(b, str(done * tile.b_step)),
             shape.k - done)
    _finish(tile, shape, c, extra, True)


def _sum(tile: Tile, value: str, pointer: str, v: int) -> str:
    before = tile.out.load_part(pointer, tile.parts[v], tile.lanes)
    return tile.out.add(f"fadd {tile.kind} {value}, {before}")


def _each(tile: Tile, shape: Shape, c: str, act: Callable[[int, int, str], None]) -> None:
    for i in range(tile.height):
        for v in range(len(tile.parts)):
            act(i, v, tile.out.at(c, str(i * shape.c + v * tile.lanes)))


def _finish(tile: Tile, shape: Shape, c: str, extra: str, adds: bool) -> None:
    out = tile.out
    for i in range(tile.height):
        factor = out.splat(out.load(out.at(extra, str(i))), tile.lanes) if shape.scale else ""
        for v, value in enumerate(tile.values(i)):
            at = out.at(c, str(i * shape.c + v * tile.lanes))
            if adds:
                value = _sum(tile, value, at, v)
            if shape.bias:
                added = out.load_part(out.at(extra, str(v * tile.lanes)), tile.parts[v],
                                      tile.lanes)
                value = out.add(f"fadd {tile.kind} {value}, {added}")
            if shape.scale:
                value = out.add(f"fmul {tile.kind} {value}, {factor}")
            out.store_part(value, at, tile.parts[v], tile.lanes)


def _dots(out: Loops, shape: Shape, a: str, b: str, c: str) -> None:
    """Blocks of four rows and columns at most, whose terms are read where they lie."""
    for i0, row_tiles, height in even_rows(shape.m, 4 if out.machine.vector_bits == 512 else 2):
        for j0, column_tiles, width in even_rows(shape.n, 4):
            with out.loop(row_tiles) as r, out.loop(column_tiles) as s:
                row = out.offset((r, height), start=i0)
                column = out.offset((s, width), start=j0)
                sums = _dot_sums(out, shape, out.at(a, out.offset((row, shape.a[0]))),
                                 out.at(b, out.offset((column, shape.b[1]))), height, width)
                for i in range(height):
                    for j in range(width):
                        value = across(out, sums[i][j])
                        if shape.bias:
                            added = out.load(out.at("%a3", out.offset((column, 1), start=j)))
                            value = out.add(f"fadd float {value}, {added}")
                        at = out.offset((row, shape.c), (column, 1), start=i * shape.c + j)
                        out.store(value, out.at(c, at))


def _dot_sums(out: Loops, shape: Shape, a: str, b: str, height: int, width: int
              ) -> list[list[str]]:
    lanes = out.machine.vector_bits // 32
    kind = out.vector(lanes)
    sums = [[out.variable(kind) for _ in range(width)] for _ in range(height)]
    for sum_ in (each for row in sums for each in row):
        out.store("zeroinitializer", sum_, kind, 64)

    def step(first: str, count: int) -> None:
        left = [out.load_part(out.at(a, out.offset((first, 1), start=i * shape.a[0])), count,
                              lanes) for i in range(height)]
        for j in range(width):
            right = out.load_part(out.at(b, out.offset((first, 1), start=j * shape.b[1])), count,
                                  lanes)
            for i in range(height):
                value = out.load(sums[i][j], kind, 64)
                out.store(out.fma(left[i], right, value, lanes), sums[i][j], kind, 64)

    whole = shape.k // lanes * lanes
    if whole:
        with out.loop(whole, lanes) as first:
            step(first, lanes)
    if whole < shape.k:
        step(str(whole), shape.k - whole)
    return [[out.load(each, kind, 64) for each in row] for row in sums]


def across(out: Loops, value: str) -> str:
    """The elements of a vector added by halves."""
    width = out.machine.vector_bits // 32
    while width > 1:
        kind, half = out.vector(width), width // 2
        parts = []
        for first in (0, half):
            picks = ", ".join(f"i32 {k}" for k in range(first, first + half))
            parts.append(out.add(f"shufflevector {kind} {value}, {kind} poison, "
                                 f"<{half} x i32> <{picks}>"))
        value = out.add(f"fadd {out.vector(half)} {parts[0]}, {parts[1]}")
        width = half
    return out.add(f"extractelement <1 x float> {value}, i64 0")
