"""A step length that satisfies the strong Wolfe conditions (Nocedal and Wright, 2006, 3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from flambeau import Tensor

ARMIJO = 1e-4  # how much of the descent that the slope promises has to come true
CURVATURE = 0.9  # how much of the slope may remain
TOLERANCE = 1e-9  # the least difference of parameters that counts


class Point(NamedTuple):
    """A step length with the loss there, the gradient, and the slope along the direction."""

    t: float
    loss: float
    grad: Tensor
    slope: float


Evaluate = Callable[[float], Point]


def strong_wolfe(
    evaluate: Evaluate, start: Point, t: float, scale: float, limit: int
) -> tuple[Point, int]:
    """Find a step length, first by going further until it is between two, then between them.

    Args:
        evaluate: The point at a step length.
        start: The point at 0, with a negative slope.
        t: The first length to try.
        scale: The greatest element of the direction.
        limit: Evaluations besides the first.

    Returns:
        The best point, and the number of evaluations.
    """
    before, new = start, evaluate(t)
    for evaluations in range(1, limit + 1):
        if _is_too_high(new, start) or (evaluations > 2 and new.loss >= before.loss):
            return _zoom(evaluate, start, [before, new], scale, evaluations, limit)
        if abs(new.slope) <= -CURVATURE * start.slope:
            return new, evaluations
        if new.slope >= 0:
            return _zoom(evaluate, start, [before, new], scale, evaluations, limit)
        bounds = new.t + 0.01 * (new.t - before.t), 10 * new.t
        t = cubic_minimum(before, new, bounds)
        before, new = new, evaluate(t)
    best = start if start.loss <= new.loss else new
    return best, max(limit, 0) + 1


def _is_too_high(point: Point, start: Point) -> bool:
    return point.loss > start.loss + ARMIJO * point.t * start.slope


def _zoom(
    evaluate: Evaluate,
    start: Point,
    bracket: list[Point],
    scale: float,
    evaluations: int,
    limit: int,
) -> tuple[Point, int]:
    """Narrow a bracket around a minimum down to a point that satisfies the conditions."""
    low = _lower(bracket)
    stalled = False
    while evaluations <= limit and abs(bracket[1].t - bracket[0].t) * scale >= TOLERANCE:
        t, stalled = _trial(bracket[0], bracket[1], stalled)
        new = evaluate(t)
        evaluations += 1
        if _is_too_high(new, start) or new.loss >= bracket[low].loss:
            bracket[1 - low] = new
            low = _lower(bracket)
            continue
        if abs(new.slope) <= -CURVATURE * start.slope:
            return new, evaluations
        if new.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = new
    return bracket[low], evaluations


def _lower(bracket: list[Point]) -> int:
    return 0 if bracket[0].loss <= bracket[1].loss else 1


def _trial(one: Point, other: Point, stalled: bool) -> tuple[float, bool]:
    """Where to look in a bracket, and whether that is close to an end of it again."""
    first, last = sorted((one.t, other.t))
    t = cubic_minimum(one, other, (first, last))
    margin = 0.1 * (last - first)
    if min(last - t, t - first) >= margin:
        return t, False
    if not stalled and first < t < last:
        return t, True
    return (last - margin if abs(t - last) < abs(t - first) else first + margin), False


def cubic_minimum(one: Point, other: Point, bounds: tuple[float, float]) -> float:
    """The minimum of the cubic with the losses and slopes of two points, within bounds."""
    left, right = (one, other) if one.t <= other.t else (other, one)
    if left.t == right.t:
        return left.t
    mean = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.t - right.t)
    square = mean * mean - left.slope * right.slope
    lower, upper = bounds
    if not square >= 0:
        return (lower + upper) / 2
    root = math.sqrt(square)
    rise, width = right.slope + root - mean, right.slope - left.slope + 2 * root
    if width == 0:  # a straight line, whose lower end is as far off as may be
        return upper if rise < 0 else lower
    t = right.t - (right.t - left.t) * rise / width
    return min(max(t, lower), upper)
