"""Compiled functions over special values, losses and norms of all kinds, and shared parameters."""

import collections
import contextlib
import functools
import operator

from agreeing import agree, each_way, numbers

import flambeau
import flambeau.nn.functional as F
from flambeau import nn, optim

USES = []

SPECIAL = (0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-45, -1e-40, 3e38, -3e38, 88.7,
           -104.0, 1e-8, 17.0, -17.0, 9.01, 0.55)
FUNCTIONS = (F.gelu, F.silu, F.softplus, F.mish, F.elu, F.logsigmoid, flambeau.exp, flambeau.sinh,
             flambeau.tan, flambeau.erf, flambeau.sign, flambeau.nan_to_num, flambeau.round,
             flambeau.trunc, flambeau.rsqrt, flambeau.log1p, flambeau.expm1, flambeau.frac)


def use(program):
    USES.append(program)
    return program


def layer(scale=1.0):
    made = nn.Linear(4, 4)
    for param in made.parameters():
        param.data.copy_(flambeau.linspace(-scale, scale, param.numel()).view_as(param))
    return made


def tried(work, *args):
    try:
        return work(*args)
    except (RuntimeError, IndexError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def gradients(*modules):
    return [None if p.grad is None else p.grad.clone()
            for module in modules for p in module.parameters()]


@use
def special_values(compiled, rows):
    @compiled
    def work(x):
        other = x.flip(0)
        chain = (x * 1).tanh().exp().sigmoid() * x - 0.5
        return (chain.relu().sqrt(), [fn(x * 1) for fn in FUNCTIONS], x.pow(2.5), x.pow(3),
                x.clamp(-1, 1), x.atan2(other), x.fmod(2.0), x.remainder(2.0), x.hypot(other),
                flambeau.maximum(x, other), x.logaddexp(other), x.sign() * x.abs().sqrt())

    seen = []
    for name in ("float32", "float64", "float32", "bfloat16", "float16"):
        x = flambeau.tensor(SPECIAL, dtype=getattr(flambeau, name))
        x = x.repeat(max(rows // 4, 1)).view(-1, 4)
        seen += [tried(work, x), tried(work, x.flip(1).contiguous())]
    return seen


@use
def rows_of_special_values(compiled, rows):
    @compiled
    def work(x):
        scale = flambeau.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        return (F.softmax(x * 0.125, -1), F.log_softmax(x + 0, -1), (x * 2).logsumexp(-1),
                F.layer_norm(x, (4,)), F.gelu(F.layer_norm(x * 1, (4,))) + x, x * scale,
                (x - x.amax(-1, keepdim=True)).exp().sum(-1))

    seen = []
    for name in ("float32", "float64", "float32", "bfloat16"):
        x = flambeau.tensor(SPECIAL, dtype=getattr(flambeau, name))
        x = x.repeat(max(rows // 4, 1)).view(-1, 4)
        seen += [work(x), work(x.flip(1).contiguous()), work(x * 0)]
    return seen


LOSSES = (
    lambda x, t, w: F.cross_entropy(x * 1.5, t),
    lambda x, t, w: F.cross_entropy(x * 1.5, t, weight=w, ignore_index=2),
    lambda x, t, w: F.cross_entropy(x, t, label_smoothing=0.1),
    lambda x, t, w: F.cross_entropy(x, flambeau.full_like(t, 2), ignore_index=2),
    lambda x, t, w: F.cross_entropy(x, t + 3),
    lambda x, t, w: F.nll_loss(F.log_softmax(x, 1), t, reduction="none").sum(),
    lambda x, t, w: F.cross_entropy(x, x.detach().softmax(1)),
    lambda x, t, w: F.kl_div(F.log_softmax(x, -1), x.detach().softmax(-1), reduction="batchmean"),
    lambda x, t, w: F.binary_cross_entropy_with_logits(x, (x.detach() > 0).float()),
    lambda x, t, w: F.smooth_l1_loss(x, x.detach().flip(0)) + F.huber_loss(x, x.detach() * 0),
)


@use
def losses_of_all_kinds(compiled, rows):
    x, targets = numbers(rows).requires_grad_(), (flambeau.arange(rows) * 7) % 4
    weights, seen = flambeau.tensor([1.0, 0.5, 2.0, 0.0]), []

    @compiled
    def work(kind):
        loss = LOSSES[kind](x, targets, weights)
        loss.backward()
        return loss.detach()

    for kind in (*range(len(LOSSES)), 0, 1, 4, 3, 4, 0):
        seen += [tried(work, kind), None if x.grad is None else x.grad.clone()]
        x.grad = None
    return seen


@use
def norms_of_all_kinds(compiled, rows):
    x, seen, batch, root = numbers(rows), [], nn.BatchNorm1d(4, momentum=0.3), nn.RMSNorm(4)

    @compiled
    def work(dim):
        return ((x * 2).var(dim), (x + 1).std(dim, unbiased=False), x.mean(dim, keepdim=True) - x,
                F.layer_norm(x * 2, (4,), eps=0.1), root(x + 1).detach(), batch(x * 2).detach(),
                F.normalize(x, dim=dim), x.norm(dim=dim), (x * x).cumsum(dim), x.amax(dim),
                x.argmax(dim), x.prod(dim), F.group_norm(x * 1, 2), flambeau.std_mean(x, dim),
                x - x.median(dim).values.unsqueeze(dim))

    for dim in (0, 1, 1, -1, 0):
        seen += [work(dim), batch.running_mean.clone(), batch.running_var.clone()]
        batch.train(dim != -1)
    return seen


@use
def changed_before_going_back(compiled, rows):
    net, x, seen = layer(), numbers(rows).requires_grad_(), []

    @compiled
    def work(how):
        hidden = net(x).sigmoid()
        y = hidden * 2
        if how == "in place":
            hidden.mul_(2)
        elif how == "data":
            net.weight.data.mul_(1.5)
        elif how == "parameter":
            with flambeau.no_grad():
                net.weight.add_(1)
        elif how == "detached":
            hidden.detach().zero_()
        y.sum().backward()
        return y.detach()

    for how in ("", "in place", "", "data", "parameter", "", "detached", "data", ""):
        seen += [tried(work, how), *gradients(net), net.weight._version]
        seen.append(None if x.grad is None else x.grad.clone())
        net.zero_grad()
        x.grad = None
    return seen


@use
def neighbours_are_copied(compiled, rows):
    @compiled
    def work(x, overlaps):
        y = x * 2
        if overlaps:
            y[1:] = y[:-1]
        y[::2].add_(y[1:2])
        y.view(-1)[1::2] = y.view(-1)[::2]
        z = y.clone()
        z[:, :2].mul_(z[:, 2:])
        z.t().copy_(y.t() + 1)
        return y, z, y.T.contiguous(), flambeau.diagonal(z[:4, :4]).mul_(10)

    return [tried(work, numbers(rows, k), k == 3) for k in (0, 1, 1, 3, 2, 3)]


@use
def weights_are_tied_and_untied(compiled, rows):
    a, b, x, seen = layer(), layer(0.5), numbers(rows), []
    net = nn.Sequential(a, nn.Tanh(), b)

    @compiled
    def work():
        y = net(x).square().mean()
        y.backward()
        return y.detach()

    for change in (lambda: None, lambda: setattr(b, "weight", a.weight), net.zero_grad,
                   lambda: setattr(b, "weight", nn.Parameter(a.weight.detach().clone())),
                   lambda: net.zero_grad(set_to_none=False), lambda: a.weight.data.mul_(2),
                   lambda: a.weight.requires_grad_(False), lambda: a.weight.requires_grad_(True)):
        change()
        for _ in range(3):
            seen += [work(), *gradients(net)]
    return seen


@use
def steps_of_optimizers_that_change(compiled, rows):
    x, seen = numbers(rows), []
    for make in (functools.partial(optim.SGD, lr=0.1, momentum=0.9, nesterov=True),
                 functools.partial(optim.Adam, lr=0.01, amsgrad=True)):
        net = nn.Sequential(layer(), nn.Tanh(), layer(0.5))
        optimizer = make(net.parameters())
        schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        @compiled
        def step(clips, net=net, optimizer=optimizer, schedule=schedule):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            if clips:
                nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            optimizer.step()
            schedule.step()
            return loss.detach()

        changes = {2: lambda group: group.update(lr=0.5),
                   3: lambda group: group["params"][0].requires_grad_(False),
                   4: lambda group: group["params"][0].requires_grad_(True)}
        for k in range(7):
            seen += [step(k % 3 == 0), *(p.detach().clone() for p in net.parameters())]
            changes.get(k, lambda group: None)(optimizer.param_groups[0])
    return seen


@use
def containers_and_caches(compiled, rows):
    x, seen, scale = numbers(rows), [], [1.0]
    counts, turns = collections.Counter(), collections.deque([1, 2, 3])
    ordered = collections.OrderedDict(a=1, b=2)
    layers = collections.ChainMap({"q": 2}, {"r": 3})

    @functools.lru_cache(None)
    def factor(n):
        return n * scale[0]

    class Lazy:
        @functools.cached_property
        def big(self):
            return flambeau.full((4,), scale[0])

        def __getattr__(self, name):
            return operator.getitem(scale, 0)

    lazy = Lazy()

    @compiled
    def work():
        k = turns[0]
        turns.rotate(1)
        ordered.move_to_end(next(iter(ordered)))
        counts[k] += 1
        return x * factor(k) + lazy.big + lazy.other + next(iter(ordered.values())) \
            + layers["r"] + counts.total()

    for k in range(9):
        seen.append(work())
        if k == 3:
            scale[0] = 3.0
        if k == 5:
            factor.cache_clear()
            del lazy.__dict__["big"]
        if k == 6:
            layers.maps[0]["r"] = 10
    return seen


@use
def contexts_that_write(compiled, rows):
    x, seen, log = numbers(rows), [], []

    @contextlib.contextmanager
    def scaled(y, by):
        y.mul_(by)
        try:
            yield y
        except ZeroDivisionError:
            log.append("caught")
        finally:
            y.div_(by)

    @compiled
    def work(k):
        y = x.clone()
        with contextlib.ExitStack() as stack:
            for by in range(k):
                stack.enter_context(scaled(y, by + 2.0))
            z = y + 1
            stack.callback(y.add_, 100)
        with contextlib.suppress(KeyError):
            y.sub_(1)
            raise KeyError(y)
        with scaled(y, 2.0) as inside:
            inside.add_(1 / (k - 2))
        return y, z, len(log)

    for k in (1, 2, 2, 2, 3, 1):
        seen.append(work(k))
    return seen, log


@use
def slices_are_given(compiled, rows):
    """They have no hash before Python 3.12."""
    x = numbers(rows)
    work = compiled(lambda s, more: x[s] * 2 + len(more["rest"]))
    return [work(s, {"rest": [s]})
            for s in (slice(0, 2), slice(1, 2), slice(1, None, 2), slice(None), (slice(0, 2), 1),
                      (1, slice(0, 3)), slice(0, 2), Ellipsis, None)
            for _ in range(4)]


@each_way(USES)
def test_values_agree(use, way):
    agree(use, way)
