"""Compiled functions under modes and contexts, watched, and with derivatives of all kinds."""

import contextlib

from agreeing import agree, each_way, numbers

import flambeau
import flambeau.nn.functional as F
from flambeau import autograd, func
from flambeau.library.dispatching import TorchDispatchMode
from flambeau.overrides import TorchFunctionMode
from flambeau.utils.checkpoint import checkpoint
from flambeau.utils.flop_counter import FlopCounterMode

USES = []


def use(program):
    USES.append(program)
    return program


# ---- contexts ------------------------------------------------------------------------------------
CONTEXTS = {
    "no_grad": flambeau.no_grad, "enable_grad": flambeau.enable_grad,
    "inference_mode": flambeau.inference_mode,
    "set_grad_enabled": lambda: flambeau.set_grad_enabled(False),
    "autocast": lambda: flambeau.autocast("cpu", flambeau.bfloat16),
    "fork_rng": flambeau.random.fork_rng, "anomaly": autograd.detect_anomaly,
    "saved": lambda: autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t),
}


def entered_inside(name):
    def program(compiled, rows):
        leaf, x = numbers(rows, requires_grad=True), numbers(rows, 1)
        opened = []

        @compiled
        def enter():
            before = leaf * x
            opened.append(CONTEXTS[name]())
            opened[-1].__enter__()
            return before, (leaf * x) @ x[:4].T, F.dropout(x, 0.5)

        @compiled
        def leave():
            inside = leaf.exp() * x
            opened.pop().__exit__(None, None, None)
            return inside, (leaf * x) @ x[:4].T, F.dropout(x, 0.5)

        kept = []
        for _ in range(3):
            kept += [enter(), leaf * 2, leave(), leaf * 2]
        return kept
    program.__name__ = f"{name}_entered_inside_and_left_later"
    return program


def around_and_within(name):
    def program(compiled, rows):
        leaf, x = numbers(rows, requires_grad=True), numbers(rows, 1)

        @compiled
        def within():
            with CONTEXTS[name]():
                y = (leaf * x) @ x[:4].T
                z = F.dropout(y, 0.5).exp()
            return y, z, leaf * 2

        plain = compiled(lambda: (leaf * x + F.dropout(x, 0.5)).sigmoid())
        kept = []
        for k in range(5):
            kept.append(within())
            with CONTEXTS[name]() if k % 2 else contextlib.nullcontext():
                kept.append(plain())
        return kept
    program.__name__ = f"{name}_around_and_within"
    return program


USES += [make(name) for make in (entered_inside, around_and_within) for name in CONTEXTS]


@use
def settings_change_between_calls(compiled, rows):
    x = numbers(rows)

    @compiled
    def work():
        made = flambeau.empty(3, 4).mul_(0)
        return x * 2, made.isnan(), flambeau.rand(2), F.dropout(x, 0.5) + 1
    kept = [work()[0] for _ in range(3)]        # what an empty tensor holds is anything yet
    before = flambeau.default_generator.algorithm
    try:
        flambeau.use_deterministic_algorithms(True)
        kept += [work(), work()]
        flambeau.random.set_algorithm("mt19937")
        flambeau.manual_seed(2)
        kept += [work(), work()]
        flambeau.set_num_threads(1)
        kept += [work(), work()]
    finally:
        flambeau.use_deterministic_algorithms(False)
        flambeau.random.set_algorithm(before)
        flambeau.set_num_threads(2)
    flambeau.manual_seed(2)
    return kept, work()[2:]


@use
def default_dtypes(compiled, rows):
    x = numbers(rows)
    work = compiled(lambda: (x * 1.5, flambeau.ones(3) * 2, flambeau.arange(3) / 2))
    kept = []
    try:
        for dtype in (flambeau.float32, flambeau.float32, flambeau.float64, flambeau.float32):
            flambeau.set_default_dtype(dtype)
            kept.append(work())
    finally:
        flambeau.set_default_dtype(flambeau.float32)
    return kept


# ---- who watches operators -----------------------------------------------------------------------
class Doubled(flambeau.Tensor):
    """Multiplies what operators over it give by two."""

    @classmethod
    def __torch_function__(cls, fn, types, args=(), kwargs=None):
        made = super().__torch_function__(fn, types, args, kwargs or {})
        is_new = isinstance(made, flambeau.Tensor) and getattr(fn, "__name__", "") == "mul"
        return made.add_(made.as_subclass(flambeau.Tensor)) if is_new else made


@use
def classes_of_tensors(compiled, rows):
    x = numbers(rows).as_subclass(Doubled)

    @compiled
    def work(x):
        y = x * 2
        x.add_(1)
        return y + 1, x.exp(), type(y).__name__
    return [work(x) for _ in range(4)], work(numbers(rows)), x.as_subclass(flambeau.Tensor)


class Noted(TorchFunctionMode):
    """Notes names, and reads what functions give."""

    def __init__(self):
        super().__init__()
        self.notes = []

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        made = fn(*args, **kwargs or {})
        if isinstance(made, flambeau.Tensor) and made.dtype == flambeau.float32:
            self.notes.append((getattr(fn, "__name__", "?"), made.detach().sum().item()))
        return made


class Dispatched(TorchDispatchMode):
    """Notes operators, and adds one to what products give."""

    def __init__(self):
        super().__init__()
        self.notes = []

    def __torch_dispatch__(self, fn, types, args=(), kwargs=None):
        self.notes.append(str(fn))
        made = fn(*args, **kwargs or {})
        return made + 1 if "mul" in str(fn) else made


def watched(make):
    def program(compiled, rows):
        x, w = numbers(rows), numbers(4, 1, requires_grad=True)

        @compiled
        def work(x):
            y = (x @ w.T) * 2
            x.add_(1)
            return (y + x).tanh()
        kept = [work(x), work(x), work(x)]
        with make() as mode:
            kept += [work(x), x * 2, work(x)]
        inside = compiled(lambda x: _within(make, x, w))
        kept += [work(x), inside(x), inside(x), inside(x)]
        counted = mode.get_total_flops() if isinstance(mode, FlopCounterMode) else mode.notes
        return kept, counted, x
    program.__name__ = f"mode_{make.__name__}"
    return program


def _within(make, x, w):
    with make():
        return (x * w.detach()[:1]).exp() @ w.T


def flops():
    return FlopCounterMode(display=False)


USES += [watched(make) for make in (Noted, Dispatched, flops)]


# ---- derivatives ---------------------------------------------------------------------------------
class Cubed(autograd.Function):
    """Saves a result of its own, and writes in backward."""

    @staticmethod
    def forward(ctx, a):
        square = a * a
        ctx.save_for_backward(a, square)
        ctx.other = square * 2
        return square * a

    @staticmethod
    def backward(ctx, g):
        _, square = ctx.saved_tensors
        return g * 3 * square + 0 * ctx.other.add_(1)


@use
def functions_of_their_own(compiled, rows):
    leaf = numbers(rows, requires_grad=True)

    @compiled
    def work():
        y = Cubed.apply(leaf * 2)
        (y * leaf).sum().backward()
        return y
    outside = compiled(lambda: Cubed.apply(leaf.exp()) + 1)
    kept = [work() for _ in range(4)]
    made = [outside() for _ in range(4)]
    made[3].sum().backward()
    return kept, made, leaf


@use
def checkpoints_with_dropout(compiled, rows):
    x, leaf = numbers(rows), numbers(rows, 1, requires_grad=True)
    kept = []
    for reentrant in (False, True):
        part = compiled(lambda a, b: F.dropout(a * b, 0.5).exp())
        inside = compiled(lambda a, b: checkpoint(
            lambda a, b: F.dropout(a * b, 0.5).exp(), a, b, use_reentrant=reentrant))  # noqa: B023
        step = compiled(lambda inside: inside(leaf, x).sum().backward())
        for _ in range(4):
            step(inside)
            made = checkpoint(part, leaf, x, use_reentrant=reentrant) * inside(leaf, x)
            made.sum().backward()
            kept += [made, leaf.grad.clone(), flambeau.rand(2)]
    return kept


@use
def transforms_inside(compiled, rows):
    x, y = numbers(rows), numbers(rows, 1)
    loss = compiled(lambda a: ((a * y).tanh() * a).sum())
    row = compiled(lambda a, b: (a * b).exp().sum() + a)
    both = compiled(lambda: (func.grad(loss)(x), func.vmap(row)(x, y),
                             func.jvp(loss, (x,), (y,)),
                             func.vmap(func.grad(lambda a: (a * a).sum()))(x)))
    kept = [both() for _ in range(4)]
    return kept, func.grad(both_halves(loss))(x), func.vmap(row)(x, y), func.vjp(loss, x)[0]


def both_halves(loss):
    return lambda a: loss(a) + loss(a * 0.5)


@use
def gradients_of_gradients(compiled, rows):
    leaf = numbers(rows, requires_grad=True)

    @compiled
    def work(scale):
        y = ((leaf * scale).tanh() * leaf).sum()
        first, = autograd.grad(y, leaf, create_graph=True)
        second, = autograd.grad((first ** 2).sum(), leaf, create_graph=True)
        (second * first).sum().backward()
        return y, first, second
    loss = compiled(lambda: (leaf.sigmoid() * leaf).exp())
    kept = [work(0.5) for _ in range(4)]
    for _ in range(4):
        made = loss()
        first, = autograd.grad(made.sum(), leaf, create_graph=True)
        first.pow(2).sum().backward()
        kept += [made, first]
    return kept, leaf


@use
def backward_twice(compiled, rows):
    leaf, x = numbers(rows, requires_grad=True), numbers(rows, 1)
    work, kept = compiled(lambda: (leaf * x).exp().tanh()), []
    for k in range(4):
        made = work()
        made.sum().backward(retain_graph=True)
        made.sum().backward()
        kept += [made, leaf.grad.clone()]
        if k == 1:
            leaf.grad = None
        try:
            made.sum().backward()
        except RuntimeError as error:
            kept.append(str(error)[:40])
    return kept


@use
def what_is_saved_is_written_to(compiled, rows):
    leaf = numbers(rows, requires_grad=True)

    @compiled
    def work(writes):
        y = (leaf * 2).exp()
        z = y * y
        if writes:
            y.add_(1)
        return z
    kept = []
    for writes in (False, False, False, True, False, True):
        made = work(writes)
        try:
            made.sum().backward()
        except RuntimeError as error:
            kept.append("modified by an inplace operation" in str(error))
        kept.append(made)
    return kept, leaf


# A result that is computed again is the one before the write, and the gradient is right.
what_is_saved_is_written_to.not_within_a_budget = True


@each_way(USES)
def test_modes_agree(use, way):
    agree(use, way)
