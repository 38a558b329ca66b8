"""addcmul and lerp of half precision as it lies have the bits of the way by float32."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flambeau
from flambeau.core import ops

NAN, INF = float("nan"), float("inf")
NUMBERS = [0, 1, 2, 0.5, -0.5, 0.49999997, 0.3, -0.3, 0.7, -2.5, 1e-9, 1e9, NAN, INF, -INF, -0.0]
DTYPES = [flambeau.float16, flambeau.bfloat16]


def operands(dtype, count, seed):
    """Random bits: all kinds of numbers, many of them NaN, infinite or subnormal."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 65536, (3, count)).astype(np.uint16)
    bits[:, ::3] = (bits[:, ::3] & 0x83ff) | 0x3c00         # and many near 1
    return [flambeau.tensor(each.view(np.int16)).view(dtype) for each in bits]


def apart(x):
    """The same numbers, not side by side."""
    return flambeau.stack([x, x], -1)[..., 0]


def same(found, expected):
    assert found.dtype is expected.dtype
    found, expected = found.contiguous().float().numpy(), expected.contiguous().float().numpy()
    np.testing.assert_array_equal(found, expected)
    finite = expected == expected
    np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(expected[finite]))


@given(st.sampled_from(DTYPES), st.integers(0, 300), st.sampled_from(NUMBERS), st.integers(0, 99))
def test_any_bits(dtype, count, number, seed):
    x, a, b = operands(dtype, count, seed)
    same(ops.addcmul(x, a, b, value=number), ops.addcmul(apart(x), a, b, value=number))
    same(ops.lerp(x, a, number), ops.lerp(apart(x), a, number))
    wide = [t.float() for t in (x, a, b)]
    same(ops.addcmul(x, a, b, value=number), ops.addcmul(*wide, value=number).to(dtype))
    same(ops.lerp(x, a, number), ops.lerp(*wide[:2], number).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 3])
def test_in_place_shapes_and_threads(dtype, threads):
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(threads)
    for shape in [(), (1,), (0, 3), (7, 13), (300, 401)]:
        x, a, b = (flambeau.randn(*shape).to(dtype) for _ in range(3))
        wanted = ops.addcmul(x.float(), a.float(), b.float(), value=0.3).to(dtype)
        same(ops.addcmul(x, a, b, value=0.3), wanted)
        same(x.clone().addcmul_(a, b, value=0.3), wanted)
        same(ops.lerp(x, a, 0.8), ops.lerp(x.float(), a.float(), 0.8).to(dtype))
        same(a.clone().lerp_(x, 0.2), ops.lerp(a.float(), x.float(), 0.2).to(dtype))
        y = x.clone()
        same(y.addcmul_(y, y), ops.addcmul(*[x.float()] * 3).to(dtype))
    same(ops.addcmul(x, a[0], b[:, :1]), ops.addcmul(x.float(), a[0].float(),
                                                     b[:, :1].float()).to(dtype))
    weight = flambeau.rand(401).to(dtype)
    same(ops.lerp(x, a, weight), ops.lerp(x.float(), a.float(), weight.float()).to(dtype))
    flambeau.set_num_threads(before)
