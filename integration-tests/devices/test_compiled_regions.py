"""Compiled calls on a device give what uncompiled ones give there, bit for bit.

Fails by seed, as ``compiled/test_random_programs.py``. Every new loop is compiled by g++, so that
few programs run each time, and as many as ``RANDOM_REGIONS`` says every night.
"""
from __future__ import annotations

import math
import os
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest
from device_calls import DEVICE

sys.path.insert(0, str(Path(__file__).parents[1] / "compiled"))

from random_lines import LINES
from random_programs import Program, differences, run, snapshot, world

import flambeau as fl
from flambeau import jit
from flambeau.core import backends
from flambeau.jit.bridge import configure_deferral
from flambeau.jit.compiling import make_plan

if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)

COUNT = int(os.environ.get("RANDOM_REGIONS", "200" if os.environ.get("TESTED_SHARE") else "6"))
FIRST = int(os.environ.get("FIRST_PROGRAM", "0"))
#: What a device computes by one operator, and compiled calls by parts, which round otherwise.
AS_ONE = ("rms_norm", "cross_entropy")
#: Chains and writes in place, and what ends them.
TABLE = {kind: (often * (3 if kind == "pointwise" else 1),
                tuple(line for line in lines if not any(name in line for name in AS_ONE)))
         for kind, (often, lines) in LINES.items() if kind not in ("epilogue", "join")}


def nameless(found):
    """A snapshot without what made its tensors: dropout, too, is one operator on devices."""
    return {name: (*each[:-2], each[-1]) if isinstance(each, tuple) else each
            for name, each in found.items()}


@pytest.fixture
def without_rows(monkeypatch):
    """Kernels of rows have other bits than calls one by one: see test_compiled_rows.py."""
    monkeypatch.setattr(backends.adapter(DEVICE), "fuse_rows", lambda program: None)
    configure_deferral(make_plan)       # which forgets older plans
    yield
    configure_deferral(make_plan)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_programs(seed, without_rows):
    program = Program(seed, table=TABLE, device=DEVICE)
    function, compiled = program.function(), jit.compile(program.function())
    for time, (rows, dtype) in enumerate([(3, "float32"), (3, "float32"), (5, "float64")]):
        wanted = nameless(snapshot(run(function, world(seed, rows, dtype, DEVICE))))
        found = nameless(snapshot(run(compiled, world(seed, rows, dtype, DEVICE))))
        wrong = differences(wanted, found)
        assert not wrong, f"seed {seed}, time {time}: {wrong}\n{program.source()}"


DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "uint8", "bool")


def chain(x, y):
    """Numbers, casts, comparisons and a mask, in one loop."""
    low = (x * 2 + y).to(x.dtype)
    return fl.where(low > y, low - x.to(fl.float32), y * 0.5).to(x.dtype), low == x


def layouts(dtype):
    """Pairs of operands: alike, broadcast, transposed, apart, of one element, of none."""
    numbers = fl.arange(-30, 30).reshape(5, 12)
    x = (numbers * (0.75 if "float" in dtype else 1)).to(getattr(fl, dtype)).to(DEVICE)
    if "float" in dtype:
        x[0, :4] = fl.tensor([float("nan"), float("inf"), -0.0, 1e-7]).to(x)
    y = x.flip(1)
    return [(x, y), (x, y[2]), (x.t(), y.t()), (x[:, ::2], y[:, 1::2]), (x[1:, 3:4], y[:4, 2:3]),
            (x[2, 3], y[0, 0]), (x[:0], y[:0]), (x.expand(3, 5, 12), y)]


def bits(results):
    return [(t.dtype, tuple(t.shape), t.stride(),
             t.cpu().contiguous().view(fl.uint8).tolist() if t.ndim else repr(t.item()))
            for t in results]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_layouts(dtype, monkeypatch):
    compiled = jit.compile(chain)
    for order in ("forward", "reversed", "shuffled") if DEVICE == "cudasim" else ("forward",):
        if DEVICE == "cudasim":
            backends.adapter(DEVICE).set_order(order)
        for x, y in layouts(dtype):
            assert bits(compiled(x, y)) == bits(chain(x, y)), (order, x.shape)
    backends.adapter(DEVICE).set_order("forward")
    assert "where" in jit.compile(chain).measure(*layouts(dtype)[0]).events[0].lines[0]


def test_writes_in_place_and_overlapping_views():
    def write(x):
        x.mul_(2)
        y = x[:-1] + x[1:]              # reads what the line before wrote, one further on
        x[1:] -= y
        y = x.t()
        y += 1
        return x * y.t() + x

    for shape in ((9,), (1,), (4, 4)):
        values = fl.arange(1.0, 1 + math.prod(shape)).reshape(shape)
        one, other = values.to(DEVICE), values.to(DEVICE)
        assert write(one).tolist() == jit.compile(write)(other).tolist()
        assert one.tolist() == other.tolist()


def test_more_operands_than_a_kernel_takes():
    def total(*tensors):
        found = tensors[0]
        for number, t in enumerate(tensors[1:], 1):
            found = found * number + t
        return found, *(t * 2 + 1 for t in tensors)

    tensors = [fl.full((7,), float(k), device=DEVICE) for k in range(24)]
    compiled = jit.compile(total)
    for one, other in zip(total(*tensors), compiled(*tensors), strict=True):
        assert one.tolist() == other.tolist()
    assert "mul add mul add" in compiled.explain()


def test_loops_run_in_the_stream_that_their_calls_were_asked_of(on_cuda):
    """Another stream that reads their results does not run them itself."""
    main, side = fl.cuda.current_stream(), fl.cuda.Stream()
    x = fl.ones(64, device=DEVICE)

    @jit.compile
    def both(x):
        y = (x * 2 + 1).sqrt()
        side.wait_stream(main)
        with fl.cuda.stream(side):
            total = y.sum()
        most = y.amax()             # in the main stream, which does not wait for the other one
        found = most.item()
        main.wait_stream(side)
        return found, total.item()

    wanted = (x * 2 + 1).sqrt()
    assert both(x) == (wanted.amax().item(), wanted.sum().item())


def sgd(parameters):
    return fl.optim.SGD(parameters, lr=0.1, momentum=0.9)


def adamw(parameters):
    return fl.optim.AdamW(parameters, lr=0.01, capturable=True)


def adamax(parameters):
    return fl.optim.Adamax(parameters, capturable=True, weight_decay=0.1)


@pytest.mark.parametrize(("make", "compiled"), [(sgd, False), (sgd, True), (adamw, False),
                                                (adamw, True), (adamax, False)])
def test_whole_steps_as_graphs(on_cuda, make, compiled):
    """Forward, backward and update are captured once; each replay trains by another batch."""
    batches = [(fl.randn(5, 8, device=DEVICE), fl.randn(5, 4, device=DEVICE)) for _ in range(6)]
    model, step = network(make)
    losses = [step(*batch).item() for batch in batches]

    other, step = network(make)
    step = jit.compile(step) if compiled else step
    found = [step(*batch).item() for batch in batches[:3]]      # the optimizer has its state
    x, target = (t.clone() for t in batches[3])
    graph = fl.cuda.CUDAGraph()
    with fl.cuda.graph(graph):
        loss = step(x, target)
    for batch in batches[3:]:
        x.copy_(batch[0])
        target.copy_(batch[1])
        graph.replay()
        found.append(loss.item())
    assert found == losses
    assert all(bool((p == q).all())
               for p, q in zip(model.parameters(), other.parameters(), strict=True))


def test_calls_on_a_device_are_not_replayed_unasked():
    weight = fl.ones(3, device=DEVICE)
    by_argument = jit.compile(lambda x: (x * 2 + 1).sum())
    by_reading = jit.compile(lambda k: (weight * k).sum())
    for _ in range(12):
        assert by_argument(weight).item() == 9
        assert by_reading(2.0).item() == 6
    assert "not replayed: an argument is neither a tensor on the CPU" in by_argument.explain()
    assert "not replayed: a tensor on another device takes part" in by_reading.explain()


def test_steps_that_count_on_the_host_are_not_captured(on_cuda):
    batch = fl.randn(5, 8, device=DEVICE), fl.randn(5, 4, device=DEVICE)
    _, step = network(fl.optim.AdamW)
    step(*batch)
    with pytest.raises(RuntimeError, match="capturable=True"), fl.cuda.graph(fl.cuda.CUDAGraph()):
        step(*batch)


def test_capturable_steps_are_those_of_the_host():
    """PyTorch's numbers are the host's as well; the state is saved as any other."""
    found = []
    for make in (fl.optim.AdamW, adamw, fl.optim.Adamax, partial(fl.optim.Adamax, capturable=True)):
        x = fl.linspace(-1, 1, 5, device=DEVICE).requires_grad_()
        optimizer = make([x]) if make is not fl.optim.AdamW else make([x], lr=0.01)
        for k in range(4):
            if k == 2:
                state = optimizer.state_dict()
                optimizer = make([x]) if make is not fl.optim.AdamW else make([x], lr=0.01)
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            (x * x * x).sum().backward()
            optimizer.step()
        found.append(x.tolist())
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[2] == pytest.approx(found[3], rel=1e-6)


def network(make):
    fl.manual_seed(0)
    model = fl.nn.Sequential(fl.nn.Linear(8, 16), fl.nn.GELU(), fl.nn.Linear(16, 4)).to(DEVICE)
    optimizer = make(model.parameters())

    def step(x, target):
        optimizer.zero_grad(set_to_none=False)
        loss = ((model(x) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return model, step
