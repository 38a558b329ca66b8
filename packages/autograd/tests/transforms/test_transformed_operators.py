"""Every differentiable row under the transforms: against a loop, and against differences."""

import pytest
import samples_indices
from numbers_for_tests import reals
from samples import SAMPLES

import flambeau
from flambeau import func
from flambeau.autograd._table import NO_DERIVATIVE, RULES, load_rules
from flambeau.core import ops
from flambeau.core.opdefs import OPDEFS

load_rules()
pytestmark = pytest.mark.filterwarnings("ignore:vmap. .* has no batching rule")
SAMPLES = SAMPLES | samples_indices.SAMPLES
#: Steps: differences across them are no derivatives.
STEPS = ("nextafter",)


def _of_row(row):
    low, high = row.domain
    shapes = [(2, 3), (3,), (2, 1)]
    count = len([p for p in row.operands if p.role != "Mask"])
    return lambda: (getattr(ops, row.name), tuple(
        reals(*shapes[i], low=low, high=high, seed=i) for i in range(count)))


DERIVED = {row.key: [_of_row(row)] for row in OPDEFS
           if row.category == "pointwise" and row.differentiable
           and row.key not in RULES and row.key not in NO_DERIVATIVE}
CALLS = [pytest.param(make, id=f"{key}-{n}") for table in (SAMPLES, DERIVED)
         for key, makers in table.items() for n, make in enumerate(makers)]


def _flat(result):
    if isinstance(result, flambeau.Tensor):
        return (result,)
    if isinstance(result, (tuple, list)):
        return tuple([t for part in result for t in _flat(part)])
    return ()


def _call(make):
    fn, inputs = make()
    return lambda *args: _flat(fn(*args)), [x.detach() for x in inputs]


def _sample(x, i):
    """The input, a little different for each sample; integers stay."""
    return x * (1 + 0.01 * i) if x.is_floating_point() or x.is_complex() else x


def _batches(inputs, count=3):
    rows = [[_sample(x, i) for x in inputs] for i in range(count)]
    return rows, [flambeau.stack(list(column)) for column in zip(*rows, strict=True)]


def _assert_close(got, expected, tolerance=1e-8):
    assert got.shape == expected.shape
    assert got.dtype is expected.dtype
    off = (got - expected).abs() > tolerance * (1 + expected.abs())
    assert not (off & (got == got) & (got != expected)).any().item()
    assert ((got != got) == (expected != expected)).all().item()


def _stacked(rows):
    return [flambeau.stack(list(column)) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("make", CALLS)
def test_vmap_is_a_loop(make):
    fn, inputs = _call(make)
    rows, batches = _batches(inputs)
    for got, expected in zip(func.vmap(fn)(*batches), _stacked([fn(*row) for row in rows]),
                             strict=True):
        _assert_close(got, expected)


@pytest.mark.parametrize("make", [c for c in CALLS if len(c.values[0]()[1]) > 1])
def test_vmap_over_the_first_input_alone(make):
    fn, inputs = _call(make)
    rows, batches = _batches(inputs[:1])
    dims = (0,) + (None,) * (len(inputs) - 1)
    got = func.vmap(fn, dims)(*batches, *inputs[1:])
    expected = _stacked([fn(*row, *inputs[1:]) for row in rows])
    for a, b in zip(got, expected, strict=True):
        _assert_close(a, b)


@pytest.mark.parametrize("make", CALLS)
def test_vmap_of_the_gradient_is_a_loop(make):
    fn, inputs = _call(make)
    rows, batches = _batches(inputs)

    def loss(*args):
        return sum([(y.abs() ** 2).sum() for y in fn(*args)
                    if y.is_floating_point() or y.is_complex()])
    gradient = func.grad(loss, tuple(range(len(inputs))))
    for got, expected in zip(func.vmap(gradient)(*batches),
                             _stacked([gradient(*row) for row in rows]), strict=True):
        _assert_close(got, expected, 1e-7)


@pytest.mark.parametrize("make", [c for c in CALLS if not c.id.startswith(STEPS)])
def test_jvp_is_a_difference(make):
    fn, inputs = _call(make)
    tangents = tuple([0.3 * x.cos() + 0.2 for x in inputs])
    values, found = func.jvp(fn, tuple(inputs), tangents)
    step = 1e-6
    above = fn(*[x + step * t for x, t in zip(inputs, tangents, strict=True)])
    below = fn(*[x - step * t for x, t in zip(inputs, tangents, strict=True)])
    for y, t, a, b in zip(values, found, above, below, strict=True):
        assert t.shape == y.shape
        assert t.dtype is y.dtype
        if y.is_floating_point() or y.is_complex():
            _assert_close(t, (a - b) / (2 * step), 2e-4)
