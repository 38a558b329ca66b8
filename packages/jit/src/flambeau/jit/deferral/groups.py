"""Chains of calls: what runs over the same rows, in an order that keeps every result."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from flambeau.core._core import get_num_threads
from flambeau.jit.deferral.epilogues import may_follow
from flambeau.jit.deferral.loops import Loop, is_loop
from flambeau.jit.deferral.pieces import ROW_PIECE, Call, Piece
from flambeau.jit.deferral.rows import (
    RowPart,
    call_parts,
    leading,
    operand_part,
    row_count,
)

#: How far back a call may move, over others that it has nothing to do with.
REACH = 8
#: Fewer rows do not make enough blocks for all threads of the CPU.
FEWEST_ROWS = 16


@dataclass(eq=False)
class Kernel:
    """One call of the core's own kernel.

    Args:
        call: the call.
    """

    call: Call

    @property
    def is_in_rows(self) -> bool:
        """Whether its definition says that it may run in rows; on devices reductions alone do."""
        return bool(self.call.opdef.rows) and (not self.device
                                               or self.call.opdef.rows in ("dim", "axes"))

    @property
    def device(self) -> int:
        """Where it runs."""
        return self.call.device

    @property
    def reads(self) -> Sequence[Piece]:
        """What it reads."""
        return self.call.reads

    @property
    def writes(self) -> Sequence[Piece]:
        """What it writes."""
        return self.call.outs

    @property
    def loads(self) -> dict[Piece, int]:
        """Its tensors, and the number of the value of each."""
        return {arg: number for number, arg in enumerate(self.call.args, self.call.first)
                if isinstance(arg, Piece)}

    @property
    def made(self) -> dict[Piece, int]:
        """Its results, and the number of the value of each."""
        first = self.call.first + len(self.call.args)
        return {piece: first + k for k, piece in enumerate(self.call.outs)}

    @property
    def name(self) -> str:
        """For people."""
        return self.call.op


@dataclass(eq=False)
class Group:
    """Loops and kernels in order.

    Args:
        rows: how many rows they share; 0 while there is only one item.
        items: the loops and kernels.
        is_open: whether others may join.
    """

    rows: int = 0
    items: list[Loop | Kernel] = field(default_factory=list)
    is_open: bool = True

    @property
    def reads(self) -> list[Piece]:
        """What they read."""
        return [piece for item in self.items for piece in item.reads]

    @property
    def writes(self) -> list[Piece]:
        """What they write."""
        return [piece for item in self.items for piece in item.writes]

    def takes(self, item: Loop | Kernel) -> bool:
        """Join a call if it may: as part of the last loop, or as an item of the same rows."""
        if not self.is_open or item.device != self.items[0].device:
            return False
        if isinstance(item, Loop):
            return self._joins_loop(item) or self._continues(item)
        own = row_count(item.call) if item.is_in_rows else 0
        if not own or (_is_by_element(item) and not self._concerns(item)):
            return False
        if not self._may_reduce(item):
            return False
        return (self._appends(item, self.rows or own)
                or (self.is_by_element and self._appends(item, own)))

    def _continues(self, item: Loop) -> bool:
        """Join a loop of another shape over the same rows: of these, if there are some, else of
        what both have in front, where it reads what these loops wrote."""
        if self.rows:
            return self._concerns(item) and self._appends(item, self.rows)
        last = self.items[-1]
        if not isinstance(last, Loop) or item.device or last.shape == item.shape:
            return False
        if not any(read.overlaps(made) for read in item.reads for made in last.writes):
            return False
        return self._appends(item, _shared_rows(last.shape, item.shape))

    def _concerns(self, item: Loop | Kernel) -> bool:
        """Whether an item is better off here: not with other elements, of other memory.

        Blocks of what is reduced to one number have many elements, so that those of several
        reductions would not stay in the nearest cache.
        """
        sizes = {math.prod(piece.shape) for piece in (*self.writes, *item.writes)}
        is_alike = len(sizes) == 1 and not self.has_total
        return not self.is_by_element or is_alike or self._shares(item)

    @property
    def reduces_rows(self) -> bool:
        """Whether a kernel reduces all rows to one."""
        return any(isinstance(item, Kernel) and item.call.width for item in self.items)

    def _may_reduce(self, other: Kernel | Group) -> bool:
        """Whether rows that are reduced are those of loops: kernels have functions of their own."""
        reduces = other.call.width > 0 if isinstance(other, Kernel) else other.reduces_rows
        if not reduces and not self.reduces_rows:
            return True
        items = (*self.items, *([other] if isinstance(other, Kernel) else other.items))
        return self._shares(other) and all(_is_by_element(item) or _is_even(item)
                                           for item in items)

    def _shares(self, other: Loop | Kernel | Group) -> bool:
        """Whether both use some memory."""
        own = {piece.storage for piece in (*self.reads, *self.writes)}
        return any(piece.storage in own for piece in (*other.reads, *other.writes))

    @property
    def is_by_element(self) -> bool:
        """Whether the rows are elements, and may as well be longer."""
        return all(map(_is_by_element, self.items))

    @property
    def has_total(self) -> bool:
        """Whether a kernel reduces all elements."""
        return any(isinstance(item, Kernel) and item.call.is_total for item in self.items)

    def _joins_loop(self, item: Loop) -> bool:
        call = item.calls[0]
        if self.has_total and not self._shares(item):
            return False
        for own in reversed(self.items):
            if isinstance(own, Loop) and own.takes(call):
                if self.rows and not self._fits(item, self.rows):
                    return False
                own.add(call)
                return True
            if call.meets(own.reads, own.writes):
                break
        return False

    def _appends(self, item: Loop | Kernel, rows: int) -> bool:
        if not self._fits(item, rows):
            return False
        self.rows = rows
        apart = not item.reads and not any(
            one.overlaps(other) for one in item.writes for other in (*self.reads, *self.writes))
        self.items.insert(0 if apart else len(self.items), item)     # loops after it stay together
        return True

    def precedes_with(self, other: Group) -> bool:
        """Take the items of the group that stands before, if all of them may run in these rows."""
        if other.rows not in (0, self.rows) and not (other.is_by_element
                                                     and self._shares(other)):
            return False
        kernels = [item for item in other.items if isinstance(item, Kernel)]
        if not all(item.is_in_rows for item in kernels) or not self._may_reduce(other):
            return False
        if not all(self._fits(item, self.rows) for item in other.items):
            return False
        self.items[:0] = other.items
        return True

    def _fits(self, item: Loop | Kernel, rows: int) -> bool:
        """Whether an item may run block by block of the rows, after all others."""
        if rows < (1 if item.device else FEWEST_ROWS):
            return False
        own = parts_of(item, rows)
        if own is None:
            return False
        gathers = isinstance(item, Kernel) and item.call.is_gathered    # whose result is no row
        for each in self.items if gathers else (*self.items, item):
            parts = parts_of(each, rows)
            if parts is None or not (rows == 1 or _keep_apart(own, item.writes, parts,
                                                              each.writes)):
                return False
        return True


@dataclass(eq=False)
class ProductGroup(Group):
    """A product or convolution, and the loop that runs over its result while that is made."""

    def takes(self, item: Loop | Kernel) -> bool:
        """Join a call if it may be part of that loop."""
        if isinstance(item, Kernel) or item.device or not self._may_follow(item):
            return False
        if len(self.items) > 1:
            return self._joins_loop(item)
        self.items.append(item)
        return True

    def _may_follow(self, item: Loop) -> bool:
        product = self.items[0]
        assert isinstance(product, Kernel)
        return may_follow(product.call, item, reads=len(self.items) == 1)


def _shared_rows(one: Sequence[int], other: Sequence[int]) -> int:
    """Rows of two shapes: the elements of the dimensions in front that are the same."""
    rows = 1
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        rows *= a
    return rows


def _is_even(item: Loop | Kernel) -> bool:
    """Whether an item reduces rows, and threads that take whole pieces have much the same."""
    if isinstance(item, Loop) or not item.call.width:
        return False
    rows, threads = row_count(item.call), get_num_threads()
    turns = -(-rows // (ROW_PIECE * threads))
    return 5 * rows >= 4 * turns * threads * ROW_PIECE


def _is_by_element(item: Loop | Kernel) -> bool:
    """Whether an item may run whatever elements it is given."""
    return isinstance(item, Loop) or item.call.is_by_element or item.call.is_total


def parts_of(item: Loop | Kernel, rows: int) -> dict[Piece, RowPart | None] | None:
    """The rows of an item's pieces: ``None`` for what is read in some other order.

    ``None`` altogether where the item cannot run in rows; results of kernels have to lie row after
    row, and those of loops have one stride from row to row.
    """
    if isinstance(item, Kernel):
        if not all(piece.is_contiguous for piece in item.writes):
            return None
        if not item.is_in_rows or not (item.call.is_by_element
                                       or row_count(item.call) == rows):
            return None
        of_values = call_parts(item.call, rows)
        if of_values is None:
            return None
        values = (*item.call.args, *item.call.outs)
        return {value: part for value, part in zip(values, of_values, strict=True)
                if isinstance(value, Piece)}
    lead = leading(item.shape, rows)
    if lead is None:
        return None
    parts = {piece: operand_part(piece, item.shape, lead) for piece in (*item.loads, *item.made)}
    return None if any(parts[piece] is None for piece in item.made) else parts


def _keep_apart(one: dict[Piece, RowPart | None], one_writes: Sequence[Piece],
                other: dict[Piece, RowPart | None], other_writes: Sequence[Piece]) -> bool:
    """Whether the rows of one item meet only the same rows of another."""
    return (all(_same_rows(piece, part, written, other[written])
                for written in other_writes for piece, part in one.items())
            and all(_same_rows(piece, part, written, one[written])
                    for written in one_writes for piece, part in other.items()))


def _same_rows(a: Piece, a_part: RowPart | None, b: Piece, b_part: RowPart | None) -> bool:
    """Whether what two pieces share of each row belongs to that row in both."""
    if not a.overlaps(b):
        return True
    if a_part is None or b_part is None or a_part.stride != b_part.stride or not a_part.stride:
        return False
    first = min(a.start, b.start)
    return max(piece.start - first + part.extent(piece.size)
               for piece, part in ((a, a_part), (b, b_part))) <= a_part.stride


def gather(calls: Sequence[Call], held: Collection[int]) -> list[Group]:
    """Groups in an order in which each comes after what it depends on.

    Args:
        calls: what waited.
        held: the storages that somebody holds.
    """
    groups: list[Group] = []
    for call in calls:
        item = _item_of(call, held)
        before, joins = len(groups), False
        for group in reversed(groups[-REACH:]):
            joins = group.takes(item)
            if joins or call.meets(group.reads, group.writes):
                break
            before -= 1
        if not joins:
            groups.insert(before if _is_number(item) else len(groups), _group_of(item))
    return _joined(groups)


def _is_number(item: Loop | Kernel) -> bool:
    """Whether an item makes single numbers: made early, they part no loops that read them."""
    return all(math.prod(piece.shape) == 1 for piece in (*item.reads, *item.writes))


def _joined(groups: Sequence[Group]) -> list[Group]:
    """Groups, in which what stands right before one with rows belongs to it, if it may."""
    found: list[Group] = []
    for group in reversed(groups):
        if not (found and found[-1].rows and found[-1].precedes_with(group)):
            found.append(group)
    return found[::-1]


def _item_of(call: Call, held: Collection[int]) -> Loop | Kernel:
    if not is_loop(call):
        return Kernel(call)
    loop = Loop(call.outs[0].shape, held)
    loop.add(call)
    return loop


def _group_of(item: Loop | Kernel) -> Group:
    if isinstance(item, Loop):
        return Group(items=[item])
    if item.call.opdef.epilogue:
        return ProductGroup(items=[item])
    group = Group(is_open=False)
    rows = row_count(item.call) if item.is_in_rows else 0
    group.is_open = group._appends(item, rows)
    if not group.is_open:
        group.items.append(item)
    return group
