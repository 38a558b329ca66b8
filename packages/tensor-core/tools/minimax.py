"""Minimax polynomials for the prelude (needs mpmath).

``python minimax.py "log1p(x) / x" -0.29 0.41 8 f32`` prints the coefficients, constant term
first, of the polynomial of degree 8 with the least largest error relative to the function.
On an interval beside zero each coefficient is rounded to the format before the rest is fitted
again, so that rounding costs no accuracy.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]


def fit(
    function: Function,
    low: float,
    high: float,
    degree: int,
    weight: Function | None = None,
    step: int = 1,
) -> tuple[list[mp.mpf], mp.mpf]:
    """Remez exchange: coefficients of 1, x**step, x**(2*step) ... and the largest error.

    The error is ``weight(x) * (p(x) - function(x))``; the weight is 1 / |function| by default.
    """
    weight = weight or (lambda x: 1 / abs(function(x)))
    count = degree + 2
    low, high = mp.mpf(low), mp.mpf(high) * mp.mpf("1.000001")  # no point falls on zero
    points = [
        (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mp.mpf("0.5")) / count)
        for i in range(count)
    ]
    grid = [
        (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (40 * count))
        for i in range(40 * count + 1)
    ]
    values = [(x, function(x), weight(x)) for x in grid]
    for _ in range(12):
        coefficients, level = _solve(points, function, weight, degree, step)
        errors = [w * (evaluate(coefficients, x, step) - f) for x, f, w in values]
        points = _extrema(grid, errors, count)
        largest = max(map(abs, errors))
        if largest <= abs(level) * mp.mpf("1.01"):
            break
    return coefficients, largest


def fit_rounded(
    function: Function,
    low: float,
    high: float,
    degree: int,
    form: str,
    weight: Function | None = None,
    step: int = 1,
) -> tuple[list[float], mp.mpf]:
    """As ``fit``, with coefficients representable in ``f32`` or ``f64``.

    Where zero is inside the interval the powers that are left do not determine a minimax
    polynomial, so all coefficients are rounded at once.
    """
    weight = weight or (lambda x: 1 / abs(function(x)))
    fixed: list[float] = []
    if low < 0 < high:
        fixed = [_round(c, form) for c in fit(function, low, high, degree, weight, step)[0]]
    for done in range(len(fixed), degree + 1):
        power = done * step

        def rest(x: mp.mpf, power: int = power) -> mp.mpf:
            return (function(x) - evaluate(fixed, x, step)) / x**power

        def scaled(x: mp.mpf, power: int = power) -> mp.mpf:
            return weight(x) * abs(x) ** power

        coefficients, _ = fit(rest, low, high, degree - done, scaled, step)
        fixed.append(_round(coefficients[0], form))
    grid = [low + (high - low) * (mp.mpf(i) + mp.mpf("0.37")) / 500 for i in range(500)]
    error = max(abs(weight(x) * (evaluate(fixed, x, step) - function(x))) for x in grid)
    return fixed, error


def evaluate(coefficients: Sequence[mp.mpf | float], x: mp.mpf, step: int) -> mp.mpf:
    """The polynomial at x."""
    total = mp.mpf(0)
    for c in reversed(coefficients):
        total = total * x**step + c
    return total


def _solve(
    points: Sequence[mp.mpf], function: Function, weight: Function, degree: int, step: int
) -> tuple[list[mp.mpf], mp.mpf]:
    size = degree + 2
    matrix = mp.matrix(size, size)
    right = mp.matrix(size, 1)
    for row, x in enumerate(points):
        for column in range(degree + 1):
            matrix[row, column] = weight(x) * x ** (column * step)
        matrix[row, degree + 1] = (-1) ** row
        right[row] = weight(x) * function(x)
    solution = mp.lu_solve(matrix, right)
    return list(solution[: degree + 1]), solution[degree + 1]


def _extrema(grid: Sequence[mp.mpf], errors: Sequence[mp.mpf], count: int) -> list[mp.mpf]:
    """The largest error of each run of equal sign; the outermost smallest runs are dropped."""
    runs: list[tuple[mp.mpf, mp.mpf]] = []
    for x, error in zip(grid, errors, strict=True):
        if runs and (error > 0) == (runs[-1][1] > 0):
            if abs(error) > abs(runs[-1][1]):
                runs[-1] = (x, error)
        else:
            runs.append((x, error))
    while len(runs) > count:
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    if len(runs) < count:
        raise ArithmeticError("the error does not alternate often enough; raise mp.dps")
    return [x for x, _ in runs]


def _round(value: mp.mpf, form: str) -> float:
    number = float(value)
    if form == "f32":
        number = struct.unpack("<f", struct.pack("<f", number))[0]
    return number


def main(arguments: Sequence[str]) -> None:
    """Fit the expression given on the command line."""
    text, low, high, degree, form = arguments
    mp.mp.dps = 60
    code = compile(text, "expression", "eval")
    names = {name: getattr(mp, name) for name in dir(mp)} | {"log1p": lambda x: mp.log(1 + x)}
    coefficients, error = fit_rounded(
        lambda x: eval(code, names, {"x": x}), float(low), float(high), int(degree), form
    )
    print(f"largest relative error {mp.nstr(error, 3)} = 2**{mp.nstr(mp.log(error, 2), 4)}")
    print(",\n".join(repr(c) for c in coefficients))


if __name__ == "__main__":
    main(sys.argv[1:])
