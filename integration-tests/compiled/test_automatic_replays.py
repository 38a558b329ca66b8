"""Compiled functions skip Python by themselves, and nobody can tell: whatever changes is seen.

Worlds are changed in random orders between calls, the same changes in two of them, of which one is
compiled; fails by seed.
"""

from __future__ import annotations

import copy
import inspect
import random
import sys
import threading
import warnings
import weakref
from contextlib import contextmanager
from functools import partial

import pytest
from random_programs import describe

import flambeau
import flambeau.nn.functional as F
from flambeau import compiler, nn
from flambeau.jit import compiling
from flambeau.jit.replay import automatic

FACTOR = 2.0
TABLE = {"shift": 0.5}


def activation(x):
    return F.relu(x)


class Block(nn.Module):
    """What a user writes: members, numbers, a branch on a mode, globals."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 4)
        self.norm, self.drop = nn.LayerNorm(4), nn.Dropout(0.3)
        self.more = nn.ModuleList()
        self.rate = 0.5
        self.register_buffer("seen", flambeau.zeros(4))

    def forward(self, x):
        y = self.second(activation(self.first(x))) * self.rate
        for module in self.more:
            y = module(y)
        y = self.norm(self.drop(y) + x * FACTOR + TABLE["shift"])
        return y + self.seen if not self.training else y * 1.5


class Other(Block):
    def forward(self, x):
        return super().forward(x) - 1


class World:
    """A network, its optimizer, and functions around them, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        flambeau.manual_seed(seed)
        self.net = nn.Sequential(Block(), nn.BatchNorm1d(4), Block())
        self.optimizer = flambeau.optim.SGD(self.net.parameters(), lr=0.1)
        self.handles: list[object] = []
        scale = 1.0

        def predict(x):
            return self.net(x) * scale

        def rescale(value):
            nonlocal scale
            scale = value

        def learn(x):
            self.optimizer.zero_grad()
            loss = (self.net(x) ** 2).mean() * scale
            if loss.requires_grad:
                loss.backward()
                self.optimizer.step()
            return loss.detach()

        self.functions = {"predict": predict, "learn": learn, "net": self.net}
        self.rescale = rescale


def _forward_of_first(world):
    block = world.net[0]
    block.forward = lambda x: type(block).forward(block, x) + 0.25


def _hook(world):
    world.handles.append(world.net[2].first.register_forward_hook(lambda m, x, y: y * 2))


def _pre_hook(world):
    world.handles.append(world.net[0].register_forward_pre_hook(lambda m, x: (x[0] + 1,)))


def _backward_hook(world):
    world.handles.append(world.net[0].second.register_full_backward_hook(
        lambda m, x, y: tuple(g * 2 if g is not None else None for g in x)))


def _grad_hook(world):
    weight = world.net[0].first.weight
    if weight.requires_grad:
        world.handles.append(weight.register_hook(lambda g: g * 3))


def _unhook(world):
    while world.handles:
        world.handles.pop().remove()


def _replace(world):
    flambeau.manual_seed(7)
    world.net[0].first.weight = nn.Parameter(flambeau.randn(6, 4))


def _replace_data(world):
    with flambeau.no_grad():
        world.net[2].second.weight.data = world.net[2].second.weight * 0.5


def _write(world):
    with flambeau.no_grad():
        world.net[2].second.bias.add_(0.25)


def _tie(world):
    world.net[2].first.weight = world.net[0].first.weight


def _add_module(world):
    flambeau.manual_seed(9)
    world.net[0].more.append(nn.Linear(4, 4))


def _remove_module(world):
    if len(world.net[0].more):
        del world.net[0].more[-1]


def _swap_member(world):
    world.net[2].drop = nn.Identity() if isinstance(world.net[2].drop, nn.Dropout) \
        else nn.Dropout(0.2)


def _exchange_class(world):
    world.net[0].__class__ = Other if type(world.net[0]) is Block else Block


#: Changes of one world.
CHANGES = {
    "rate": lambda w: setattr(w.net[0], "rate", w.net[0].rate + 0.125),
    "buffer": lambda w: w.net[0].seen.add_(1),
    "buffer replaced": lambda w: setattr(w.net[2], "seen", flambeau.ones(4)),
    "eval": lambda w: w.net.eval(),
    "train": lambda w: w.net.train(),
    "a part in eval": lambda w: w.net[0].eval(),
    "dropout": lambda w: setattr(w.net[2].drop, "p", 0.6),
    "frozen": lambda w: w.net[0].requires_grad_(False),
    "thawed": lambda w: w.net.requires_grad_(True),
    "one frozen": lambda w: w.net[2].first.bias.requires_grad_(False),
    "forward": _forward_of_first,
    "forward again": lambda w: w.net[0].__dict__.pop("forward", None),
    "hook": _hook, "pre hook": _pre_hook, "backward hook": _backward_hook, "grad hook": _grad_hook,
    "no hooks": _unhook, "parameter": _replace, "data": _replace_data, "written": _write,
    "tied": _tie, "added": _add_module, "removed": _remove_module, "swapped": _swap_member,
    "class": _exchange_class,
    "closure": lambda w: w.rescale(0.75), "closure again": lambda w: w.rescale(1.0),
    "gradients": lambda w: [setattr(p, "grad", flambeau.ones_like(p))
                            for p in w.net.parameters() if p.requires_grad],
    "learning rate": lambda w: w.optimizer.param_groups[0].update(lr=0.05),
    "momentum": lambda w: w.optimizer.param_groups[0].update(momentum=0.5),
}


@contextmanager
def _set(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def _default_dtype():
    flambeau.set_default_dtype(flambeau.float64)
    try:
        yield
    finally:
        flambeau.set_default_dtype(flambeau.float32)


@contextmanager
def _threads():
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(1)
    try:
        yield
    finally:
        flambeau.set_num_threads(before)


@contextmanager
def _everywhere():
    handle = nn.modules.module.register_module_forward_hook(
        lambda m, x, y: y + 0.5 if isinstance(m, nn.LayerNorm) else None)
    try:
        yield
    finally:
        handle.remove()


class Silent(flambeau.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        return found * 2 if getattr(function, "__name__", "") == "linear" else found


HERE = sys.modules[__name__]
#: What is around a call, of both worlds.
AROUND = {
    "nothing": lambda: _set(HERE, "FACTOR", FACTOR),
    "a global": lambda: _set(HERE, "FACTOR", 3.0),
    "a global function": lambda: _set(HERE, "activation", F.gelu),
    "an item": lambda: _set(HERE, "TABLE", {"shift": -0.5}),
    "a function of Flambeau": lambda: _set(F, "relu", lambda x: x.clamp(min=0.1)),
    "a function that layers call": lambda: _set(
        sys.modules[nn.Linear.forward.__module__], "F",
        _Changed(F, linear=lambda x, w, b=None: F.linear(x, w, b) + 1)),
    "a method": lambda: _set(nn.Linear, "forward", lambda m, x: F.linear(x, m.weight) * 2),
    "a call": lambda: _set(nn.Module, "__call__", lambda m, *args: m.forward(*args) + 0.125),
    "no gradients": flambeau.no_grad,
    "inference": flambeau.inference_mode,
    "autocast": lambda: flambeau.autocast("cpu", dtype=flambeau.bfloat16),
    "default dtype": _default_dtype,
    "threads": _threads,
    "hooks of all modules": _everywhere,
    "a mode": Silent,
}


class _Changed:
    """A module with other functions."""

    def __init__(self, module, **changed):
        self.module = module
        self.changed = changed

    def __getattr__(self, name):
        return self.changed[name] if name in self.changed else getattr(self.module, name)


@pytest.fixture
def at_once(monkeypatch):
    """The first call is recorded, and every replay is kept."""
    monkeypatch.setattr(compiling, "CALLS_BEFORE_REPLAYS", 1)
    monkeypatch.setattr(automatic, "CALLS_BEFORE", 1)
    monkeypatch.setattr(automatic, "TRIALS", 0)
    monkeypatch.setattr(automatic, "MOST_TRIALS", 0)
    monkeypatch.setattr(automatic, "MOST_OF_TIME", float("inf"))
    monkeypatch.setattr(automatic, "MOST_MISSES", 10**6)
    monkeypatch.setattr(automatic, "MOST_FAILURES", 10**6)


def replayer(compiled):
    """What makes the calls of a compiled function or module."""
    return vars(compiled).get("_compiled", compiled).replayer


def told(world, result):
    state = [describe(t) for t in (*world.net.parameters(), *world.net.buffers())]
    grads = [None if p.grad is None else p.grad.tolist() for p in world.net.parameters()]
    return describe(result), state, grads


def ran(world, function, around, x):
    """All that a call did."""
    flambeau.manual_seed(3)
    try:
        with around():
            result = function(x)
        found = told(world, result.detach())
        if result.requires_grad and not result.is_inference():
            result.sum().backward()
            found = (*found, [None if p.grad is None else p.grad.tolist()
                              for p in world.net.parameters()])
            world.net.zero_grad()
    except (RuntimeError, TypeError, ValueError) as error:
        found = (type(error).__name__, str(error))
    return found, flambeau.get_rng_state().tolist()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", ["predict", "learn", "net"])
@pytest.mark.parametrize("seed", range(6))
def test_random_changes(name, seed):
    drawn = random.Random(seed)
    plain, other = World(seed), World(seed)
    compiled = flambeau.compile(other.functions[name])
    replays = 0
    for step in range(40):
        change = drawn.choice([*CHANGES, "none"])
        around = drawn.choice(["nothing", "nothing", *AROUND])
        around = "nothing" if name == "net" and around == "a call" else around  # it is one more
        x = flambeau.randn(drawn.choice([3, 3, 5]), 4)
        for world in (plain, other) if change != "none" else ():
            CHANGES[change](world)
        for world in (plain, other) if drawn.random() < 0.5 else ():    # or little is replayed
            CHANGES["no hooks"](world)
            CHANGES["forward again"](world)
        for _ in range(4):
            wanted = ran(plain, plain.functions[name], AROUND[around], x.clone())
            found = ran(other, compiled, AROUND[around], x.clone())
            assert wanted == found, f"seed {seed}, step {step}: {change} within {around}"
        if replayer(compiled) is not None:
            replays += replayer(compiled).earned()
            replayer(compiled).budget = automatic.MOST_BUDGET
    assert replays > 5


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["predict", "learn"])
def test_each_change(name, change):
    plain, other = World(1), World(1)
    compiled = flambeau.compile(other.functions[name])
    x = flambeau.randn(3, 4)
    for k in range(8):
        for world in (plain, other) if k == 4 else ():
            CHANGES[change](world)
        wanted = ran(plain, plain.functions[name], AROUND["nothing"], x)
        assert wanted == ran(other, compiled, AROUND["nothing"], x), k
        if k == 3:
            assert replayer(compiled).earned() >= 1, compiled.explain()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("around", AROUND)
def test_each_surrounding(around):
    plain, other = World(2), World(2)
    compiled = flambeau.compile(other.functions["predict"])
    x = flambeau.randn(3, 4)
    for k in range(12):
        inside = AROUND[around if k % 6 > 2 else "nothing"]
        assert ran(plain, plain.functions["predict"], inside, x) \
            == ran(other, compiled, inside, x), k


def test_those_that_gain_are_replayed():
    """As calls are made, without anything set for a test."""
    world = World(0)
    world.net.eval()
    compiled, x = flambeau.compile(world.functions["predict"]), flambeau.randn(3, 4)
    for _ in range(40):
        with flambeau.no_grad():
            assert compiled(x).tolist() == world.functions["predict"](x).tolist()
    assert replayer(compiled).earned() > 10, compiled.explain()
    assert "replayed:" in compiled.explain()


def test_replay_false_never_replays():
    compiled = flambeau.compile(lambda x: x * 2 + 1, replay=False)
    for _ in range(30):
        compiled(flambeau.ones(3))
    assert compiled.replayer is None


@pytest.mark.usefixtures("at_once")
def test_warnings_are_given_each_time():
    def fn(x, y):
        return F.kl_div(x, y, reduction="mean")

    compiled = flambeau.compile(fn)
    for _ in range(5):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            compiled(flambeau.ones(3), flambeau.ones(3))
        assert len(seen) == 1


@pytest.mark.usefixtures("at_once")
def test_warnings_that_were_hidden_at_first():
    def fn(x, y):
        return F.kl_div(x, y, reduction="mean")

    compiled = flambeau.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            compiled(flambeau.ones(3), flambeau.ones(3))
    with pytest.warns(UserWarning, match="kl_div"):
        compiled(flambeau.ones(3), flambeau.ones(3))


@pytest.mark.usefixtures("at_once")
def test_warnings_that_were_given_before():
    """Once for each line, until somebody asks for them always."""
    def fn(x, y):
        return F.kl_div(x, y, reduction="mean")

    compiled = flambeau.compile(fn)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        with pytest.warns(UserWarning, match="kl_div"):
            fn(flambeau.ones(3), flambeau.ones(3))
        for _ in range(5):
            compiled(flambeau.ones(3), flambeau.ones(3))
        warnings.simplefilter("always")
        with warnings.catch_warnings(record=True) as seen:
            compiled(flambeau.ones(3), flambeau.ones(3))
    assert len(seen) == 1


@pytest.mark.usefixtures("at_once")
def test_errors_name_their_line():
    table = flambeau.randn(5, 3)

    def look_up(i):
        return F.embedding(i, table) * 2

    compiled = flambeau.compile(look_up)
    for _ in range(5):
        compiled(flambeau.tensor([1, 2]))
    assert replayer(compiled).earned()
    with pytest.raises(IndexError) as caught:
        compiled(flambeau.tensor([1, 9]))
    assert "look_up" in [entry.name for entry in caught.traceback]


@pytest.mark.usefixtures("at_once")
def test_errors_after_an_effect():
    """Which happened once, as it does uncompiled."""
    def step(x, i):
        x.add_(1)
        return x.index_select(0, i)

    compiled = flambeau.compile(step)
    x = flambeau.zeros(3)
    for _ in range(5):
        compiled(x, flambeau.tensor([1]))
    assert replayer(compiled).earned()
    version = x._version
    with pytest.raises(IndexError) as caught:
        compiled(x, flambeau.tensor([7]))
    assert x.tolist() == [6.0] * 3 and x._version == version + 1
    assert "test_automatic_replays.py" in str(caught.value.__notes__)


DRAWS = {
    "rand": lambda x: x + flambeau.rand(3),
    "dropout": lambda x: F.dropout(x, 0.5),
    "integers": lambda x: x + flambeau.randint(0, 4, (3,)) + flambeau.randperm(3),
    "normal": lambda x: flambeau.normal(x, 1.0),
    "a generator": lambda x: x + flambeau.rand(3, generator=GENERATOR),
    "nothing": lambda x: x + 1,
}
GENERATOR = flambeau.Generator()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("draw", DRAWS)
def test_numbers_are_drawn_once_before_an_error(draw):
    def fn(x, i):
        return DRAWS[draw](x).index_select(0, i)

    compiled, x, states = flambeau.compile(fn), flambeau.ones(3), []
    for _ in range(5):
        compiled(x, flambeau.tensor([1]))
    assert replayer(compiled).earned()
    for each in (fn, compiled):
        flambeau.manual_seed(1)
        GENERATOR.manual_seed(1)
        with pytest.raises(IndexError):
            each(x, flambeau.tensor([9]))
        states.append((flambeau.get_rng_state().tolist(), GENERATOR.get_state().tolist()))
    assert states[0] == states[1]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("setter", [sys.settrace, sys.setprofile])
def test_tracers_and_profilers_see_calls(setter):
    def fn(x):
        return x * 2 + 1

    compiled, x = flambeau.compile(fn), flambeau.ones(3)
    for _ in range(5):
        compiled(x)
    seen = []
    before = sys.gettrace() if setter is sys.settrace else sys.getprofile()
    setter(lambda frame, event, arg: seen.append(frame.f_code.co_name))
    try:
        compiled(x)
    finally:
        setter(before)
    assert "fn" in seen


def changing_partial():
    inside = partial(flambeau.add, 1)
    return lambda x: inside(x) * 2, lambda: inside.__setstate__((flambeau.sub, (1,), {}, None))


@pytest.mark.usefixtures("at_once")
def test_partials_that_change():
    (plain, change), (other, again) = changing_partial(), changing_partial()
    compiled, x = flambeau.compile(other), flambeau.randn(3)
    for k in range(8):
        if k == 4:
            change()
            again()
        assert compiled(x).tolist() == plain(x).tolist()


@pytest.mark.usefixtures("at_once")
def test_functions_may_call_themselves_as_deep_as_ever():
    def deep(x, levels):
        return deep(x, levels - 1) if levels else x + 1

    limit, x = sys.getrecursionlimit(), flambeau.ones(2)
    levels = limit - len(inspect.stack()) - 20
    for _ in range(3):
        assert flambeau.compile(deep)(x, levels).tolist() == deep(x, levels).tolist()
    assert sys.getrecursionlimit() == limit


@pytest.mark.usefixtures("at_once")
def test_limits_that_a_call_sets_stay():
    limit = sys.getrecursionlimit()
    try:
        flambeau.compile(lambda x: sys.setrecursionlimit(limit + 7) or x)(flambeau.ones(2))
        assert sys.getrecursionlimit() == limit + 7
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("at_once")
def test_disabled_functions_know_that_nothing_waits():
    asked = []

    @compiler.disable
    def aside(x):
        asked.append(compiler.is_compiling())
        return x

    def fn(x):
        asked.append(compiler.is_compiling())
        return aside(x) * 2

    compiled = flambeau.compile(fn)
    for _ in range(4):
        compiled(flambeau.ones(2))
    assert asked == [True, False] * 4


@pytest.mark.usefixtures("at_once")
def test_arguments_are_not_kept():
    class Box:
        def __init__(self):
            self.factor = 2.0

    compiled = flambeau.compile(lambda x, box: x * box.factor)
    box = Box()
    gone = weakref.ref(box)
    for _ in range(5):
        compiled(flambeau.ones(3), box)
    del box
    assert gone() is None


@pytest.mark.usefixtures("at_once")
def test_what_was_replaced_is_let_go_of_at_the_next_call():
    holder = {"w": flambeau.ones(3)}
    compiled = flambeau.compile(lambda x: x * holder["w"])
    for _ in range(5):
        compiled(flambeau.ones(3))
    gone = weakref.ref(holder["w"])
    holder["w"] = flambeau.zeros(3)
    assert compiled(flambeau.ones(3)).tolist() == [0.0] * 3
    assert gone() is None


@pytest.mark.usefixtures("at_once")
def test_functions_die_with_their_compiled_call():
    compiled = flambeau.compile(lambda x: x * 2 + 1)
    for _ in range(5):
        compiled(flambeau.ones(3))
    gone = weakref.ref(compiled.fn)
    del compiled
    assert gone() is None


@pytest.mark.usefixtures("at_once")
def test_other_threads_that_write():
    """No recording counts their writes as its own."""
    x, stop = flambeau.zeros(3), threading.Event()

    def write():
        while not stop.is_set():
            x.add_(0)

    compiled = flambeau.compile(lambda t: t.mul_(1))
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):
            compiled(x)
    finally:
        stop.set()
        writer.join()
    version = x._version
    compiled(x)
    assert x._version == version + 1


def test_numbers_that_are_others_each_time_are_not_recorded():
    compiled, x = flambeau.compile(lambda x, k: x * k), flambeau.ones(3)
    for k in range(automatic.MOST_KINDS + 20):
        assert compiled(x, float(k)).tolist() == [float(k)] * 3
    assert compiled.replayer is None


def test_reads_that_change_each_time_are_given_up():
    state = {"k": 0.0}

    def fn(x):
        return x * state["k"]

    compiled, x = flambeau.compile(fn), flambeau.ones(3)
    for k in range(200):
        state["k"] = float(k)
        assert compiled(x).tolist() == [float(k)] * 3
    assert compiled.replayer is None


@pytest.mark.usefixtures("at_once")
def test_slower_replays_are_dropped(monkeypatch):
    monkeypatch.setattr(automatic, "MOST_OF_TIME", -1.0)
    compiled, x = flambeau.compile(lambda x: x * 2 + 1), flambeau.ones(3)
    for _ in range(20):
        assert compiled(x).tolist() == [3.0] * 3
    assert not replayer(compiled).programs


@pytest.mark.usefixtures("at_once")
def test_copies_are_replayed_as_well():
    net = flambeau.compile(nn.Sequential(nn.Linear(3, 3), nn.GELU()).eval())
    twin, x = copy.deepcopy(net), flambeau.randn(2, 3)
    for module in (net, twin):
        for _ in range(6):
            with flambeau.no_grad():
                module(x)
        assert replayer(module).earned()
