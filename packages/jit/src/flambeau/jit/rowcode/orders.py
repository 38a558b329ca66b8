"""In which order each reduction takes its elements, as the core's kernels do."""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes of a vector at every level of instructions; see ``native/common/kernels/lanes.h``.
VECTOR_BYTES = 64
#: Vectors that the body of a pass computes side by side.
SETS = 4
#: Rounds of ``SETS`` vectors after which ``native/reduce/kernels/reduce.cpp`` empties its sets.
ROUNDS = 64
#: Elements after which layer normalization does (``native/norm/kernels/norm.cpp``).
PIECE_ELEMENTS = 1024


@dataclass(frozen=True)
class Order:
    """How a reduction takes its elements.

    Vector number ``k`` of a round joins accumulator ``k % sets``. What is left after whole rounds
    joins those of ``rest``: whole vectors the first, or each the one of its number where ``rest``
    is empty; the last elements, fewer than a vector, the last.

    Args:
        op: ``sum``, ``max``, ``min``, or ``above``, a maximum that forgets NaN.
        join: how accumulators join in the end; elements of a vector join likewise.
        sets: accumulators.
        rest: accumulators of what is left after whole rounds.
        period: elements after which the sets are emptied; 0: never; -1: after ``ROUNDS`` rounds.
        is_wide: whether they are then added in double precision, and the result is double.
    """

    op: str
    join: str
    sets: int
    rest: tuple[int, ...]
    period: int = 0
    is_wide: bool = False

    @property
    def count(self) -> int:
        """Accumulators."""
        return max(self.sets, *(k + 1 for k in self.rest or (0,)))


ORDERS = {
    "sum": Order("sum", "sum", SETS, (SETS, SETS), period=-1),
    "amax": Order("max", "max", SETS, (SETS, SETS), period=-1),
    "amin": Order("min", "min", SETS, (SETS, SETS), period=-1),
    "largest": Order("above", "max", SETS, (0, 1)),
    "sum_exp": Order("sum", "sum", 2, ()),
    "sum_of_powers": Order("sum", "sum", 1, (0, 0)),
    "moment": Order("sum", "sum", SETS, (0, 1)),
    "deviations": Order("sum", "sum", SETS, (0, 0)),
    "moment_of_pieces": Order("sum", "sum", SETS, (0, 1), PIECE_ELEMENTS, is_wide=True),
    "deviations_of_pieces": Order("sum", "sum", SETS, (0, 0), PIECE_ELEMENTS, is_wide=True),
}
#: What an empty accumulator holds, and elements beyond the end of a row count as.
NEUTRAL = {"sum": 0.0, "max": float("-inf"), "above": float("-inf"), "min": float("inf")}
