"""What the representation knows about each operator: the core's table, and two rows of its own.

``view_write`` is what writing into a view means to its base: the base with the elements that the
view shows replaced. ``fused`` is a region of pointwise nodes run as one loop.
"""

from __future__ import annotations

from functools import cache

from flambeau.core.opdefs import OPDEFS, OpDef
from flambeau.core.opdefs.make import kernel
from flambeau.jit import bridge

FUSED = "fused"
VIEW_WRITE = "view_write"

_OWN = (
    kernel(f"{VIEW_WRITE}(Tensor self, Tensor new, Object steps)", out=False, forms=(),
           doc="``self`` with the elements of a view of it replaced."),
    kernel(f"{FUSED}(Tensors inputs)", out=False, forms=(), doc="A region run as one loop."),
)

#: Operators whose result shape depends on values.
DATA_DEPENDENT = frozenset({"nonzero", "masked_select"})


@cache
def _table() -> dict[str, OpDef]:
    return {row.key: row for row in (*OPDEFS, *_OWN)}


def find_row(key: str) -> OpDef | None:
    """The row with this key: built in, of this package, or registered at run time."""
    row = _table().get(key)
    return row if row is not None else bridge.registered_row(key)


def is_random(key: str) -> bool:
    """Whether a node draws random numbers: it may be neither merged nor dropped nor moved."""
    row = find_row(key)
    return row is None or any(param.role == "Generator" for param in row.params)


def written_params(key: str) -> tuple[int, ...]:
    """The numbers of the parameters a functional call writes to.

    A pointwise row writes only when it is given targets: without, its results are new tensors.
    """
    row = find_row(key)
    if row is None or row.category == "pointwise":
        return ()
    return tuple(number for number, param in enumerate(row.params) if param.writes)


def is_pure(key: str) -> bool:
    """Whether equal arguments give equal results and nothing else happens."""
    return find_row(key) is not None and not is_random(key)
