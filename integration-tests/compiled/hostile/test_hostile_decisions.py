"""Compiled functions whose modules, arguments, modes and sizes decide what they do."""

import collections.abc
import contextlib
from numbers import Number

from agreeing import agree, each_call, each_way, numbers

import flambeau
from flambeau import nn

USES = []


def use(program):
    USES.append(program)
    return program


@use
def nested_functions_that_write_outside(compiled, rows):
    x, total = numbers(rows), 0

    @compiled
    def work(k):
        nonlocal total

        def add(n):
            nonlocal total
            total += n
            return total
        inner = 0

        def bump():
            nonlocal inner
            inner += k
        bump()
        bump()
        return x * add(k) + inner, total
    kept = [work(k) for k in (1, 1, 1, 2, 2)]
    total = 100
    return kept, work(1), work(1), total


@use
def modules_that_decide(compiled, rows):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
            self.table = nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()})
            self.register_buffer("steps", flambeau.zeros(()))
            self.chosen, self.skip, self.count = "a", None, 0
            self.extra = nn.ParameterList([nn.Parameter(flambeau.ones(4))])

        def forward(self, x, *, scale=1.0):
            self.count += 1
            for k, layer in enumerate(self.layers):
                if k != self.skip:
                    x = self.table[self.chosen](layer(x)) * scale
            if self.training:
                with flambeau.no_grad():
                    self.steps += 1
            for each in self.extra:
                x = x + each
            return x + self.steps + self.count

    x, net = numbers(rows), Net()
    work = compiled(net)
    return each_call(lambda: work(x), [
        lambda: setattr(net, "chosen", "b"), lambda: setattr(net, "skip", 1), net.eval,
        lambda: net.layers.append(nn.Linear(4, 4)), lambda: net.extra.append(flambeau.ones(4) * 2),
        lambda: net.table.update({"b": nn.Sigmoid()}), lambda: net.steps.fill_(7), net.train,
        lambda: net.layers.__delitem__(0), lambda: setattr(net, "steps", flambeau.ones(4)),
        lambda: net.register_forward_hook(lambda m, i, o: o * 2), net.double]), net.count


@use
def arguments_of_all_kinds(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(a, options=None, *parts, mode="sum", **named):
        y = a
        for key in named:
            y = y * len(key) + named[key]
        for part in parts:
            y = y - part[0] if isinstance(part, list | tuple) else y + part
        match = {"sum": y.sum, "mean": y.mean}.get(mode)
        return match(-1) if match else y, options if options is None else options | {"x": 1}
    calls = [((x,), {}), ((x,), {}), ((x, {"k": 2}), {}), ((x, {"k": 3}), {}),
             ((x, None, [x], (x[0],)), {}), ((x, None, [x], [x[0]]), {}),
             ((x, None, 2), {}), ((x, None, 3), {}), ((x,), {"mode": "mean"}),
             ((x,), {"mode": "none"}), ((x,), {"bb": 1, "c": x}), ((x,), {"c": x, "bb": 1}),
             ((x,), {"c": x, "bb": 1.0}), ((x, None, (2, 1)), {}), ((x.half(),), {}), ((x,), {})]
    return [work(*args, **named) for args, named in calls for _ in range(3)]


@use
def modes_asked_for(compiled, rows):
    x, w = numbers(rows), numbers(rows, 1, requires_grad=True)

    @compiled
    def work():
        y = x * w
        if flambeau.is_grad_enabled():
            y = y + 1
        if flambeau.is_inference_mode_enabled():
            y = y * 2
        if flambeau.get_default_dtype() is flambeau.float64:
            y = y - 3
        if w.requires_grad and w.grad is None:
            y = y.exp()
        return y, y.requires_grad, flambeau.is_autocast_enabled("cpu"), w.is_leaf, x.dtype
    kept = []
    for around in (contextlib.nullcontext, flambeau.no_grad, flambeau.inference_mode,
                   lambda: flambeau.autocast("cpu", flambeau.bfloat16), contextlib.nullcontext):
        with around():
            kept += [work(), work(), work()]
    w.grad = flambeau.ones_like(w)
    kept += [work(), work()]
    w.grad = None
    w.requires_grad_(False)
    return [*kept, work(), work()]


@use
def sizes_decide(compiled, rows):
    @compiled
    def work(x):
        if x.shape[0] > 3 and x.dim() == 2:
            x = x[: x.size(0) // 2] * x.numel()
        elif x.is_contiguous() and not x.stride(0) == 1:
            x = x + x.shape[-1]
        n = min(x.shape[0], 4)
        return x.view(n, -1) if x.numel() % n == 0 and x.is_contiguous() else x.t(), x.shape, n, \
            list(range(*x.shape[:1]))[:3], flambeau.zeros(x.shape[::-1]).shape, x.nelement() * 2
    x = numbers(rows)
    return [work(a) for a in (x, x, x[:2], x[:2], x.t(), x.t(), x[:4], x[None], x[:, :3], x, x[0])
            for _ in range(2) if a.shape[0]]


@use
def classes_get_names_and_bases(compiled, rows):
    """Abstract ones by ``register()``, which changes no class."""
    class Base:
        factor = 2.0

    class Other:
        factor = 5.0

    class Given(Base):
        pass

    x, given = numbers(rows), Given()

    @compiled
    def work():
        y = x * given.factor
        if isinstance(given, (collections.abc.Sized, collections.abc.Mapping)):
            y = y + 1
        if issubclass(Given, Number | Other):
            y = y.exp()
        return y, type(given).__name__, given.__class__.__name__, len(Given.__mro__)

    return each_call(work, [
        lambda: setattr(Given, "__name__", "Renamed"),
        lambda: collections.abc.Sized.register(Given),
        lambda: Number.register(Given),
        lambda: setattr(Given, "__bases__", (Base, Other)),
        lambda: setattr(Given, "__bases__", (Other,)),
        lambda: setattr(Base, "factor", 3.0)])


@each_way(USES)
def test_decisions_agree(use, way):
    agree(use, way)
