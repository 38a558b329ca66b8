"""Batch norms of frozen programs: into weights within rounding, or to the same bits."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import jit, nn

DOUBLE = flambeau.float64


def settled(model):
    """In eval mode, with statistics that are not 0 and 1."""
    flambeau.manual_seed(0)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.normal_()
            module.running_var.uniform_(0.3, 3)
            if module.affine:
                nn.init.normal_(module.weight)
                nn.init.normal_(module.bias)
    return model.eval()


def ops(program):
    inner = [node.body.nodes if node.body else [node] for node in program.graph.nodes]
    return [node.op for nodes in inner for node in nodes]


class Added(nn.Module):
    """A convolution to which a number for each channel is added by hand."""

    def __init__(self):
        super().__init__()
        self.conv, self.more = nn.Conv2d(4, 6, 3), nn.Parameter(flambeau.randn(6, 1, 1))
        self.norm = nn.BatchNorm2d(6)

    def forward(self, x):
        return self.norm(self.conv(x) + self.more)


FOLDED = [
    (nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), (2, 4, 7, 6)),
    (nn.Conv2d(4, 6, 3, groups=2, bias=False), nn.BatchNorm2d(6, affine=False), (2, 4, 7, 6)),
    (nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6), (2, 4, 9)),
    (nn.Conv3d(2, 6, 2), nn.BatchNorm3d(6), (2, 2, 4, 5, 3)),
    (nn.ConvTranspose2d(4, 6, 3, groups=2, stride=2), nn.BatchNorm2d(6), (2, 4, 5, 4)),
    (nn.ConvTranspose2d(4, 6, 3, bias=False), nn.BatchNorm2d(6), (2, 4, 5, 4)),
    (nn.ConvTranspose1d(4, 6, 3), nn.BatchNorm1d(6), (2, 4, 5)),
    (nn.ConvTranspose3d(2, 6, 2), nn.BatchNorm3d(6), (2, 2, 3, 3, 4)),
    (nn.Linear(4, 6), nn.BatchNorm1d(6), (5, 4)),
    (Added(), nn.Identity(), (2, 4, 7, 6)),
    (nn.Conv1d(300, 250, 1), nn.BatchNorm1d(250), (1, 300, 9)),
]


@pytest.mark.parametrize(("layer", "norm", "shape"), FOLDED, ids=lambda each: str(each)[:40])
def test_a_batch_norm_becomes_part_of_the_weights(layer, norm, shape):
    model, x = settled(nn.Sequential(layer, norm, nn.ReLU())), flambeau.randn(*shape)
    program = jit.trace(model, x)
    one, other = jit.freeze(program), jit.freeze(program, optimize_numerics=False)
    assert not {"native_batch_norm", "channel_affine"} & set(ops(one))
    assert "channel_affine" in ops(other)
    with flambeau.no_grad():
        assert flambeau.equal(other(x), model(x))
        wanted = model.double()(x.double())
        model.float()
    assert (one(x).double() - wanted).abs().max() < 4e-6 * (1 + wanted.abs().max())
    assert one(x[:1]).shape[0] == 1, "the batch may still vary"


def test_float64_to_the_last_places():
    model = settled(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))).double()
    x = flambeau.randn(2, 3, 6, 6, dtype=DOUBLE)
    one = jit.freeze(jit.trace(model, x))
    assert ops(one) == ["conv2d"]
    assert (one(x) - model(x)).abs().max() < 1e-14


class Twice(nn.Module):
    """The convolution's result is used by more than the norm."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)

    def forward(self, x):
        y = self.conv(x)
        return self.norm(y) + y


class Returned(Twice):
    def forward(self, x):
        y = self.conv(x)
        return self.norm(y), y


class Sequence(nn.Module):
    """Channels of the norm are no features of the linear layer."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 6), nn.BatchNorm1d(6)

    def forward(self, x):
        return self.norm(self.linear(x))


class Unbatched(nn.Module):
    """Without a batch, the norm's channels are positions of the convolution."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(3, 5, 2), nn.BatchNorm1d(5)

    def forward(self, x):
        return self.norm(self.conv(x))


@pytest.mark.parametrize(("model", "shape"), [
    (Twice(), (2, 3, 4, 4)), (Returned(), (2, 3, 4, 4)), (Sequence(), (2, 6, 3)),
    (Unbatched(), (3, 6)), (nn.Sequential(nn.ReLU(), nn.BatchNorm2d(3)), (2, 3, 4, 4))],
    ids=lambda each: type(each).__name__)
def test_norms_that_stay_keep_their_bits(model, shape):
    model, x = settled(model), flambeau.randn(*shape)
    with flambeau.no_grad():
        wanted = model(x)
        one = jit.freeze(jit.trace(model, x, dynamic=False))
    assert "channel_affine" in ops(one)
    found = one(x)
    pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
    assert all(flambeau.equal(a, b) for a, b in pairs)


def test_weights_that_would_overflow_stay():
    model = settled(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))
    model[0].weight.data.fill_(1e30)
    model[1].running_var.fill_(1e-20)
    model[1].eps = 0.0
    one = jit.freeze(jit.trace(model, flambeau.zeros(4, 3)))
    assert ops(one) == ["linear", "channel_affine"]
    assert flambeau.equal(one(flambeau.zeros(4, 3)), model(flambeau.zeros(4, 3)))


def test_weights_shared_by_two_norms():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 1)
            self.one, self.other = nn.BatchNorm2d(3), nn.BatchNorm2d(3)

        def forward(self, x):
            return self.other(self.conv(self.one(self.conv(x))))

    model, x = settled(Shared()), flambeau.randn(2, 3, 4, 4)
    one = jit.freeze(jit.trace(model, x))
    assert ops(one) == ["conv2d", "conv2d"]
    assert (one(x) - model(x)).abs().max() < 1e-5


def test_frozen_programs_freeze_again_and_save(tmp_path):
    model, x = settled(nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 4, 1), nn.ReLU(),
                                     nn.BatchNorm2d(4))), flambeau.randn(2, 3, 4, 4)
    one = jit.freeze(jit.trace(model, x))
    again = jit.freeze(one)
    assert flambeau.equal(again(x), one(x)) and ops(again) == ops(one)
    one.save(tmp_path / "p")
    assert flambeau.equal(jit.load(tmp_path / "p")(x), one(x))


def test_statistics_stay_where_training_goes_on():
    """Only eval mode writes nothing: training programs keep their writes, and do not freeze."""
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    x = flambeau.randn(8, 3)
    program = jit.trace(model, x)
    assert not program.graph.is_pure()
    before = model[1].running_mean.clone()
    program(x)
    assert not flambeau.equal(model[1].running_mean, before)
    with pytest.raises(jit.ProgramError, match="training mode"):
        jit.freeze(program)
    traced = jit.trace(lambda x: model(x), x)
    with pytest.raises(jit.ProgramError, match="writes in place"):
        jit.freeze(traced)


def test_programs_in_eval_mode_are_optimized_and_see_new_statistics():
    model = settled(nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Sigmoid()))
    x = flambeau.randn(2, 3, 4, 4)
    program = jit.trace(model, x)
    assert program.graph.is_pure() and "fused" in [node.op for node in program.graph.nodes]
    model[1].running_mean.add_(1)
    assert flambeau.equal(program(x), model(x))


def test_gradients_through_writes_that_became_results():
    """ReLU in place, and a sum that is rounded when it is written."""
    weight = flambeau.randn(3, requires_grad=True)

    def fn(x):
        half = x.half() * 2
        half.add_(weight)
        return flambeau.relu_(half)

    x = flambeau.randn(5, 3)
    program = jit.trace(fn, x)
    wanted, = flambeau.autograd.grad(fn(x).sum(), weight)
    found, = flambeau.autograd.grad(program(x).sum(), weight)
    assert found.abs().sum() > 0 and flambeau.equal(found, wanted)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 2))
    program = jit.trace(model, x)
    assert flambeau.equal(program(x), model(x))


def test_optimize_for_inference_is_freeze():
    model = settled(nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)))
    x = flambeau.ones(1, 3, 2, 2)
    program = jit.trace(model, x)
    assert ops(jit.optimize_for_inference(program)) == ["conv2d"]
