"""The shorter ways of pointwise operators give the bits of the generic call, and its errors."""

from __future__ import annotations

import numpy as np
import pytest
from pointwise_opdefs import POINTWISE, operator

import flambeau

DTYPES = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex64")
#: Operators with one result and tensors as all their necessary arguments. Those that write to an
#: argument by nature have no form but their own and take one way.
CALLS = [each for each in POINTWISE
         if len(each.outputs) == 1 and each.forms and all(p.has_default for p in each.params
         if p.role not in ("Tensor", "Operand", "Mask"))]


def _values(dtype: str, seed: int):
    """Eight elements, some of them special, as a contiguous tensor."""
    random = np.random.default_rng(seed)
    numbers = random.integers(0, 5, 8)
    if dtype.startswith(("float", "bfloat", "complex")):
        numbers = np.concatenate([random.standard_normal(4), [0.0, -0.0, np.inf, np.nan]])
        random.shuffle(numbers)
    return flambeau.tensor(numbers.tolist()).to(getattr(flambeau, dtype))


def _tensors(definition, dtype: str) -> list:
    kinds = [p.role == "Mask" for p in definition.params if p.role in ("Tensor", "Operand", "Mask")]
    return [_values("bool" if mask else dtype, seed) for seed, mask in enumerate(kinds)]


def _stepped(t):
    """The same values, every other element of memory."""
    return flambeau.stack([t, t], -1)[..., 0]


def _bits(function, inputs, **options):
    """The result as dtype, shape and bytes; of an error, its type and text."""
    try:
        result = function(*inputs, **options)
    except (TypeError, RuntimeError) as error:
        return type(error), str(error)
    numbers = (result.float() if result.dtype == flambeau.bfloat16 else result).numpy()
    if np.iscomplexobj(numbers):
        numbers = np.stack([numbers.real, numbers.imag])
    if numbers.dtype.kind == "f":       # NaN of any sign and payload is NaN
        numbers = np.where(np.isnan(numbers), np.array(np.nan, numbers.dtype), numbers)
    return result.dtype, tuple(result.shape), numbers.tobytes()


def _generic(function, inputs):
    """The same call with a result to write to, for which only the generic call is made."""
    try:
        expected = function(*[t.to("meta") for t in inputs])
    except (TypeError, RuntimeError):
        return None
    return _bits(function, inputs, out=flambeau.empty(expected.shape, dtype=expected.dtype))


@pytest.mark.parametrize("definition", CALLS, ids=lambda each: each.symbol)
def test_three_ways_give_one_result(definition):
    function = operator(definition)
    for dtype in DTYPES:
        inputs = _tensors(definition, dtype)
        fast = _bits(function, inputs)
        small = _bits(function, [_stepped(t) for t in inputs])
        assert small == fast, dtype
        generic = _generic(function, inputs)
        if generic is not None:
            assert generic == fast, dtype


@pytest.mark.parametrize("definition", [each for each in CALLS if len(each.operands) == 2],
                         ids=lambda each: each.symbol)
def test_dtypes_are_promoted_as_infer_says(definition):
    function = operator(definition)
    for first, second in (("int32", "float32"), ("float16", "float32"), ("bool", "int64"),
                          ("float32", "complex64")):
        inputs = [*_tensors(definition, first)[:1], *_tensors(definition, second)[1:]]
        small = _bits(function, inputs)
        generic = _generic(function, inputs)
        if generic is not None:
            assert small == generic, (first, second)
