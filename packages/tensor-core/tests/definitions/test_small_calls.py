"""The fast paths of small calls agree with the long ones, and composites in C++ with their rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

SMALL_NUMEL = 256  # elements up to which pointwise operators take the fast path
DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool", "complex64", "bfloat16")
BINARY = ("add", "mul", "sub", "maximum", "eq", "lt", "atan2", "logical_and", "bitwise_or", "pow")


def _layouts(dtype):
    """Tensors of shape (3, 4) or broadcast to it, in several layouts."""
    kind = getattr(flambeau, dtype)
    plain = flambeau.arange(1, 13).reshape(3, 4).to(kind)
    yield "contiguous", plain
    yield "transposed", flambeau.arange(1, 13).reshape(4, 3).to(kind).t()
    yield "stepped", flambeau.arange(24).reshape(3, 8).to(kind)[:, ::2]
    yield "expanded", plain[:, :1].expand(3, 4)
    yield "row", plain[0]
    yield "column", plain[:, 1:2]
    yield "0-d", plain[1, 2]


def _outcome(function, *args):
    try:
        return function(*args)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return type(error)


def _same(a, b):
    if not isinstance(a, flambeau.Tensor):
        return a is b
    return (
        a.dtype is b.dtype
        and a.shape == b.shape
        and np.array_equal(
            a.double().numpy() if not a.is_complex() else a.numpy(),
            b.double().numpy() if not b.is_complex() else b.numpy(),
            equal_nan=True,
        )
    )


@pytest.mark.parametrize("name", BINARY)
def test_few_elements_are_computed_as_many(name):
    function = getattr(flambeau, name)
    for a_dtype, b_dtype in itertools.product(DTYPES, ("float32", "int64", "bool", "complex64")):
        for (a_title, a), (b_title, b) in itertools.product(_layouts(a_dtype), _layouts(b_dtype)):
            few = _outcome(function, a, b)
            many = _outcome(
                function, *[t.expand(SMALL_NUMEL, *t.shape) if t.ndim == 2 else t for t in (a, b)]
            )
            if isinstance(many, flambeau.Tensor) and many.ndim == 3:
                many = many[0]
            assert _same(few, many), (a_dtype, a_title, b_dtype, b_title)


@pytest.mark.parametrize("number", [2, 0.5, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_beside_few_strided_elements(dtype, number):
    for title, x in _layouts(dtype):
        for name in ("add", "mul", "ge", "pow"):
            function = getattr(flambeau, name)
            few, dense = _outcome(function, x, number), _outcome(function, x.clone(), number)
            assert _same(few, dense), (title, name)


def test_masks_and_three_operands():
    x = flambeau.arange(24.0).reshape(4, 6)[:, ::2]
    mask = flambeau.tensor([True, False, True])
    expected = np.where(mask.numpy(), x.numpy(), -1.0)
    assert np.array_equal(flambeau.where(mask, x, -1.0).numpy(), expected)
    assert np.array_equal(
        flambeau.lerp(x, x.t().reshape(4, 3), 0.25).numpy(),
        (x.numpy() + 0.25 * (x.numpy().T.reshape(4, 3) - x.numpy())),
    )


@pytest.mark.parametrize("size", [4, 40])
def test_results_keep_the_order_of_a_transposed_operand(size):
    x = flambeau.rand(size, size + 1).t()
    assert (x + x).stride() == x.stride()
    assert (x + x.contiguous()).stride() == x.stride()
    assert (x.contiguous() + x).is_contiguous()
    assert (x[:, :1].expand(size + 1, size) * 2).is_contiguous()


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "bfloat16", "uint8"])
def test_reductions_of_few_strided_elements(dtype):
    x = flambeau.arange(24).reshape(4, 6).to(getattr(flambeau, dtype))
    for view in (x[:, ::2], x.t(), x[1:2].expand(5, 6)):
        for name in ("sum", "prod", "amax", "amin", "any", "all"):
            few, dense = getattr(view, name)(), getattr(view.contiguous(), name)()
            assert few.dtype is dense.dtype
            assert few.item() == dense.item(), name


@pytest.mark.parametrize("name", ["sum", "var", "std", "mean", "logsumexp", "amax"])
def test_reductions_do_not_depend_on_layout(name):
    base = flambeau.rand(3, 5, 7, 2)
    strided, dense = base[..., 0], base[..., 0].clone()
    for dim in (0, 1, 2):
        assert flambeau.equal(getattr(strided, name)(dim), getattr(dense, name)(dim)), dim


# ---- composites in C++ ---------------------------------------------------------------------------
def test_their_results_go_to_out():
    x = flambeau.arange(6.0).reshape(2, 3)
    for function, args in (
        (flambeau.reshape, (x, (3, 2))),
        (flambeau.flatten, (x,)),
        (flambeau.stack, ([x, x],)),
        (flambeau.diff, (x,)),
        (flambeau.max, (x,)),
        (flambeau.diag_embed, (x,)),
        (ops.normalize, (x,)),
    ):
        wanted = function(*args)
        out = flambeau.empty(wanted.shape)
        assert function(*args, out=out) is out
        assert flambeau.equal(out, wanted)
    low, high = flambeau.empty(()), flambeau.empty(())
    flambeau.aminmax(x, out=(low, high))
    assert (low.item(), high.item()) == (0.0, 5.0)


def test_pieces_are_views():
    x = flambeau.rand(2, 3)
    for pieces in (x.unbind(1), x.split(2, 1), x.split([1, 2], 1), x.chunk(2, 1)):
        assert all(p._base is x for p in pieces)
        assert flambeau.equal(flambeau.cat([p.reshape(2, -1) for p in pieces], 1), x)


def test_lengths_of_pieces_may_be_any_integers():
    x = flambeau.arange(5)
    sizes = (np.int64(2), flambeau.tensor(3))
    assert [p.tolist() for p in x.split(sizes)] == [[0, 1], [2, 3, 4]]
    with pytest.raises(RuntimeError, match="sum exactly to 5"):
        x.split([2, 2])
    with pytest.raises(RuntimeError, match="sum exactly to 5"):
        x.split([6, -1])
    with pytest.raises(OverflowError):
        x.split([1 << 70])


@pytest.mark.parametrize("make", [flambeau.zeros_like, flambeau.rand_like, flambeau.empty_like])
def test_tensors_like_others_are_new(make):
    x = flambeau.rand(3, 4).t()
    made = make(x)
    assert made._version == 0
    assert made.stride() == x.stride()
    assert make(x, memory_format=flambeau.contiguous_format).is_contiguous()
    assert make(x, dtype=flambeau.complex64).dtype is flambeau.complex64
    with pytest.raises(TypeError, match="memory_format"):
        make(x, memory_format=3)


@pytest.mark.parametrize("make", [flambeau.zeros_like, flambeau.rand_like, flambeau.empty_like])
def test_tensors_like_others_may_require_grad(make):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert make(flambeau.rand(3), requires_grad=True).requires_grad


def test_masked_fill_keeps_the_dtype():
    x, mask = flambeau.tensor([1, 2, 3]), flambeau.tensor([True, False, True])
    assert x.masked_fill(mask, 2.7).tolist() == [2, 2, 2]
    assert x.masked_fill_(mask, flambeau.tensor(9)).tolist() == [9, 2, 9]
    assert x.dtype is flambeau.int64
    with pytest.raises(RuntimeError, match="complex"):
        x.masked_fill(mask, 1j)


def test_results_of_several_outputs_have_names():
    found = flambeau.tensor([3.0, 1.0]).sort()
    assert found._fields == ("values", "indices")
    values, indices = found
    assert (values.tolist(), indices.tolist()) == ([1.0, 3.0], [1, 0])
    assert type(found)._make([1, 2]) == (1, 2)


def _operands_of_products(dtype):
    """Matrices, vectors and small batches, in several layouts."""
    kind = getattr(flambeau, dtype)

    def numbers(*shape):
        return flambeau.arange(1, 1 + int(np.prod(shape))).reshape(shape).to(kind) / 8 - 1

    yield numbers(3, 5), numbers(5, 2)
    yield numbers(5, 3).t(), numbers(2, 5).t()
    yield numbers(3, 10)[:, ::2], numbers(5, 40)[:, ::2]
    yield numbers(3, 1).expand(3, 5), numbers(1, 18).expand(5, 18)
    yield numbers(20, 5), numbers(5)
    yield numbers(10)[::2], numbers(5, 3)
    yield numbers(10)[::2], numbers(5)
    yield numbers(2, 3, 5), numbers(5, 4).t().contiguous().t()
    yield numbers(2, 1, 3, 10)[..., ::2], numbers(4, 5, 3).transpose(0, 1).transpose(0, 1)
    yield numbers(1, 40), numbers(40, 60)
    yield numbers(60, 64), numbers(64, 1)
    yield numbers(2, 65), numbers(65, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bfloat16"])
def test_products_of_few_elements(dtype):
    kind = "complex128" if dtype == "complex64" else "float64"
    for a, b in _operands_of_products(dtype):
        wanted = np.matmul(
            a.to(getattr(flambeau, kind)).numpy(), b.to(getattr(flambeau, kind)).numpy()
        )
        got = flambeau.matmul(a, b)
        assert got.dtype is getattr(flambeau, dtype)
        close = 1e-2 if dtype == "bfloat16" else 1e-5
        np.testing.assert_allclose(
            got.to(getattr(flambeau, kind)).numpy(), wanted, rtol=close, atol=close
        )


def test_rows_of_few_elements_have_the_bits_of_many():
    a, b = flambeau.randn(200, 40), flambeau.randn(40, 90)
    many = flambeau.matmul(a, b)
    assert flambeau.equal(flambeau.matmul(a[7:8], b), many[7:8])
    assert flambeau.equal(flambeau.matmul(a[3:9], b[:, 20:33]), many[3:9, 20:33])
    assert flambeau.equal(flambeau.mv(a[:5], b[:, 4]), many[:5, 4])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layers_of_few_elements(dtype):
    kind = getattr(flambeau, dtype)
    weight, bias = flambeau.randn(3, 10).to(kind), flambeau.randn(6).to(kind)
    for x in (
        flambeau.randn(2, 4, 5).to(kind),
        flambeau.randn(5).to(kind),
        flambeau.randn(5, 4).to(kind).t(),
    ):
        for b in (None, bias[:3], bias[::2], bias[:1]):
            got = ops.linear(x, weight[:, ::2], b).double().numpy()
            wanted = x.double().numpy() @ weight[:, ::2].double().numpy().T
            wanted = wanted + (0 if b is None else b.double().numpy())
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
