"""batch_norm in compiled calls: statistics at once, the rest with what follows, the same bits."""

import pytest

import flambeau
from flambeau import jit, nn
from flambeau.nn import functional as F

pytestmark = pytest.mark.usefixtures("small_kernels_wait")


def bits(tensor):
    return tensor.detach().contiguous().view(-1).view(flambeau.uint8)


SHAPES = [(2, 3), (1, 5, 1, 2), (4, 3, 5), (3, 2, 4, 5), (2, 40, 9, 9)]


def inputs(shape, dtype):
    flambeau.manual_seed(sum(shape))
    x = flambeau.randn(shape, dtype=dtype) * 3 + 1
    return x, flambeau.randn(shape, dtype=dtype)


def network(channels, dtype, training, options):
    class Norm(nn.modules.batchnorm._BatchNorm):
        def _check_input_dim(self, given):
            pass
    flambeau.manual_seed(7)
    norm = Norm(channels, **options).to(dtype)
    with flambeau.no_grad():
        for p in (*norm.parameters(), *(b for b in norm.buffers() if b.is_floating_point())):
            p.add_(flambeau.rand(p.shape, dtype=dtype))
    return norm.train(training)


def run(shape, dtype, training, options, wrap, forward):
    x, other = inputs(shape, dtype)
    norm = network(shape[1], dtype, training, options)
    x.requires_grad_()

    def step(x, other):
        y = forward(norm, x, other)
        y.backward(other)
        return y
    step = wrap(step)
    results = [step(x, other) for _ in range(2)]
    found = [*results, x.grad, *norm.parameters(), *norm.buffers()]
    return found + [p.grad for p in norm.parameters()]


FORWARDS = {
    "norm": lambda norm, x, other: norm(x),
    "activation": lambda norm, x, other: norm(x).relu(),
    "branches": lambda norm, x, other: F.gelu(norm(x * 2) + norm(other) + x),
    "in place": lambda norm, x, other: norm(x).mul_(2).relu_(),
    "transposed": lambda norm, x, other: norm(x.transpose(0, -1).contiguous().transpose(0, -1)),
    "used twice": lambda norm, x, other: (lambda y: y * y.sum() + y)(norm(x + 1)),
}


@pytest.mark.parametrize("name", FORWARDS)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16])
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"track_running_stats": False}])
def test_bits_and_statistics(name, training, dtype, options):
    for shape in SHAPES:
        args = (shape, dtype, training, options)
        wanted = run(*args, lambda step: step, FORWARDS[name])
        found = run(*args, jit.compile, FORWARDS[name])
        for one, other in zip(wanted, found, strict=True):
            assert one.stride() == other.stride() and flambeau.equal(bits(one), bits(other)), shape


def test_the_normalized_input_joins_the_loop_of_what_follows():
    norm = nn.BatchNorm2d(3).eval()
    x = flambeau.randn(2, 3, 4, 4)
    step = jit.compile(lambda x: (norm(x) + x).relu())
    with flambeau.no_grad():
        step(x)
    assert "channel_affine add relu" in step.explain()


def test_statistics_change_after_the_call_that_reads_them():
    """What waits has numbers of its own: the running statistics may be written meanwhile."""
    def step(x, mean, var):
        y = F.batch_norm(x, mean, var)
        mean.fill_(100)
        var.zero_()
        return y
    x = flambeau.randn(4, 3, 5, 5)
    results = [f(x, flambeau.zeros(3), flambeau.ones(3)) for f in (step, jit.compile(step))]
    assert flambeau.equal(*map(bits, results))


def test_input_written_after_the_call():
    def step(x):
        x = x * 1
        y = F.batch_norm(x, None, None, training=True)
        x.zero_()
        return y + x
    x = flambeau.randn(4, 3, 5, 5)
    assert flambeau.equal(bits(step(x)), bits(jit.compile(step)(x)))
