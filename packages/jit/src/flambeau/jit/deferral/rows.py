"""Which part of a piece belongs to each row of a chain.

A chain runs block by block of its rows: the elements of one index of the leading dimensions. A
piece takes part where those dimensions are one row stride, or where all rows share it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.jit.deferral.pieces import Call, Piece
from flambeau.jit.llvm.grid import broadcast_strides

#: Kernels whose rows are those of their result.
_BY_RESULT = ("classes", "lookup")


@dataclass(frozen=True)
class RowPart:
    """One row of a piece.

    Args:
        stride: bytes from row to row; 0 where all rows share the piece.
        shape: sizes of a row.
        strides: in elements.
        has_rows: whether a kernel is given rows of it, and not the piece itself.
    """

    stride: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    has_rows: bool = True

    def extent(self, size: int) -> int:
        """Bytes from a row's first to after its last element, of ``size`` bytes."""
        pairs = zip(self.shape, self.strides, strict=True)
        return (sum((n - 1) * stride for n, stride in pairs) + 1) * size


def leading(shape: Sequence[int], rows: int) -> int | None:
    """How many leading dimensions are so many rows."""
    count = 1
    for number, size in enumerate(shape):
        if count == rows:
            return number
        count *= size
    return len(shape) if count == rows else None


def part_of(piece: Piece, lead: int) -> RowPart | None:
    """A piece cut after some leading dimensions; ``None`` where no single stride leads to rows."""
    stride = _merged(piece.shape[:lead], piece.strides[:lead])
    if stride is None:
        return None
    return RowPart(stride * piece.size, piece.shape[lead:], piece.strides[lead:])


def operand_part(piece: Piece, shape: Sequence[int], lead: int) -> RowPart | None:
    """The same for a piece that broadcasts to a shape."""
    full = broadcast_strides(shape, piece.shape, piece.strides, 1)
    stride = _merged(shape[:lead], full[:lead])
    if stride is None:
        return None
    return RowPart(stride * piece.size, tuple(shape[lead:]), full[lead:])


def turned_part(
    piece: Piece, shape: Sequence[int], rows: int
) -> tuple[RowPart, tuple[int, int]] | None:
    """A row of a piece that broadcasts over some of the dimensions that are rows.

    Returns:
        The row, after how many rows its stride starts anew, and bytes from one such run to the
        next. ``None`` where two strides do not lead to all rows.
    """
    lead = leading(shape, rows)
    if lead is None:
        return None
    full = broadcast_strides(shape, piece.shape, piece.strides, piece.size)
    runs: list[tuple[int, int]] = []
    for size, stride in zip(shape[:lead], full[:lead], strict=True):
        if runs and runs[-1][1] == stride * size:
            size *= runs.pop()[0]
        if size != 1:
            runs.append((size, stride))
    if len(runs) != 2:
        return None
    (_, far), (count, near) = runs
    strides = broadcast_strides(shape, piece.shape, piece.strides, 1)[lead:]
    return RowPart(near, tuple(shape[lead:]), strides), (count, far)


def _merged(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """The one stride of dimensions that are stepped through as one."""
    dims = [(size, stride) for size, stride in zip(shape, strides, strict=True) if size != 1]
    if not dims:
        return 0
    for (_, stride), (inner, step) in zip(dims, dims[1:], strict=False):
        if stride != step * inner:
            return None
    return dims[-1][1]


def model_of(call: Call) -> Piece:
    """The piece whose leading dimensions are the rows of a kernel that has some."""
    return call.outs[0] if call.opdef.rows in _BY_RESULT else call.reads[0]


def row_lead(call: Call) -> int:
    """After how many dimensions of its model a kernel's rows begin; 0: it has none."""
    if not call.reads:
        return 0
    ndim = len(call.reads[0].shape)
    if call.opdef.rows == "lookup":
        return len(call.outs[0].shape) - (ndim - 1)
    if call.opdef.rows == "classes":
        return len(call.outs[0].shape) - 1
    if call.opdef.rows == "axes":
        return int(ndim - call.argument("axes"))
    dim = call.argument("dim") if call.opdef.rows == "dim" else None
    dims = (dim,) if isinstance(dim, int) else tuple(dim or ())
    sizes = [call.reads[0].shape[d] for d in dims] if ndim else []
    if math.prod(sizes) == 1:       # kernels may not see such dimensions
        return 0
    return min(((d + ndim) % ndim for d in dims), default=0)


def row_count(call: Call) -> int:
    """How many rows a kernel has; 0: none."""
    if call.is_by_element:
        return math.prod(call.outs[0].shape)
    if call.is_total:
        return math.prod(call.reads[0].shape)
    if call.width:
        return math.prod(call.reads[0].shape) // call.width
    lead = row_lead(call)
    if not lead:
        return int(bool(call.device) and call.has_one_row)
    return math.prod(model_of(call).shape[:lead])


def call_parts(call: Call, rows: int) -> list[RowPart | None] | None:
    """The rows of a kernel's pieces, arguments first; an entry is ``None`` for what is no tensor.

    ``None`` where one of them cannot be cut.
    """
    if call.is_gathered:
        row = RowPart(call.reads[0].size, (), ())
        if call.width:
            row = RowPart(call.reads[0].size * call.width, (call.width,), (1,))
        return [row, *(None for _ in (*call.args[1:], *call.outs))]
    lead = row_lead(call)
    parts: list[RowPart | None] = []
    for number, value in enumerate((*call.args, *call.outs)):
        part = None
        if isinstance(value, Piece):
            part = _shared(call, value, number) or _kernel_part(call, value, lead, rows)
            if part is None:
                return None
        parts.append(part)
    return parts


def _shared(call: Call, piece: Piece, number: int) -> RowPart | None:
    """An argument of kernels over numbers of rows or classes that all rows need whole."""
    params = call.opdef.params
    is_shared = call.opdef.rows == "lookup" and number == 0
    if call.opdef.rows == "classes" and number < len(params):
        is_shared = not piece.shape or params[number].name in ("weight", "total_weight")
    return RowPart(0, piece.shape, piece.strides, has_rows=False) if is_shared else None


def _kernel_part(call: Call, piece: Piece, lead: int, rows: int) -> RowPart | None:
    if call.is_by_element:
        shape = call.outs[0].shape
        found = leading(shape, rows)
        return None if found is None else operand_part(piece, shape, found)
    if call.opdef.rows == "axes" and len(piece.shape) == len(call.reads[0].shape) - lead:
        return RowPart(0, piece.shape, piece.strides, has_rows=False)
    part = part_of(piece, lead)
    return part if part is not None and _is_dense(part, piece.size, rows) else None


def _is_dense(part: RowPart, size: int, rows: int) -> bool:
    """Whether a row's elements lie side by side, apart from other rows.

    Then the core's kernels take the same path, to the same bits, however many rows there are.
    """
    step = 1
    for n, stride in zip(reversed(part.shape), reversed(part.strides), strict=True):
        if n != 1 and stride != step:
            return False
        step *= n
    return rows == 1 or part.stride >= step * size


def counted_from_end(call: Call) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The arguments that number dimensions, in a way that fewer leading ones do not change."""
    if call.opdef.rows != "dim":
        return ()
    ndim = len(call.reads[0].shape)
    position = next(k for k, p in enumerate(call.opdef.params) if p.name == "dim")
    dim = call.args[position]
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return ((position, tuple((d + ndim) % ndim - ndim for d in dims)),)
