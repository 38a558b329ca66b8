"""Short rows, reversed rows and small planes of strided tensors, beside NumPy's."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl

DTYPES = ("bool", "uint8", "int16", "float32", "int64", "complex64", "complex128")
SIZES = (0, 1, 2, 3, 4, 5, 7, 9, 15, 16, 17, 33, 70)


class Draws:
    """Strided tensors of more elements than small calls take, and the same arrays."""

    def __init__(self, seed: int, dtype: str) -> None:
        self.random = np.random.default_rng(seed)
        self.dtype = dtype

    def pair(self):
        n = self.random
        shape = n.choice(SIZES[n.integers(0, 2):], n.integers(1, 6)).tolist()
        while np.prod(shape) > 9000:
            shape[int(np.argmax(shape))] //= 2
        a = (n.standard_normal(shape) * 9).astype(self.dtype)
        order = n.permutation(len(shape)).tolist()
        x, a = fl.from_numpy(a.copy()).permute(order), a.transpose(order)
        if n.random() < 0.3:
            step = (Ellipsis, slice(None, None, 2)) if n.random() < 0.5 else slice(1, None, 3)
            x, a = x[step], a[step]
        return x, a

    def broadcast(self, x, a):
        cut = tuple(slice(0, None if self.random.random() < 0.6 else 1) for _ in a.shape)
        return x[cut], a[cut]


def _same(x, a):
    assert tuple(x.shape) == a.shape
    assert np.array_equal(x.numpy(), a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(30))
def test_rows_are_moved(dtype, seed):
    draws = Draws(seed, dtype)
    x, a = draws.pair()
    dim = int(draws.random.integers(a.ndim))
    turned = [d for d in range(a.ndim) if draws.random.random() < 0.5]
    _same(x.flip(turned), np.flip(a, turned))
    _same(x.flip(turned).contiguous(), np.flip(a, turned))
    _same(x.roll(2, dim), np.roll(a, 2, dim))
    _same(fl.cat([x, x.narrow(dim, 0, min(1, a.shape[dim]))], dim),
          np.concatenate([a, a.take(range(min(1, a.shape[dim])), dim)], dim))
    target = fl.zeros(a.shape[::-1], dtype=x.dtype).permute(*reversed(range(a.ndim)))
    _same(target.copy_(x), a)
    wide = fl.zeros([n + 2 for n in a.shape], dtype=x.dtype)
    inside = tuple(slice(1, -1) for _ in a.shape)
    wide[inside].copy_(x)
    expected = np.zeros([n + 2 for n in a.shape], a.dtype)
    expected[inside] = a
    _same(wide, expected)


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("seed", range(30))
def test_broadcast_operands_meet(dtype, seed):
    draws = Draws(seed, dtype)
    x, a = draws.pair()
    y, b = draws.broadcast(x, a)
    z, c = draws.broadcast(x, a)
    _same(y - z, b - c)
    _same(fl.where(y == z, y, x), np.where(b == c, b, a))
    _same(y.expand(x.shape).contiguous(), np.broadcast_to(b, a.shape))
    _same(y.expand(x.shape).to(fl.complex128), np.broadcast_to(b, a.shape).astype("complex128"))
    total = fl.zeros(a.shape[::-1], dtype=x.dtype).permute(*reversed(range(a.ndim)))
    total += y
    _same(total, np.broadcast_to(b, a.shape))
    rows = fl.empty([*a.shape[:-1], a.shape[-1] + 3], dtype=x.dtype)[..., 1:-2]
    fl.add(x, y, out=rows)
    _same(rows, a + b)


@pytest.mark.parametrize("shape", [(60, 10, 10), (700, 3, 3), (40, 6, 2, 4), (5, 100, 31)])
def test_outer_products_of_rows(shape):
    n = np.random.default_rng(3)
    a = n.standard_normal((*shape[:-1], 1)).astype("float32")
    b = n.standard_normal((*shape[:-2], 1, shape[-1])).astype("float32")
    _same(fl.tensor(a) * fl.tensor(b), a * b)
    _same(fl.tensor(a).double() + fl.tensor(b), a.astype("float64") + b)


def test_nan_keeps_its_bits_where_it_is_moved():
    bits = np.arange(0x7f800001, 0x7f800001 + 300, dtype=np.int32).reshape(100, 3)
    x = fl.from_numpy(bits.view(np.float32))
    assert np.array_equal(x.flip(1).numpy().view(np.int32), bits[:, ::-1])
    assert np.array_equal(x.roll(1, 1).numpy().view(np.int32), np.roll(bits, 1, 1))
