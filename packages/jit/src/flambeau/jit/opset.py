"""What the representation knows about each operator: the core's table, and two definitions of its
own.

``view_write`` is what writing into a view means to its base: the base with the elements that the
view shows replaced. ``fused`` is a region of pointwise nodes run as one loop.
"""

from __future__ import annotations

from functools import cache

from flambeau.core.opdefs import OpDef, by_name
from flambeau.core.opdefs.make import kernel
from flambeau.jit import bridge

FUSED = "fused"
VIEW_WRITE = "view_write"

_OWN = (
    kernel(f"{VIEW_WRITE}(Tensor self, Tensor new, Object steps)", out=False, forms=(),
           doc="``self`` with the elements of a view of it replaced."),
    kernel(f"{FUSED}(Tensors inputs)", out=False, forms=(), doc="A region run as one loop."),
)


@cache
def _built_in(key: str) -> OpDef | None:
    for opdef in _OWN:
        if opdef.key == key:
            return opdef
    try:
        return by_name(key)
    except KeyError:
        return None


def find_opdef(key: str) -> OpDef | None:
    """The definition with this key: built in, of this package, or registered at run time."""
    opdef = _built_in(key)
    return opdef if opdef is not None else bridge.registered_opdef(key)


def is_random(key: str) -> bool:
    """Whether a node draws random numbers: it may be neither merged nor dropped nor moved."""
    opdef = find_opdef(key)
    return opdef is None or opdef.random


def written_params(key: str) -> tuple[int, ...]:
    """The numbers of the parameters a functional call writes to.

    A pointwise operator writes only when it is given targets: without, its results are new tensors.
    """
    opdef = find_opdef(key)
    if opdef is None or opdef.category == "pointwise":
        return ()
    return tuple(number for number, param in enumerate(opdef.params) if param.writes)


def is_pure(key: str) -> bool:
    """Whether equal arguments give equal results and nothing else happens."""
    return find_opdef(key) is not None and not is_random(key)
