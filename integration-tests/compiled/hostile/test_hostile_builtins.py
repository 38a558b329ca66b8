"""Compiled functions that hand tensors and modules to Python's builtin functions."""

from agreeing import agree, each_call, each_way, numbers

import flambeau
from flambeau import nn

USES = []


def use(program):
    USES.append(program)
    return program


def each_of(compiled, functions):
    """What calls compiled functions one after the other, and gives their results or errors."""
    made = [compiled(each) for each in functions]

    def work():
        kept = []
        for each in made:
            try:
                found = each()
            except (LookupError, RuntimeError, TypeError, ValueError) as error:
                found = f"{type(error).__name__}: {error}"
            kept.append(list(found) if hasattr(found, "__next__") else found)
        return kept
    return work


class Counted(nn.Module):
    """Has a length that its items do not have."""

    def __init__(self):
        super().__init__()
        self.count, self.items = 3, [1, 2]

    def __len__(self):
        return self.count

    def __iter__(self):
        return iter(self.items)

    def __reversed__(self):
        return iter([7, 8, self.count])

    def __bool__(self):
        return self.count > 3


class Long(nn.ModuleList):
    def __len__(self):
        return 42


@use
def lengths_of_modules(compiled, rows):
    x, own = numbers(rows), Counted()
    table, chain = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()}), nn.ModuleList([nn.ReLU()])
    long, named = Long([nn.ReLU(), nn.Tanh()]), nn.ParameterDict({"a": nn.Parameter(x[0].clone())})
    work = each_of(compiled, [
        lambda: x * len(own), lambda: x * len(table), lambda: x * len(chain), lambda: x * len(long),
        lambda: x * len(named), lambda: x * sum(own), lambda: x * sum(reversed(own)),
        lambda: [type(m).__name__ for m in reversed(chain)], lambda: x * 2 if own else x,
        lambda: x * 2 if table else x, lambda: [*table], lambda: "a" in table, lambda: len(x)])
    return each_call(work, [
        lambda: setattr(own, "count", 5), lambda: own.items.append(4), lambda: table.pop("b"),
        lambda: chain.append(nn.Sigmoid()), lambda: named.update({"b": nn.Parameter(x[1].clone())}),
        lambda: long.append(nn.ReLU())])


@use
def order_of_tensors(compiled, rows):
    x = numbers(rows)[:5]
    work = each_of(compiled, [
        lambda: reversed(x), lambda: reversed([x, x * 2]), lambda: list(reversed(x)),
        lambda: [t + u for t, u in zip(reversed(x), x, strict=True)], lambda: sum(reversed(x)),
        lambda: reversed(x.sum()), lambda: list(enumerate(x)), lambda: max(x[0, 0], x[0, 1]),
        lambda: sorted(x[0]), lambda: [abs(x), round(x), pow(x, 2), divmod(x, 2)]])
    return each_call(work, [lambda: x.neg_(), lambda: x.copy_(numbers(9, 3)[:len(x)])])


@use
def tensors_with_methods_of_their_own(compiled, rows):
    x, given = numbers(rows), numbers(rows, 1)
    captured, passed = compiled(lambda: x.exp() + 1), compiled(lambda t: t.tanh() * 2)

    def work():
        return captured(), passed(given)
    return each_call(work, [
        lambda: setattr(x, "note", 5), lambda: setattr(x, "exp", lambda: x * 100),
        lambda: delattr(x, "exp"), lambda: setattr(given, "tanh", given.relu),
        lambda: delattr(given, "tanh")])


@use
def parameters_and_tensors(compiled, rows):
    x = numbers(rows)
    parameter, leaf = nn.Parameter(x.clone()), x.clone().requires_grad_()
    work = compiled(lambda t: (t * 2 if isinstance(t, nn.Parameter) else t + 1, t.is_leaf))
    return [work(t) for t in (parameter, leaf, leaf * 1, x, parameter.data, parameter) * 3]


class Doubled(nn.Parameter):
    """Products of which are twice what they are."""

    @classmethod
    def __torch_function__(cls, fn, types, args=(), kwargs=None):
        made = super().__torch_function__(fn, types, args, kwargs or {})
        return made + made if getattr(fn, "__name__", "") == "mul" else made


@use
def classes_of_parameters_change(compiled, rows):
    x, parameter = numbers(rows), nn.Parameter(numbers(1))
    captured = compiled(lambda: (x * parameter).detach())
    passed = compiled(lambda t: (x * t).detach())
    return each_call(lambda: (captured(), passed(parameter)), [
        lambda: setattr(parameter, "__class__", Doubled),
        lambda: setattr(parameter, "__class__", nn.Parameter)])


@use
def conjugates(compiled, rows):
    z = flambeau.complex(numbers(rows), numbers(rows, 1))
    work = compiled(lambda t: (t * 2, t.abs(), t.is_conj(), t.is_neg()))
    return [work(t) for t in (z, z.conj(), z.resolve_conj(), z.conj().imag, z.imag, z.mH) * 3]


@use
def code_is_replaced(compiled, rows):
    x = numbers(rows)

    def helper(a, k=2, *, m=1):
        return a * k + m

    def other(a, k=2, *, m=1):
        return a - k * m

    return each_call(compiled(lambda: helper(x) + 1), [
        lambda: setattr(helper, "__code__", other.__code__),
        lambda: setattr(helper, "__defaults__", (5,)), lambda: helper.__kwdefaults__.update(m=9),
        lambda: setattr(helper, "__defaults__", None)])


@each_way(USES)
def test_builtins_agree(use, way):
    agree(use, way)
