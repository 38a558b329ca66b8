"""For which sizes a function does the same: recorded beside the example's, and further away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.jit.errors import TraceError
from flambeau.jit.ir import RAISES, TRIED, Graph, Limits
from flambeau.jit.recording.unify import find_bounds, unify
from flambeau.jit.tree import Spec, text_of

#: How much sizes grow: each alone, then all together. Where a size is near a bound, less or down.
#: In this order no counter of calls passes for a multiple of a size.
STEPS = ((3, 1), (2, 1), (-2, -1))

#: How many sizes to each side are tried where each may be another case.
AROUND = 16

#: How many times as great as the sizes around another one is that is tried as well.
FAR = 5

Record = Callable[[Mapping[str, int], Sequence[Any]], tuple[Graph, Spec]]


class Recordings:
    """A function recorded at several sizes.

    Args:
        record: records it at sizes, with other gradients in some leaves than there are.
        leaves: those leaves; their gradients are as they are in the first recording.
        samples: the sizes.
        where: the function's line.
    """

    def __init__(
        self, record: Record, leaves: Sequence[Any], samples: list[dict[str, int]], where: str
    ) -> None:
        self.where = where
        self.record = record
        self.leaves = leaves
        self.samples = samples
        self.recorded = [record(sizes, leaves if n else ()) for n, sizes in enumerate(samples)]

    def joined(self, more: Sequence[tuple[dict[str, int], tuple[Graph, Spec]]] = ()) -> Any:
        """One graph for these sizes and more, and the structure of the result.

        Raises:
            TraceError: the recordings differ in more than sizes.
        """
        samples = [*self.samples, *(sizes for sizes, _ in more)]
        recorded = [*self.recorded, *(found for _, found in more)]
        gives = recorded[0][1]
        if any(text_of(other) != text_of(gives) for _, other in recorded):
            raise TraceError(
                f"{self.where}: the result is not built the same, or holds other numbers, for the "
                f"sizes {samples}: return tensors, and numbers that do not depend on sizes"
            )
        return unify([graph for graph, _ in recorded], samples), gives

    def limits(self, name: str, most: int) -> Limits:
        """Between which sizes of a symbol the function does the same."""
        known = [sizes[name] for sizes in self.samples]
        low, high = min(known), max(known)
        bounds = find_bounds([graph for graph, _ in self.recorded], self.samples)
        if bounds.uncertain:
            return self.each(name, low, high, bounds.uncertain, most)
        lines = bounds.lines[name]
        near = {size + by for size in lines for by in (-1, 0, 1, 2)}
        for size in sorted(near & set(range(low, high)) - set(known)):
            why = self.differs(name, size)
            if why:
                raise TraceError(why)
        down = {low // 2, low // 4, 3, 2, 1} | near
        up = {high << n for n in range(1, 13) if high << n <= most} | {
            size for size in near if size <= max(most, 2**16)}
        first, below = self.edge(name, low, sorted(down & set(range(1, low)), reverse=True))
        last, above = self.edge(name, high, sorted(size for size in up if size > high))
        far = min((size for size in lines if size > max(most, 2**16) - 3), default=None)
        if far is not None and not above:
            last, above = far - 2, f"{lines[far]}: the size is compared here"
        return Limits(first, last if above else None, below, above)

    def each(self, name: str, low: int, high: int, where: str, most: int) -> Limits:
        """The limits where each size may be another case: those around that were all tried.

        Some far away are tried as well. They move no limit, but say why there is one.
        """
        inside = {sizes[name] for sizes in self.samples}
        for size in set(range(low, high)) - inside:
            why = self.differs(name, size)
            if why:
                raise TraceError(why)
        first, below = self.edge(name, low, range(low - 1, max(low - AROUND, 1) - 1, -1))
        last, above = self.edge(name, high, range(high + 1, high + AROUND + 1))
        below = below or self.differs(name, 1)
        for size in (FAR * high, most):
            if not above and last < size <= most:
                above = self.differs(name, size)
        why = f"{where}: what is computed from the size by //, %, int(), len() or the like " \
            f"decides here, {TRIED}"
        return Limits(first, last, below or why, above or why)

    def edge(self, name: str, good: int, probes: Sequence[int]) -> tuple[int, str]:
        """The last size towards the probes that gives the same, and why the next does not."""
        for probe in probes:
            why = self.differs(name, probe)
            if not why:
                good = probe
                continue
            while abs(probe - good) > 1:
                middle = (probe + good) // 2
                found = self.differs(name, middle)
                if found:
                    probe, why = middle, found
                else:
                    good = middle
            return good, why
        return good, ""

    def differs(self, name: str, size: int) -> str:
        """Why a size does not give the same; empty where it does."""
        sizes = {**self.samples[0], name: size}
        try:
            self.joined([(sizes, self.record(sizes, self.leaves))])
        except MemoryError:
            return ""
        except TraceError as error:
            return str(error)
        except Exception as error:
            return f"{RAISES}{type(error).__name__}: {error}"
        return ""
