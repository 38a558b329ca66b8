"""In-place and ``out=`` forms: aliasing, refused targets, version counts."""

from __future__ import annotations

import warnings

import numpy
import pytest
from arrays import make, tensor
from checks import bits
from pointwise_opdefs import POINTWISE

import flambeau
from flambeau.core import ops
from flambeau.core.opdefs import OPDEFS

INPLACE = [opdef for opdef in POINTWISE if opdef.inplace]
OUT = [opdef for opdef in POINTWISE if opdef.out and opdef.forms]


def _arrays(opdef, shape=(3, 7)):
    dtype = "float32" if "float" in opdef.formulas else "int32"
    made = [tensor(make(shape, dtype, opdef.domain, seed=i)) for i, _ in enumerate(opdef.operands)]
    if opdef.operands[0].role == "Mask":
        made[0] = tensor(make(shape, "bool"))
    return made


@pytest.mark.parametrize("opdef", INPLACE, ids=lambda opdef: opdef.key)
def test_inplace_form_equals_the_function(opdef):
    x, *rest = _arrays(opdef)
    expected = getattr(ops, opdef.name)(x, *rest)
    version = x._version
    given = getattr(ops, opdef.name + "_")(x, *rest)
    assert given is x
    assert x._version == version + 1
    assert bits(x) == bits(expected.to(x.dtype))


@pytest.mark.parametrize("opdef", OUT, ids=lambda opdef: opdef.key)
def test_out_form_equals_the_function(opdef):
    inputs = _arrays(opdef)
    expected = getattr(ops, opdef.name)(*inputs)
    for target in (flambeau.empty((3, 7), dtype=expected.dtype),
                   flambeau.empty((7, 3), dtype=expected.dtype).t(),
                   flambeau.empty(0, dtype=expected.dtype)):
        version = target._version
        given = getattr(ops, opdef.name)(*inputs, out=target)
        assert given is target
        assert target._version > version
        assert bits(target) == bits(expected)


def test_every_inplace_row_has_the_method_and_the_function():
    for opdef in OPDEFS:
        if not opdef.inplace:
            continue
        names = [opdef.name, *opdef.plain_aliases] if "method" in opdef.forms else []
        for name in names:
            assert hasattr(flambeau.Tensor, name + "_"), name
        if not opdef.inplace and "method" in opdef.forms:
            assert not hasattr(flambeau.Tensor, opdef.name + "_")


# ---- aliasing


def test_partial_overlap_is_copied_first():
    """Of memory with gaps, that is: test_overlaps.py has what is refused."""
    for shift in (1, 2, 5):
        a = numpy.arange(80.0, dtype="float32").reshape(2, 40)
        x = tensor(a)
        x[:, shift:] += x[:, :-shift]
        expected = a.copy()
        expected[:, shift:] += a[:, :-shift]
        numpy.testing.assert_array_equal(x.numpy(), expected)


def test_overlap_in_the_other_direction_and_transposed():
    a = numpy.arange(16.0, dtype="float32").reshape(4, 4)
    x = tensor(a)[:, :3]
    x[:-1] *= x[1:]
    expected = a[:, :3].copy()
    expected[:-1] *= a[1:, :3]
    numpy.testing.assert_array_equal(x.numpy(), expected)
    y = tensor(a)[:3, :3]
    y += y.t()
    numpy.testing.assert_array_equal(y.numpy(), (a + a.T)[:3, :3])


def test_copy_onto_an_overlapping_view():
    a = numpy.arange(10, dtype="int64")
    x = tensor(a)
    x[2::2].copy_(x[:-2:2])
    expected = a.copy()
    expected[2::2] = a[:-2:2]
    numpy.testing.assert_array_equal(x.numpy(), expected)


def test_out_may_be_an_operand():
    x, y = tensor(make((5,))), tensor(make((5,), seed=1))
    expected = x + y
    assert flambeau.add(x, y, out=x) is x
    assert bits(x) == bits(expected)


def test_matmul_out_of_an_operand():
    a, b = tensor(make((4, 4))), tensor(make((4, 4), seed=1))
    expected = a @ b
    flambeau.matmul(a, b, out=a)
    assert bits(a) == bits(expected)


def test_reductions_write_to_out():
    x = tensor(make((3, 4)))
    for name in ("sum", "mean", "amax", "prod"):
        target = flambeau.empty(3)
        assert getattr(flambeau, name)(x, 1, out=target) is target
        assert bits(target) == bits(getattr(x, name)(1))
    values, indices = flambeau.empty(3), flambeau.empty(3, dtype=flambeau.int64)
    flambeau.sort(x[:, 0], out=(values, indices))
    assert bits(values) == bits(x[:, 0].sort()[0])


def test_bool_operators_in_place_keep_the_dtype():
    x = flambeau.tensor([1.0, 2.0, 3.0])
    x.gt_(1.5)
    assert x.tolist() == [0.0, 1.0, 1.0]
    assert x.dtype is flambeau.float32


# ---- refused targets: nothing is written, no version counted

REFUSED = {
    "expanded": (lambda: flambeau.zeros(3).expand(2, 3), "single memory location"),
    "read-only": (lambda: flambeau.as_tensor(_frozen()), "read-only"),
    "overlapping": (lambda: flambeau.zeros(6).as_strided((2, 3), (1, 1)), "single memory location"),
}
WRITES = {
    "add_": lambda x: x.add_(1), "iadd": lambda x: x.__iadd__(1), "exp_": lambda x: x.exp_(),
    "fill_": lambda x: x.fill_(1), "zero_": lambda x: x.zero_(),
    "copy_": lambda x: x.copy_(flambeau.ones(2, 3)), "clamp_": lambda x: x.clamp_(0, 1),
    "masked_fill_": lambda x: x.masked_fill_(flambeau.ones(2, 3) > 0, 1),
    "out=": lambda x: flambeau.exp(flambeau.ones(2, 3), out=x),
    "sum out=": lambda x: flambeau.sum(flambeau.ones(4, 2, 3), 0, out=x),
    "setitem": lambda x: x.__setitem__(slice(None), 1.0),
    "uniform_": lambda x: x.uniform_(), "normal_": lambda x: x.normal_(),
    "tril_": lambda x: x.tril_(),
    "index_put_": lambda x: x.index_put_((flambeau.tensor([0]),), flambeau.ones(3)),
    "scatter_": lambda x: x.scatter_(0, flambeau.tensor([[0, 0, 0]]), 1.0),
}


def _frozen():
    array = numpy.zeros((2, 3), "float32")
    array.flags.writeable = False
    return array


#: One number goes to all elements, so that some may be the same memory.
FILLS = ("fill_", "zero_", "setitem")

#: Elements are written one after the other: test_overlaps.py.
INDEXED = ("index_put_", "masked_fill_")


@pytest.mark.parametrize("kind, write", [
    (kind, write) for kind in REFUSED for write in WRITES
    if kind == "read-only" or write not in FILLS + INDEXED])
def test_refused_targets(kind, write):
    made, text = REFUSED[kind]
    x = made()
    version = x._version
    with pytest.raises((RuntimeError, ValueError), match=text):
        WRITES[write](x)
    assert x._version == version
    assert x.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("write", FILLS)
def test_one_number_fills_elements_that_share_memory(write):
    number = 0.0 if write == "zero_" else 1.0
    for made in (REFUSED["expanded"][0], REFUSED["overlapping"][0]):
        x = made()
        WRITES[write](x)
        assert x.tolist() == [[number] * 3] * 2
        assert x._version == 1
    base = flambeau.ones(100000)
    base[:50000].expand(3, 50000).fill_(2)
    assert base.sum() == 150000


@pytest.mark.parametrize(("target", "write"), [
    ("int64", lambda x: x.add_(1.5)), ("bool", lambda x: x.add_(1)),
    ("float32", lambda x: x.mul_(1j)), ("int32", lambda x: x.div_(2)),
    ("int64", lambda x: flambeau.exp(flambeau.ones(3), out=x)),
    ("uint8", lambda x: flambeau.sum(flambeau.ones(2, 3), 0, out=x)),
])
def test_results_that_cannot_be_cast_are_refused(target, write):
    x = flambeau.zeros(3, dtype=getattr(flambeau, target))
    version = x._version
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        write(x)
    assert x._version == version
    assert x.tolist() == [0, 0, 0]


def test_self_does_not_grow():
    with pytest.raises(RuntimeError, match="shape"):
        flambeau.ones(3).add_(flambeau.ones(2, 3))
    with pytest.raises(RuntimeError, match="shape"):
        flambeau.ones(1).mul_(flambeau.ones(4))


def _warned(call, *args, **options):
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        return call(*args, **options)


def test_out_of_another_shape_is_resized_with_a_warning_unless_empty(recwarn):
    x = flambeau.ones(2, 3)
    target = flambeau.empty(0)
    assert flambeau.exp(x, out=target).shape == (2, 3)
    assert not recwarn
    for given in (flambeau.empty(4), flambeau.empty(3, 4).t(), flambeau.empty(())):
        assert _warned(flambeau.add, x, 1, out=given) is given
        assert given.tolist() == [[2.0] * 3] * 2 and given.stride() == (3, 1)
    nothing = flambeau.empty(3)
    assert _warned(flambeau.add, x[:0], 1, out=nothing).shape == (0, 3)
    values, positions = flambeau.empty(1), flambeau.empty(5, dtype=flambeau.int64)
    _warned(flambeau.max, x, 0, out=(values, positions))
    assert values.tolist() == [1.0] * 3 and positions.tolist() == [0] * 3


def test_a_warning_that_is_an_error_leaves_out_as_it_is():
    x = flambeau.zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="was resized"):
            flambeau.exp(flambeau.ones(3), out=x)
    assert x.tolist() == [0.0, 0.0]


def test_out_is_resized_in_its_memory_where_that_suffices():
    buffer = flambeau.zeros(4)
    assert flambeau.add(flambeau.ones(2), 1, out=buffer[:0]).tolist() == [2.0, 2.0]
    assert buffer.tolist() == [2.0, 2.0, 0.0, 0.0]
    tail = buffer[2:]
    assert _warned(flambeau.exp, flambeau.zeros(300), out=tail).sum() == 300
    assert not tail._is_view() and buffer.tolist() == [2.0, 2.0, 0.0, 0.0]
    array = numpy.zeros(2, "float32")
    with pytest.raises(RuntimeError, match="storage that is not resizable"):
        flambeau.exp(flambeau.zeros(3), out=flambeau.from_numpy(array))
    _warned(flambeau.exp, flambeau.zeros(2), out=flambeau.from_numpy(array)[:1])
    assert array.tolist() == [1.0, 1.0]


def test_out_that_is_resized_over_its_operands_is_right():
    x = flambeau.arange(6.0).view(2, 3)
    _warned(flambeau.mul, x[:1], x[1:], out=x[0, :2])
    assert x.tolist() == [[0.0, 4.0, 10.0], [3.0, 4.0, 5.0]]
    x = flambeau.arange(6.0)
    out = x[1:]
    _warned(flambeau.flip, x[:4], (0,), out=out)
    assert out.tolist() == [3.0, 2.0, 1.0, 0.0]
    x = flambeau.arange(6.0).view(2, 3)
    for call in (lambda: flambeau.add(x, flambeau.ones(4, 2, 3), out=x),
                 lambda: flambeau.sum(x, 0, out=x), lambda: flambeau.cat([x, x], out=x)):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            call()
        assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_new_tensors_resize_out_without_a_warning(recwarn):
    out = flambeau.empty(2, 2)
    for made in (flambeau.zeros(5, out=out), flambeau.eye(3, out=out), flambeau.rand(7, out=out)):
        assert made is out
    assert flambeau.arange(7.0, out=out).shape == (7,)
    assert flambeau.linspace(0, 3, 4, out=out.resize_(2, 2)).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert flambeau.linspace(0, 3, 2, out=out).tolist() == [0.0, 3.0]
    assert not recwarn
    assert _warned(flambeau.arange, 3, out=out).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(("dtype", "out", "call", "expected"), [
    ("float16", "float64", lambda x, y: flambeau.mul(x, x, out=y), [float("inf"), 9.0]),
    ("float16", "float32", lambda x, y: flambeau.add(x, 0.0001, out=y), [60000.0, 3.0]),
    ("bfloat16", "float32", lambda x, y: flambeau.square(x, out=y), [3590324224.0, 9.0]),
    ("int8", "int64", lambda x, y: flambeau.mul(x, 50, out=y), [-64, -106]),
    ("int8", "float32", lambda x, y: flambeau.sub(x, 125, out=y), [-29.0, -122.0]),
    ("uint8", "int32", lambda x, y: flambeau.sub(x, 97, out=y), [255, 162]),
])
def test_out_of_a_wider_dtype_takes_results_as_the_operands_dtype_holds_them(
        dtype, out, call, expected):
    x = flambeau.tensor([60000.0, 3.0] if "float" in dtype else [96, 3],
                        dtype=getattr(flambeau, dtype))
    y = flambeau.empty(2, dtype=getattr(flambeau, out))
    assert call(x, y).tolist() == expected


@pytest.mark.parametrize(("name", "arguments", "expected"), [
    ("sum", (0,), [120000.0]), ("nansum", (0,), [120000.0]), ("prod", (0,), [3600000000.0]),
    ("cumsum", (0,), [[60000.0], [120000.0]]), ("cumprod", (0,), [[60000.0], [3600000000.0]]),
])
def test_sums_and_products_accumulate_in_the_dtype_of_out(name, arguments, expected):
    x = flambeau.tensor([[60000.0], [60000.0]], dtype=flambeau.float16)
    call = getattr(flambeau, name)
    assert call(x, *arguments, out=flambeau.empty(0, dtype=flambeau.float32)).tolist() == expected
    with pytest.raises(RuntimeError, match="dtype"):
        call(x, *arguments, dtype=flambeau.float16, out=flambeau.empty(0))


# ---- versions


def test_versions_are_shared_by_views_and_detach():
    x = flambeau.zeros(4)
    view, other, before = x[1:], x.detach(), x._version
    view.add_(1)
    other.mul_(2)
    assert x._version == view._version == other._version == before + 2
    assert x.tolist() == [0.0, 2.0, 2.0, 2.0]


def test_data_counts_on_its_own():
    x = flambeau.zeros(2)
    before = x._version
    x.data.add_(1)
    assert x._version == before
    assert x.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("write", WRITES)
def test_each_write_counts_once(write):
    x = flambeau.zeros(2, 3)
    before = x._version
    WRITES[write](x)
    assert x._version == before + 1


def test_reads_count_nothing():
    x = flambeau.ones(2, 3)
    before = x._version
    _ = x + 1, x.exp(), x.sum(), x[0], x.numpy(), x.tolist(), repr(x), x.clone()
    assert x._version == before


def test_what_was_just_made_has_no_writes():
    x = flambeau.empty(2, 3)
    made = [
        flambeau.zeros(2), flambeau.ones(2), flambeau.full((2,), 7.0), flambeau.eye(2),
        flambeau.rand(2), flambeau.randn(2), flambeau.randint(0, 4, (2,)), flambeau.arange(3),
        flambeau.zeros_like(x), flambeau.ones_like(x), flambeau.full_like(x, 2),
        flambeau.rand_like(x), flambeau.randn_like(x), x.new_zeros(2), x.new_ones(2),
        x.new_full((2,), 3.0),
    ]
    assert [each._version for each in made] == [0] * len(made)
    assert flambeau.zeros(2).add_(1)._version == 1


@pytest.mark.parametrize("bins", [1 << 62, 1 << 61, (1 << 63) - 1])
def test_a_result_larger_than_memory_does_not_fit_its_target(bins):
    """The bytes of the first overflow to none, which any memory has room for."""
    out = flambeau.empty(0, 1, 2)
    with pytest.raises(RuntimeError, match="overflowed|memory"):
        flambeau.histc(flambeau.ones(60), bins, 0, 0, out=out)
    assert out.shape == (0, 1, 2)
