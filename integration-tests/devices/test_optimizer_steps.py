"""Steps of optimizers on a device: many tensors in one launch, and counted there for graphs."""
from __future__ import annotations

import shutil
from functools import partial

import pytest
from device_calls import DEVICE

import flambeau as fl
from flambeau import optim
from flambeau.cuda import _launch

if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)

OPTIMIZERS = {
    "sgd": partial(optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.1),
    "nesterov": partial(optim.SGD, lr=0.1, momentum=0.9, nesterov=True, maximize=True),
    "adagrad": partial(optim.Adagrad, lr=0.1),
    **{name: partial(getattr(optim, name), lr=0.02)
       for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Rprop", "Adadelta")},
    "amsgrad": partial(optim.Adam, amsgrad=True, weight_decay=0.1),
    "decoupled": partial(optim.NAdam, weight_decay=0.1, decoupled_weight_decay=True),
    "asgd": partial(optim.ASGD, lr=0.02, t0=3),
    "rmsprop": partial(optim.RMSprop, lr=0.02, momentum=0.9, centered=True),
}
CAPTURABLE = [name for name in OPTIMIZERS if name not in ("sgd", "nesterov", "adagrad")]
SHAPES = [(3, 4), (5,), (), (90, 101), (0, 3), (2, 3, 4, 4)]


@pytest.fixture
def launches(monkeypatch):
    """The rules that were launched over many tensors."""
    seen, update = [], _launch.update
    monkeypatch.setattr(_launch, "update", lambda *a: (seen.append(a[2]), update(*a))[1])
    return seen


def parameters(dtype="float32", shapes=SHAPES, device=DEVICE):
    fl.manual_seed(0)
    return [fl.randn(*s).to(getattr(fl, dtype)).to(device).requires_grad_() for s in shapes]


def set_gradients(params, seed):
    fl.manual_seed(seed)
    for p in params:
        grad = fl.randn(*p.shape, dtype=fl.complex64 if p.is_complex() else fl.float32)
        p.grad = grad.to(p.dtype).to(p.device)


def trained(make, params, steps=8):
    optimizer = make(params)
    for k in range(steps):
        set_gradients(params, k)
        optimizer.step()
    return [p.detach().cpu() for p in params]


def same(found, wanted):
    return all(bool((a == b).all()) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_launch_has_the_bits_of_the_cpu(name, dtype, launches):
    found = trained(OPTIMIZERS[name], parameters(dtype))
    # SGD's first step has no momentum, RAdam's first ones another rule: these are launches, too.
    assert len(launches) == 8
    assert same(found, trained(OPTIMIZERS[name], parameters(dtype, device="cpu")))


@pytest.mark.parametrize("name", CAPTURABLE)
def test_steps_that_are_counted_on_the_device(name, launches):
    found = trained(partial(OPTIMIZERS[name], capturable=True), parameters())
    assert len(launches) == 8
    for got, want in zip(found, trained(OPTIMIZERS[name], parameters()), strict=True):
        fl.testing.assert_close(got, want)


@pytest.mark.parametrize("capturable", [False, True])
def test_more_tensors_than_a_launch_takes(launches, capturable):
    make = partial(optim.AdamW, capturable=capturable)
    shapes = [(k % 7 + 1, 3) for k in range(200)]
    found = trained(make, parameters(shapes=shapes))
    for got, want in zip(found, trained(make, parameters(shapes=shapes, device="cpu")),
                         strict=True):
        fl.testing.assert_close(got, want)
    assert len(launches) == 8


def views_of_one(device):
    whole = fl.linspace(-1, 1, 40).to(device)
    return [whole[1:6].requires_grad_(), whole[7:27].view(4, 5).t().requires_grad_(),
            whole[30:36:2].requires_grad_()]


def overlapping(device):
    whole = fl.linspace(-1, 1, 12).to(device)
    return [whole[:8].requires_grad_(), whole[4:].requires_grad_()]


def of_several_dtypes(device):
    return [*parameters("float32", device=device), *parameters("bfloat16", device=device)]


def complex_ones(device):
    return [fl.linspace(-1, 1, 6).to(fl.complex64).to(device).requires_grad_()]


@pytest.mark.parametrize("capturable", [False, True])
@pytest.mark.parametrize("make", [views_of_one, overlapping, of_several_dtypes, complex_ones])
def test_tensors_of_other_kinds(make, capturable):
    """Those that cannot go together go one after the other."""
    optimizer = partial(optim.Adam, lr=0.1, capturable=capturable)
    for got, want in zip(trained(optimizer, make(DEVICE)), trained(optimizer, make("cpu")),
                         strict=True):
        fl.testing.assert_close(got, want)


def captured(params, optimizer):
    """A graph of a step, and where it reads its gradients."""
    for p in params:
        p.grad = fl.zeros_like(p)
    graph = fl.cuda.CUDAGraph()
    with fl.cuda.graph(graph):
        optimizer.step()
    return graph


def replay(graph, params, seed):
    places = [p.grad for p in params]
    set_gradients(params, seed)
    for p, place in zip(params, places, strict=True):
        place.copy_(p.grad)
        p.grad = place
    graph.replay()


@pytest.mark.parametrize("name", [*CAPTURABLE, "sgd", "nesterov"])
def test_replays_are_further_steps(on_cuda, name):
    make = OPTIMIZERS[name]
    if name in CAPTURABLE:
        make = partial(make, capturable=True)
    params = parameters()
    optimizer = make(params)
    for k in range(2):
        set_gradients(params, k)
        optimizer.step()
    graph = captured(params, optimizer)
    for k in range(2, 8):
        replay(graph, params, k)
    wanted = trained(make, parameters())
    assert same([p.detach().cpu() for p in params], wanted)


@pytest.mark.parametrize("name", ["sgd", "Adam", "NAdam", "RAdam", "Adadelta"])
def test_replays_read_the_learning_rate(on_cuda, name):
    """A tensor on the device, which a schedule writes to."""
    def run(as_graph):
        params = parameters()
        rate = fl.tensor(0.1, device=DEVICE)
        settings = {} if name == "sgd" else {"capturable": True}
        make = OPTIMIZERS[name]
        optimizer = partial(make.func, **{**make.keywords, "lr": rate, **settings})(params)
        schedule = optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        graph = None
        for k in range(6):
            if k < 2 or not as_graph:
                set_gradients(params, k)
                optimizer.step()
            else:
                graph = graph or captured(params, optimizer)
                replay(graph, params, k)
            schedule.step()
        assert rate.item() == pytest.approx(0.1 / 64)
        return [p.detach().cpu() for p in params]

    assert same(run(True), run(False))


def test_states_are_not_made_in_a_graph(on_cuda):
    """Replays would make them anew, and begin with the first step each time."""
    params = parameters()
    optimizer = optim.Adam(params, capturable=True)
    with pytest.raises(RuntimeError, match="as a warm-up"):
        captured(params, optimizer)
    for p in params[::2]:
        p.grad = fl.zeros_like(p)
    for p in params[1::2]:
        p.grad = None
    optimizer.step()
    with pytest.raises(RuntimeError, match="as a warm-up"):
        captured(params, optimizer)


def test_counts_of_parameters_with_gradients_now_and_then():
    """Their steps are those of the host, also after the state was saved and loaded."""
    found = []
    for capturable in (False, True):
        params = parameters()
        make = partial(optim.NAdam, lr=0.02, capturable=capturable)
        optimizer = make(params)
        for k in range(9):
            if k == 5:
                state = optimizer.state_dict()
                optimizer = make(params)
                optimizer.load_state_dict(state)
            set_gradients(params, k)
            for p in params[k % 2::3] if k % 3 else ():
                p.grad = None
            optimizer.step()
        found.append([p.detach().cpu() for p in params])
    for got, want in zip(*found, strict=True):
        fl.testing.assert_close(got, want)


def test_a_step_reads_nothing_from_the_device(on_cuda):
    from copied import copied

    params = parameters()
    optimizer = optim.RAdam(params, lr=fl.tensor(0.1, device=DEVICE), capturable=True)
    for k in range(3):
        set_gradients(params, k)
        before = copied(DEVICE)["to_host"]
        optimizer.step()
        assert copied(DEVICE)["to_host"] == before
