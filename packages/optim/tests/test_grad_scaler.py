"""``GradScaler``: when it steps, how the scale moves, what it refuses; against PyTorch's too."""

import copy
import math
import pickle

import numpy as np
import pytest
from leaves import leaf

import flambeau
from flambeau import optim


def make(*grads, **options):
    params = [leaf([0.0, 0.0], grad=grad) for grad in grads or ([1.0, 2.0],)]
    scaler = flambeau.amp.GradScaler("cpu", **options)
    scaler.scale(flambeau.tensor(1.0))
    return scaler, optim.SGD(params, lr=1.0), params


def test_the_room_of_amp():
    assert flambeau.amp.GradScaler is optim.GradScaler


def test_what_is_scaled():
    scaler = optim.GradScaler("cpu", init_scale=4.0)
    one = flambeau.tensor(1.5)
    assert float(scaler.scale(one)) == 6.0
    nested = scaler.scale([one, (one, one)])
    assert [float(nested[0]), float(nested[1][1])] == [6.0, 6.0]
    assert isinstance(nested[1], tuple)
    assert [float(each) for each in scaler.scale(each for each in (one, one))] == [6.0, 6.0]
    assert scaler.scale(one.to(flambeau.float16)).dtype == flambeau.float16
    for wrong in (3.0, "loss", {"loss": one}):
        with pytest.raises(ValueError, match="takes a tensor"):
            scaler.scale(wrong)


def test_a_step_of_finite_gradients():
    scaler, optimizer, (p,) = make([2.0, -4.0], init_scale=2.0)
    assert scaler.step(optimizer) is True
    assert p.grad.tolist() == [1.0, -2.0]
    assert p.tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_step_is_skipped(bad):
    scaler, optimizer, params = make([1.0, 2.0], [1.0, bad], init_scale=8.0)
    assert scaler.step(optimizer) is False
    assert [p.tolist() for p in params] == [[0.0, 0.0]] * 2
    scaler.update()
    assert scaler.get_scale() == 4.0


def test_every_dtype_and_shape_is_looked_at():
    for dtype in (flambeau.float32, flambeau.float64, flambeau.bfloat16):
        for values in (1.0, np.ones((3, 70)), np.ones(100_000), np.ones((0, 3))):
            values = np.array(values)
            for index in [None, 0, -1] if values.size else [None]:
                grad = values.copy()
                if index is not None:
                    grad.flat[index] = math.inf
                p = leaf(np.zeros_like(grad), dtype=dtype)
                p.grad = flambeau.tensor(grad, dtype=dtype)
                scaler = optim.GradScaler("cpu", init_scale=2.0)
                scaler.scale(p)
                assert scaler.step(optim.SGD([p], lr=1.0)) is (index is None)
    strided = leaf(np.zeros((2, 3)))
    strided.grad = flambeau.ones(3, 2).t()
    strided.grad[1, 2] = math.nan
    scaler.update()
    assert scaler.step(optim.SGD([strided], lr=1.0)) is False


def test_growth():
    scaler, optimizer, (p,) = make(init_scale=2.0, growth_interval=2)
    scales = []
    for step in range(7):
        p.grad = flambeau.tensor([1.0, math.inf if step == 3 else 1.0])
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [2.0, 4.0, 4.0, 2.0, 2.0, 4.0, 4.0]


def test_the_scale_stays_finite():
    scaler, optimizer, _ = make(init_scale=2.0**127, growth_interval=1)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**127


def test_unscaled_by_hand_and_several_optimizers():
    scaler, first, (p,) = make([4.0, 4.0], init_scale=4.0)
    second = optim.SGD([leaf([0.0], grad=[math.inf])], lr=1.0)
    scaler.unscale_(first)
    assert p.grad.tolist() == [1.0, 1.0]
    p.grad.mul_(0.5)
    assert scaler.step(first) is True
    assert p.tolist() == [-0.5, -0.5]
    assert scaler.step(second) is False
    scaler.update()
    assert scaler.get_scale() == 2.0


def test_the_order_of_calls_is_checked():
    fresh = optim.GradScaler("cpu")
    scaler, optimizer, _ = make()
    for call in (fresh.update, lambda: fresh.step(optimizer), lambda: fresh.unscale_(optimizer)):
        with pytest.raises(RuntimeError, match="nothing was scaled"):
            call()
    with pytest.raises(RuntimeError, match="no gradients were checked"):
        scaler.update()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="call update"):
        scaler.unscale_(optimizer)
    scaler.update()
    with pytest.raises(RuntimeError, match="closure"):
        scaler.step(optimizer, closure=lambda: 0)
    half = optim.SGD([leaf([0.0], grad=[1.0], dtype=flambeau.float16)])
    with pytest.raises(ValueError, match="autocast"):
        scaler.unscale_(half)


def test_a_new_scale():
    scaler, _, _ = make()
    scaler.update(flambeau.tensor([32.0]))
    assert scaler.get_scale() == 32.0
    scaler.update(8.0)
    assert scaler.get_scale() == 8.0
    with pytest.raises(ValueError, match="one element"):
        scaler.update(flambeau.ones(2))


def test_not_enabled():
    scaler, optimizer, (p,) = make([1.0, math.inf], enabled=False)
    loss = flambeau.tensor(1.0)
    assert scaler.scale(loss) is loss
    assert scaler.step(optimizer) is True
    assert p.tolist() == [-1.0, -math.inf]
    assert scaler.step(optimizer, lambda: 7) == 7
    scaler.update()
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)


def test_state_and_options():
    scaler, optimizer, _ = make(init_scale=2.0)
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(5)
    with pytest.raises(RuntimeError, match="after update"):
        scaler.step(optimizer)
        copy.deepcopy(scaler)
    scaler.update()
    state = scaler.state_dict()
    assert state == {
        "scale": 2.0,
        "growth_factor": 3.0,
        "backoff_factor": 0.25,
        "growth_interval": 5,
        "_growth_tracker": 1,
    }
    other = optim.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == pickle.loads(pickle.dumps(scaler)).state_dict() == state
    assert (other.get_growth_factor(), other.get_backoff_factor()) == (3.0, 0.25)
    assert other.get_growth_interval() == 5
    with pytest.raises(RuntimeError, match="not enabled"):
        other.load_state_dict({})
    with pytest.raises(ValueError, match="growth_factor"):
        optim.GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(ValueError, match="backoff_factor"):
        optim.GradScaler("cpu", backoff_factor=1.0)


def test_without_a_gpu_it_says_so_and_does_nothing(monkeypatch):
    monkeypatch.setattr(flambeau.rooms, "installed", lambda room: False)
    with pytest.warns(UserWarning, match=r'GradScaler\("cpu"\)'):
        assert not optim.GradScaler().is_enabled()


@pytest.mark.oracle
def test_scales_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    bad = rng.random(100) < 0.1

    def run(t):
        p = t.zeros(2)
        scaler = t.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=4, growth_factor=4.0)
        optimizer = t.optim.SGD([p], lr=0.1)
        trace = []
        for step in range(100):
            scaler.scale(t.tensor(1.0))
            p.grad = t.tensor([math.inf if bad[step] else 1.0, float(step)])
            scaler.step(optimizer)
            scaler.update()
            trace.append((scaler.get_scale(), scaler.state_dict()["_growth_tracker"]))
        return trace, p.tolist(), scaler.state_dict()

    mine, theirs = run(flambeau), run(torch)
    assert mine[0] == theirs[0]
    assert mine[1] == pytest.approx(theirs[1], rel=1e-5)
    assert mine[2] == theirs[2]


@pytest.mark.parametrize("unscale_first", [False, True])
def test_a_step_without_any_gradient_is_refused(unscale_first):
    idle = optim.SGD([flambeau.ones(2)], lr=0.1)
    scaler = flambeau.amp.GradScaler("cpu")
    scaler.scale(flambeau.ones(()))
    if unscale_first:
        scaler.unscale_(idle)
    with pytest.raises(AssertionError, match=r"No inf checks were recorded for this optimizer"):
        scaler.step(idle)
    with pytest.raises(AssertionError, match=r"No inf checks were recorded prior to update"):
        scaler.update()
