"""What holds for all shapes, dtypes and memory layouts, against NumPy; examples by Hypothesis.

The same examples every time; ``--hypothesis-profile=nightly`` looks for new ones.
"""

from __future__ import annotations

import drawn
import index_model
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import flambeau

TOLERANCE = {"float32": 1e-5, "complex64": 1e-5}


def agrees(tensor, array: np.ndarray) -> None:
    """Equal dtype, shape and values; integers exactly."""
    array = np.asarray(array)
    found = tensor.numpy()
    assert found.shape == array.shape
    assert found.dtype == array.dtype
    tolerance = TOLERANCE.get(array.dtype.name, 1e-12)
    np.testing.assert_allclose(found, array, rtol=tolerance, atol=tolerance)


# ---- pointwise ---------------------------------------------------------------------------------
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "eq": np.equal, "lt": np.less, "ge": np.greater_equal,
    "hypot": np.hypot, "logical_xor": np.logical_xor,
}
UNARY = {
    "neg": np.negative, "abs": np.abs, "square": np.square, "exp": np.exp, "sin": np.sin,
    "floor": np.floor, "sign": np.sign, "isfinite": np.isfinite, "logical_not": np.logical_not,
    "conj": np.conj, "tanh": np.tanh,
}


def _same_dtype_in_both(name: str, dtype: str) -> bool:
    """NumPy computes integers in float16 and the like where the result is fractional."""
    fractional = name in ("exp", "sin", "tanh", "hypot", "floor", "sign")
    return not fractional or dtype in drawn.FLOATS


@given(st.data(), st.sampled_from(sorted(BINARY)), st.sampled_from(drawn.ALL))
def test_pairs_of_broadcast_operands(data, name, dtype):
    ordered = name in ("maximum", "minimum", "lt", "ge", "hypot")
    assume(not (ordered and dtype.startswith("c")))
    assume(not (name == "sub" and dtype == "bool"))
    assume(_same_dtype_in_both(name, dtype))
    one, two = data.draw(drawn.broadcast_shapes(2))
    (a, x), (b, y) = (data.draw(drawn.pairs(shape, (dtype,))) for shape in (one, two))
    agrees(getattr(flambeau, name)(x, y), BINARY[name](a, b))


@given(st.data(), st.sampled_from(sorted(UNARY)), st.sampled_from(drawn.ALL))
def test_one_operand(data, name, dtype):
    assume(_same_dtype_in_both(name, dtype))
    assume(not (name in ("neg", "square", "conj") and dtype == "bool"))
    a, x = data.draw(drawn.pairs(dtypes=(dtype,)))
    agrees(getattr(flambeau, name)(x), UNARY[name](a))


@given(st.data(), st.sampled_from(["add_", "mul_", "copy_"]), st.sampled_from(drawn.ALL))
def test_writing_to_a_view_writes_to_its_base(data, name, dtype):
    a, _ = data.draw(drawn.pairs(dtypes=(dtype,)))
    b, y = data.draw(drawn.pairs(a.shape, (dtype,)))
    base = flambeau.zeros((*a.shape, 2), dtype=y.dtype)
    base[..., 1] = flambeau.tensor(np.array(a, order="C"))
    getattr(base[..., 1], name)(y)
    expected = {"add_": np.add, "mul_": np.multiply, "copy_": lambda _, b: b}[name](a, b)
    agrees(base[..., 1], expected)
    agrees(base[..., 0], np.zeros(a.shape, a.dtype))


@given(st.data())
def test_where(data):
    shapes = data.draw(drawn.broadcast_shapes(3))
    (c, k), (a, x), (b, y) = (data.draw(drawn.pairs(shape, (dtype,))) for shape, dtype
                              in zip(shapes, ("bool", "int64", "int64"), strict=True))
    agrees(flambeau.where(k, x, y), np.where(c, a, b))


# ---- reductions --------------------------------------------------------------------------------
REDUCTIONS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min,
              "any": np.any, "all": np.all, "argmax": np.argmax, "count_nonzero": np.count_nonzero}


@given(st.data(), st.sampled_from(sorted(REDUCTIONS)), st.booleans())
def test_reductions(data, name, keepdim):
    dtypes = drawn.FLOATS if name == "mean" else ("bool",) if name in ("any", "all") else \
        ("int64", *drawn.FLOATS)
    a, x = data.draw(drawn.pairs(data.draw(drawn.shapes(least=1)), dtypes))
    dim = data.draw(st.integers(-a.ndim, a.ndim - 1))
    several = name in ("sum", "mean", "amax", "amin", "any", "all") and data.draw(st.booleans())
    dims = tuple(data.draw(st.sets(st.integers(0, a.ndim - 1), min_size=1))) if several else dim
    assume(name not in ("amax", "amin", "argmax", "mean") or a.size)
    if name == "count_nonzero":
        agrees(flambeau.count_nonzero(x, dims), np.asarray(np.count_nonzero(a, dims)))
        return
    expected = REDUCTIONS[name](a, axis=dims, keepdims=keepdim)
    agrees(getattr(flambeau, name)(x, dims, keepdim=keepdim), expected)


@given(st.data(), st.sampled_from(["cumsum", "cumprod", "sort", "argsort"]))
def test_along_one_dimension(data, name):
    a, x = data.draw(drawn.pairs(data.draw(drawn.shapes(least=1)), ("int64", *drawn.FLOATS)))
    dim = data.draw(st.integers(-a.ndim, a.ndim - 1))
    found = getattr(flambeau, name)(x, dim) if name != "argsort" else x.argsort(dim, stable=True)
    expected = getattr(np, name)(a, dim, **({"kind": "stable"} if "sort" in name else {}))
    agrees(found[0] if name == "sort" else found, expected)


# ---- indexing ----------------------------------------------------------------------------------
@given(st.data())
def test_reading_by_index(data):
    a, x = data.draw(drawn.pairs(dtypes=("int64", "float32", "bool", "complex64")))
    index = data.draw(drawn.indices(a.shape))
    check_reading(a, x, index)


def as_tensors(index: tuple) -> tuple:
    """The index with tensors for arrays."""
    return tuple(flambeau.tensor(p) if isinstance(p, np.ndarray) else p for p in index)


def check_reading(a: np.ndarray, x, index: tuple) -> None:
    try:
        expected = index_model.read(a, index)
    except IndexError:
        with pytest.raises(IndexError):
            x[as_tensors(index)]
        return
    agrees(x[as_tensors(index)], expected)


@given(st.data())
def test_writing_by_index(data):
    a, _ = data.draw(drawn.pairs(dtypes=("int64", "float32")))
    x = drawn.laid(a, data.draw(st.sampled_from(("plain", "transposed", "stepped", "offset"))))
    index = data.draw(drawn.indices(a.shape))
    scatters = any(isinstance(p, np.ndarray) and p.dtype != bool for p in index)
    try:
        shape = index_model.read(a, index).shape
    except IndexError:
        with pytest.raises(IndexError):
            x[as_tensors(index)] = 7
        agrees(x, a)
        return
    value = 7           # with repeated positions, which of several values stays is left open
    if not scatters and data.draw(st.booleans()):
        value, y = data.draw(drawn.pairs(shape, (a.dtype.name,)))
    x[as_tensors(index)] = value if scatters or isinstance(value, int) else y
    agrees(x, index_model.written(a, index, value))


@given(st.data())
def test_take_along_dim_and_index_select(data):
    a, x = data.draw(drawn.pairs(data.draw(drawn.shapes(least=1))))
    dim = data.draw(st.integers(-a.ndim, a.ndim - 1))
    assume(a.shape[dim])
    positions = data.draw(st.lists(st.integers(0, a.shape[dim] - 1), max_size=5))
    order = np.array(positions, np.int64)
    agrees(x.index_select(dim, flambeau.tensor(order)), np.take(a, order, dim))


# ---- movement ----------------------------------------------------------------------------------
@given(st.data())
def test_reshape_and_view(data):
    a, x = data.draw(drawn.pairs())
    shape = data.draw(drawn.reshapes(a.size))
    agrees(x.reshape(shape), a.reshape(shape))
    try:
        agrees(x.view(shape), a.reshape(shape))
    except RuntimeError:
        assert not x.is_contiguous()


@given(st.data())
def test_order_of_dimensions(data):
    a, x = data.draw(drawn.pairs())
    order = data.draw(st.permutations(range(a.ndim)))
    agrees(x.permute(order), a.transpose(order))
    agrees(x.permute(order).contiguous(), a.transpose(order))


@given(st.data())
def test_flip_and_roll(data):
    a, x = data.draw(drawn.pairs(data.draw(drawn.shapes(least=1))))
    dims = tuple(data.draw(st.sets(st.integers(0, a.ndim - 1), min_size=1)))
    agrees(x.flip(dims), np.flip(a, dims))
    shifts = tuple(data.draw(st.integers(-5, 5)) for _ in dims)
    agrees(x.roll(shifts, dims), np.roll(a, shifts, dims))


@given(st.data())
def test_cat_and_stack(data):
    shape = data.draw(drawn.shapes(least=1, most=3))
    dim = data.draw(st.integers(0, len(shape) - 1))
    made = []
    for _ in range(data.draw(st.integers(1, 4))):
        size = data.draw(st.integers(0, 3))
        made.append(data.draw(drawn.pairs((*shape[:dim], size, *shape[dim + 1:]), ("float32",))))
    agrees(flambeau.cat([x for _, x in made], dim), np.concatenate([a for a, _ in made], dim))
    a, x = made[0]
    agrees(flambeau.stack([x, x], dim), np.stack([a, a], dim))


@given(st.data())
def test_tile_and_repeat_interleave(data):
    a, x = data.draw(drawn.pairs(data.draw(drawn.shapes(least=1, most=3))))
    times = tuple(data.draw(st.lists(st.integers(0, 3), min_size=a.ndim, max_size=a.ndim + 1)))
    agrees(x.tile(times), np.tile(a, times))
    agrees(x.repeat_interleave(times[0], 0), np.repeat(a, times[0], 0))


# ---- products ----------------------------------------------------------------------------------
@given(st.data(), st.sampled_from(("int64", "float32", "float64", "complex64", "complex128")))
def test_matmul(data, dtype):
    size = st.integers(0, 5)
    m, k, n = data.draw(size), data.draw(size), data.draw(size)
    one, two = data.draw(drawn.broadcast_shapes(2))
    left, right = data.draw(st.sampled_from([((k,), (k,)), ((k,), (*two, k, n)),
                                             ((*one, m, k), (k,)), ((*one, m, k), (*two, k, n))]))
    (a, x), (b, y) = (data.draw(drawn.pairs(shape, (dtype,))) for shape in (left, right))
    agrees(x @ y, a @ b)


@given(st.data())
def test_einsum(data):
    letters = data.draw(st.lists(st.text("abcd", max_size=3), min_size=1, max_size=3))
    sizes = {letter: data.draw(st.integers(0, 3)) for letter in "abcd"}
    used = sorted(set("".join(letters)))
    kept = data.draw(st.permutations(used))[:data.draw(st.integers(0, len(used)))]
    dtype = data.draw(st.sampled_from(("float64", "complex128")))
    made = [data.draw(drawn.pairs(tuple(sizes[c] for c in text), (dtype,))) for text in letters]
    equation = ",".join(letters) + "->" + "".join(kept)
    agrees(flambeau.einsum(equation, *(x for _, x in made)),
           np.einsum(equation, *(a for a, _ in made)))
