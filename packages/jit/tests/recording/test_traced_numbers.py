"""Numbers that Python computes from sizes while a function is recorded."""

from __future__ import annotations

import math
from typing import Any

import pytest

import flambeau as fl
from flambeau import jit

NUMBERS = {
    "digits": lambda n: round(n / 3, 1), "integer": lambda n: round(n / 3),
    "of integers": lambda n: round(n, -1), "times": lambda n: n * 0.5, "from": lambda n: 2.5 - n,
    "ceil": lambda n: math.ceil(n * 0.3), "power": lambda n: n ** 0.5,
    "other way": lambda n: 2 ** n, "quotient": lambda n: divmod(n, 3)[1], "parts": lambda n: 7 // n,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_pythons(name: str) -> None:
    def function(x: Any) -> Any:
        return x * NUMBERS[name](x.shape[1])

    x = fl.randn(3, 17)
    assert fl.equal(jit.trace(function, x)(x), x * NUMBERS[name](17))
