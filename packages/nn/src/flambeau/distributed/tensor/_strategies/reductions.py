"""Sums, means, extremes and norms."""

from __future__ import annotations

from collections.abc import Callable

from .._call import SUM, Call, Strategy, rule
from ..placement_types import NormPartial, Partial, Placement, Shard


def _reduced(call: Call) -> set[int]:
    """The dimensions over which it reduces."""
    ndim = call.inputs[0].ndim
    given = call.kwargs.get("dim")
    if given is None and len(call.args) > 1 and not call.func.name().endswith(".default"):
        given = call.args[1]
    elif given is None and len(call.args) > 1 and call.name in ("amax", "amin", "argmax", "argmin"):
        given = call.args[1]
    if given is None or (isinstance(given, list | tuple) and not given):
        return set(range(ndim))
    dims = [given] if isinstance(given, int) else given
    return {dim % ndim for dim in dims} if ndim else set()


def _kept(call: Call, reduced: set[int]) -> list[Strategy]:
    """Rows of results from rows along dimensions that stay."""
    x, ndim = call.inputs[0], call.outs[0].ndim
    found = []
    for dim in range(x.ndim):
        if dim not in reduced:
            out = dim if ndim == x.ndim else dim - sum(each < dim for each in reduced)
            found.append(Strategy((Shard(out),) * len(call.outs), (Shard(dim),)))
    return found


def _partial(
    call: Call, made: Callable[[], Placement], reduced: set[int], even: bool
) -> list[Strategy]:
    """Results that all processes make together, from rows along dimensions that go."""
    x = call.inputs[0]
    return [Strategy((made(),) * len(call.outs), (Shard(dim),)) for dim in reduced
            if not even or x.shape[dim] % call.size == 0]


@rule("sum")
def total(call: Call) -> list[Strategy]:
    """Sums of rows are summands."""
    reduced = _reduced(call)
    return [*_kept(call, reduced), *_partial(call, Partial, reduced, False),
            Strategy((SUM,), (SUM,))]


@rule("mean")
def mean(call: Call) -> list[Strategy]:
    """Means of equal numbers of rows, and rows of means."""
    reduced = _reduced(call)
    return [*_kept(call, reduced), *_partial(call, lambda: Partial("avg"), reduced, True),
            Strategy((SUM,), (SUM,))]


@rule("amax", "amin")
def extremes(call: Call) -> list[Strategy]:
    """Extremes of rows, and rows of extremes."""
    reduced, op = _reduced(call), call.name[1:]
    return [*_kept(call, reduced), *_partial(call, lambda: Partial(op), reduced, True)]


@rule("max", "min")
def extremes_of_two_kinds(call: Call) -> list[Strategy]:
    """Extremes of all elements, or along a dimension with their indices."""
    if len(call.inputs) == 2:
        return []
    reduced = _reduced(call)
    together = _partial(call, lambda: Partial(call.name), reduced, True)
    return [*_kept(call, reduced), *(together if len(call.outs) == 1 else [])]


@rule("any", "all")
def truths(call: Call) -> list[Strategy]:
    """What holds of rows, and rows of what holds."""
    op = "min" if call.name == "all" else "max"
    reduced = _reduced(call)
    return [*_kept(call, reduced), *_partial(call, lambda: Partial(op), reduced, False)]


@rule("var", "std", "prod", "logsumexp", "argmax", "argmin", "count_nonzero",
      "nansum", "median")
def rows(call: Call) -> list[Strategy]:
    """Rows of results along dimensions that stay."""
    return _kept(call, _reduced(call))


@rule("linalg_vector_norm")
def norms(call: Call) -> list[Strategy]:
    """Norms of rows, and rows of norms."""
    order = call.argument(1, "ord", 2)
    dims = call.argument(2, "dim")
    x = call.inputs[0]
    given = range(x.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
    reduced = {dim % x.ndim for dim in given} if x.ndim else set()
    found = _kept(call, reduced)
    if order > 0:
        found += _partial(call, lambda: NormPartial(order), reduced, order == float("inf"))
    return found
