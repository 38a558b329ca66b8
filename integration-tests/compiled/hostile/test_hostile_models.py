"""Compiled functions that change models, gradients and optimizers between and inside calls."""

import copy

from agreeing import agree, each_way, numbers

import flambeau
import flambeau.nn.functional as F
from flambeau import autograd, nn

USES = []


def use(program):
    USES.append(program)
    return program


@use
def requires_grad_changes_between_calls(compiled, rows):
    x, w = numbers(rows), numbers(rows, 1)
    work = compiled(lambda: (x * w).exp() + w)
    kept = []
    for k in range(8):
        x.requires_grad_(k in (1, 2, 5))
        w.requires_grad_(k in (2, 3, 5, 6))
        with flambeau.set_grad_enabled(k != 5):
            made = work()
        kept += [made, made.requires_grad]
        if made.requires_grad:
            made.sum().backward()
            kept += [x.grad, w.grad]
    return [k if k is None else k.clone() if isinstance(k, flambeau.Tensor) and k.is_leaf else k
            for k in kept]


@use
def requires_grad_changes_inside(compiled, rows):
    x = numbers(rows)

    @compiled
    def work():
        a = (x * 2).requires_grad_()
        b = (a * a).sum()
        b.backward()
        c = x.detach().requires_grad_()
        d = (c * a.grad).sum()
        g, = autograd.grad(d, c)
        e = a.detach()
        f = e * 2
        return a, b, a.grad.clone(), g, e, f, f.requires_grad, c.requires_grad
    return [work() for _ in range(3)], x


@use
def autograd_functions_of_all_kinds(compiled, rows):
    class Dirty(autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            a.mul_(2)
            ctx.mark_dirty(a)
            ctx.save_for_backward(b)
            return a, b * 3

        @staticmethod
        def backward(ctx, g, h):
            b, = ctx.saved_tensors
            return g * 2, h * 3 + g * 0 if ctx.needs_input_grad[1] else None

    class Steps(autograd.Function):
        @staticmethod
        def forward(a, k):
            index = a.argmax(-1)
            return a * k, index, a.view(-1)[:2] * 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]
            ctx.mark_non_differentiable(output[1])
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, g, _, h):
            return (None if g is None else g * ctx.k), None

    class Same(autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-0.5, 0.5)

    leaf, other = numbers(rows, requires_grad=True), numbers(rows, 1, requires_grad=True)

    @compiled
    def work(k):
        a = leaf + 1
        one, two = Dirty.apply(a, other)
        three, index, part = Steps.apply(one * two, k)
        four = Same.apply(three)
        (four.sum() * 2 + Same.apply(leaf * 3).sum()).backward()
        return one, two, three, index, part, four, leaf.grad.clone(), other.grad.clone()
    return [work(k) for k in (2.0, 2.0, 3.0, 3.0)], leaf, other


@use
def models_are_copied_and_loaded_inside(compiled, rows):
    x = numbers(rows)
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))

    @compiled
    def work(k):
        other = copy.deepcopy(model)
        with flambeau.no_grad():
            model[0].weight.mul_(0.9)
        state = {name: value.clone() for name, value in model.state_dict().items()}
        y = model(x)
        z = other(x)
        model.load_state_dict(state)
        if k == 2:
            model.train(not model.training)
        return y, z, [*other.state_dict().values()], model(x), model.training
    return [work(k) for k in range(5)], [*model.state_dict().values()]


@use
def gradients_are_swapped(compiled, rows):
    leaf = numbers(rows, requires_grad=True)

    @compiled
    def work(k):
        (leaf * k).exp().sum().backward()
        before = leaf.grad
        leaf.grad = before.clone() * 2 if k % 2 else None
        if leaf.grad is not None:
            leaf.grad.add_(before)
            before.zero_()
        else:
            leaf.grad = flambeau.ones_like(leaf)
        return before, leaf.grad
    kept = []
    for k in range(6):
        one, two = work(k)
        kept += [one.clone(), two.clone(), one is two, leaf.grad is two]
    return kept


@use
def optimizers_change_between_calls(compiled, rows):
    x, model = numbers(rows), nn.Linear(4, 4)
    rule = flambeau.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    plan = flambeau.optim.lr_scheduler.StepLR(rule, 2, 0.5)
    extra = numbers(4, 1, requires_grad=True)

    @compiled
    def step(keep):
        if not keep:
            rule.zero_grad(set_to_none=False)
        loss = ((model(x) + extra.sum()) ** 2).mean()
        loss.backward()
        flambeau.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        rule.step()
        plan.step()
        return loss, rule.param_groups[0]["lr"]
    kept = []
    for k in range(9):
        kept.append(step(k % 3 == 1))
        if k == 3:
            rule.add_param_group({"params": [extra], "lr": 0.01})
        if k == 5:
            rule.param_groups[0]["momentum"] = 0.5
        if k == 6:
            rule.param_groups[0]["lr"] = 0.05
        if k == 7:
            rule.load_state_dict(copy.deepcopy(rule.state_dict()))
    return kept, list(model.parameters()), extra


@use
def embeddings_renormalise(compiled, rows):
    weight, bag = nn.Embedding(6, 4, max_norm=0.5, padding_idx=1), nn.EmbeddingBag(6, 4, mode="max")
    index = flambeau.tensor([0, 3, 1, 5])

    @compiled
    def work(index):
        y = weight(index) * 2
        z = bag(index.view(2, 2))
        (y.sum() + z.sum()).backward()
        return y, z, weight.weight.clone(), F.one_hot(index, 7)
    return [work(index.roll(k)) for k in range(4)], weight.weight, bag.weight


@use
def reparametrised_modules(compiled, rows):
    x = numbers(rows)
    one = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
    two = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))

    @compiled
    def work():
        y = two(one(x).tanh())
        y.sum().backward()
        return y
    kept = []
    for k in range(5):
        kept.append(work())
        if k == 2:
            two.eval()
    return kept, list(one.parameters()), list(two.parameters()), list(two.buffers())


@use
def called_functionally(compiled, rows):
    x, model = numbers(rows), nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    @compiled
    def work(values):
        y = flambeau.func.functional_call(model, values, (x,))
        return y * 2, model(x)
    kept = []
    for k in range(5):
        values = {name: value.detach() * k for name, value in model.named_parameters()}
        if k == 3:
            values.popitem()
        kept.append(work(values))
    return kept


@use
def recurrent_states_go_on(compiled, rows):
    cell = nn.LSTM(4, 3, batch_first=True)
    x = numbers(rows)[None]

    @compiled
    def work(state):
        y, (h, c) = cell(x, state)
        y.sum().backward()
        return y, (h.detach(), c.detach())
    state, kept = None, []
    for _ in range(4):
        y, state = work(state)
        kept += [y, *state]
    return kept, list(cell.parameters())


@use
def autocast_caches(compiled, rows):
    x, model = numbers(rows), nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 2))

    @compiled
    def work(on):
        with flambeau.autocast("cpu", flambeau.bfloat16, enabled=on):
            y = model(x)
            with flambeau.no_grad():
                model[0].weight.mul_(1.5)
            z = model(x)
            with flambeau.autocast("cpu", enabled=False):
                w = model(x.float())
            total = (y.float() + z + w).sum()
        total.backward()
        return y, z, w, total
    return [work(k) for k in (True, True, False, True, False, True)], list(model.parameters())


@use
def inference_tensors(compiled, rows):
    leaf = numbers(rows, requires_grad=True)
    with flambeau.inference_mode():
        plain = numbers(rows, 1)

    @compiled
    def work(inside):
        with flambeau.inference_mode(inside):
            y = plain * 2
            notes = [y.is_inference(), y.requires_grad]
            if inside:
                plain.add_(1)
                y.mul_(2)
        try:
            z = leaf * y
            z.sum().backward()
        except RuntimeError as error:
            z = str(error)[:40]
        try:
            plain.mul_(2)
        except RuntimeError as error:
            notes.append(str(error)[:40])
        return y, z, notes, plain + 1, (plain + 1).is_inference()
    return [work(k) for k in (True, True, False, True, False, False)], leaf, plain


@use
def errors_within_backward(compiled, rows):
    leaf = numbers(rows, requires_grad=True)

    @compiled
    def work(fails):
        y = leaf * 2
        z = y.exp()
        if fails:
            y.register_hook(lambda g: 1 / 0)
        leaf.data.mul_(0.9)
        try:
            z.sum().backward()
        except ZeroDivisionError:
            return "failed", leaf.grad
        return z, leaf.grad.clone()
    return [work(k) for k in (False, True, False, True, True, False)], leaf


@use
def averaged(compiled, rows):
    x, model = numbers(rows), nn.Linear(4, 4)
    mean = flambeau.optim.swa_utils.AveragedModel(model)
    rule = flambeau.optim.Adam(model.parameters(), lr=0.1)

    @compiled
    def step():
        rule.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        rule.step()
        mean.update_parameters(model)
        return loss, mean(x)
    return [step() for _ in range(5)], list(mean.parameters()), mean.n_averaged


@use
def parameters_are_replaced(compiled, rows):
    x, model = numbers(rows), nn.Linear(4, 4)

    @compiled
    def work():
        return model(x) * 2
    kept = [work(), work()]
    model.weight = nn.Parameter(model.weight * 2)
    kept += [work(), work()]
    model.bias.data = model.bias.data + 1
    kept += [work(), work()]
    model.bias = None
    kept += [work(), work()]
    model.double()
    try:
        work()
    except RuntimeError as error:
        kept.append(type(error).__name__)
    model.float()
    kept += [work()]
    model.weight.requires_grad_(False)
    kept += [work(), work().requires_grad]
    model.register_buffer("extra", flambeau.ones(4))
    del model.weight
    model.weight = flambeau.ones(4, 4) * model.extra
    kept += [work(), work()]
    model.extra.add_(1)
    kept += [work()]
    model.weight.mul_(2)
    kept += [work()]
    flambeau.utils.swap_tensors(model.weight, model.extra.expand(4, 4).clone())
    return kept, work()


@each_way(USES)
def test_models_agree(use, way):
    agree(use, way)
