"""Hooks around steps and states, groups with names, and optimizers of one's own."""

import copy

import pytest
from leaves import leaf

import flambeau
from flambeau import optim
from flambeau.optim import optimizer as module


def make(**options):
    p = leaf([1.0], grad=[1.0])
    return p, optim.SGD([p], **{"lr": 0.5, **options})


def test_hooks_of_all_optimizers():
    order = []

    def note(word):
        return lambda optimizer, args, kwargs: order.append((word, args[0] is optimizer, kwargs))

    with module.register_optimizer_step_pre_hook(note("all before")):
        after = module.register_optimizer_step_post_hook(note("all after"))
        _, optimizer = make()
        optimizer.register_step_pre_hook(note("before"))
        optimizer.register_step_post_hook(note("after"))
        optimizer.step()
    after.remove()
    assert [word for word, *_ in order] == ["all before", "before", "after", "all after"]
    assert all(is_own and kwargs == {} for _, is_own, kwargs in order)
    optimizer.step()
    assert len(order) == 6


def test_a_hook_may_change_the_arguments():
    _, optimizer = make()
    closure = lambda: 7  # noqa: E731
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, closure), {}))
    assert optimizer.step() == 7
    handle.remove()
    optimizer.register_step_pre_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match=r"\(new_args, new_kwargs\)"):
        optimizer.step()


def test_a_step_that_fails_leaves_hooks_in_order():
    p, optimizer = make()
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))

    def closure():
        raise KeyError("loss")

    with pytest.raises(KeyError):
        optimizer.step(closure)
    optimizer.step()
    assert (calls, p.tolist()) == ([1], [0.5])


def test_hooks_of_a_step_of_one_s_own():
    class Twice(optim.SGD):
        def step(self, closure=None):
            super().step()
            return super().step(closure)

    p = leaf([1.0], grad=[1.0])
    optimizer = Twice([p], lr=0.25)
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    optimizer.step()
    assert (p.tolist(), calls) == ([0.5], [1])


def test_hooks_of_states():
    _, optimizer = make()
    order = []
    optimizer.register_state_dict_pre_hook(lambda o: order.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: order.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: state.update(note="kept"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    state = optimizer.state_dict()
    assert order == ["first", "second"]
    assert (state["note"], state["more"]) == ("kept", 1)

    _, other = make(lr=9.0)
    before = copy.deepcopy(state)

    def adapt(o, loaded):
        loaded["param_groups"] = [{**loaded["param_groups"][0], "lr": 0.125}]

    other.register_load_state_dict_pre_hook(adapt)
    other.register_load_state_dict_pre_hook(lambda o, loaded: order.append("loading"))
    other.register_load_state_dict_pre_hook(lambda o, loaded: order.append("early"), prepend=True)
    other.register_load_state_dict_post_hook(lambda o: order.append(o.param_groups[0]["lr"]))
    other.load_state_dict(state)
    assert order[2:] == ["early", "loading", 0.125]
    assert state == before


def named(*names, **options):
    pairs = [(name, leaf([float(i)], grad=[1.0])) for i, name in enumerate(names)]
    return optim.SGD(pairs, **{"lr": 0.1, "momentum": 0.9, **options})


def test_states_by_name():
    source = named("a.weight", "b.weight")
    source.step()
    state = source.named_state_dict()
    assert state["param_groups"][0]["params"] == ["a.weight", "b.weight"]
    assert list(state["state"]) == ["a.weight", "b.weight"]
    with pytest.raises(ValueError, match="no names"):
        make()[1].named_state_dict()
    with pytest.raises(ValueError, match="2 parameters are named 'a'"):
        named("a", "a").named_state_dict()
    with pytest.raises(ValueError, match="keyed by name"):
        make()[1].load_state_dict(state)
    with pytest.raises(ValueError, match="missing in the state: 'b.weigth'.*'b.weight'") as info:
        named("a.weight", "b.weigth").load_state_dict(state)
    assert "unknown to the optimizer: 'b.weight'" in str(info.value)


def test_names_move_between_groups():
    a, b, c = (leaf([1.0], grad=[1.0]) for _ in range(3))
    groups = [{"params": [("a", a)], "lr": 0.1}, {"params": [("b", b), ("c", c)], "lr": 0.2}]
    source = optim.SGD(groups, momentum=0.9)
    source.step()
    state = source.named_state_dict()
    apart = [{"params": [(name, p)]} for name, p in (("c", c), ("a", a), ("b", b))]
    target = optim.SGD(apart)
    target.load_state_dict(state)
    assert [group["lr"] for group in target.param_groups] == [0.2, 0.1, 0.2]
    assert [group["param_names"] for group in target.param_groups] == [["c"], ["a"], ["b"]]
    with pytest.raises(ValueError, match=r"saved groups \[0, 1\]"):
        optim.SGD([("a", a), ("b", b), ("c", c)]).load_state_dict(state)


def test_all_have_names_or_none():
    a, b = leaf([1.0]), leaf([1.0])
    with pytest.raises(ValueError, match="1 of 2 parameters have names"):
        optim.SGD([("a", a), b])
    with pytest.raises(ValueError, match="the new group have no names"):
        optim.SGD([("a", a)]).add_param_group({"params": [b]})
    with pytest.raises(ValueError, match="the new group have names"):
        optim.SGD([a]).add_param_group({"params": [("b", b)]})
    with pytest.raises(TypeError, match='needs "params"'):
        optim.SGD([a]).add_param_group({"lr": 0.1})


def test_a_state_without_names_keeps_those_there_are():
    state = make()[1].state_dict()
    optimizer = optim.SGD([("only", leaf([1.0]))])
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["param_names"] == ["only"]


def test_an_option_may_be_required():
    class Fixed(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"value": module.required})

    Fixed([{"params": [leaf([1.0])], "value": 3}])
    with pytest.raises(ValueError, match="every parameter group has to set 'value'"):
        Fixed([leaf([1.0])])


def test_an_option_turned_on_later():
    """Its state begins with zeros, as if the option had just been met."""
    p = leaf([1.0, 1.0])
    optimizer = optim.Adam([p], lr=0.1)
    for amsgrad in (False, True, True):
        optimizer.param_groups[0]["amsgrad"] = amsgrad
        p.grad = flambeau.tensor([1.0, 2.0])
        optimizer.step()
    state = optimizer.state[p]
    assert state["max_exp_avg_sq"].tolist() == state["exp_avg_sq"].tolist()


def test_a_subclass_that_fills_in_options_when_loading():
    class Old(optim.SGD):
        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("flavour", "plain")

    optimizer = Old([leaf([1.0])], lr=0.1)
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.param_groups[0]["flavour"] == "plain"


def test_other_parameters_for_a_while():
    p, optimizer = make(momentum=0.9)
    optimizer.step()
    kept, group = optimizer.state, optimizer.param_groups[0]
    trial = leaf([5.0], grad=[2.0])
    state = optimizer.state_dict()
    buffer = state["state"][0]["momentum_buffer"].clone()
    state["state"][0] = {"momentum_buffer": buffer}
    state["param_groups"][0]["lr"] = 1.0
    swapped = optim.swap_in_optimizer_params_and_state
    with pytest.raises(KeyError), swapped(optimizer, {"p": trial}, state):
        optimizer.step()
        raise KeyError
    assert trial.tolist() == pytest.approx([5 - (0.9 + 2)])
    assert buffer.tolist() == pytest.approx([2.9])
    assert optimizer.state is kept
    assert optimizer.param_groups[0] is group
    assert (group["lr"], group["params"], p.tolist()) == (0.5, [p], [0.5])


def test_other_parameters_have_to_match():
    _, optimizer = make(momentum=0.9)
    swapped = optim.swap_in_optimizer_params_and_state

    def refused(match, count=1, state=None, **changes):
        saved = optimizer.state_dict() if state is None else state
        if changes:
            saved["param_groups"][0].update(changes)
        tensors = {str(i): leaf([1.0]) for i in range(count)}
        with pytest.raises(RuntimeError, match=match), swapped(optimizer, tensors, saved):
            pass

    refused("no state yet")
    optimizer.step()
    refused("0 parameters for an optimizer of 1", count=0)
    refused("what optimizer.state_dict", state=3)
    refused("2 parameter groups", state={"param_groups": [{}, {}], "state": {}})
    refused(r"other options in the state: \['flavour'\]", flavour=1)
    refused("another number of parameters", params=[0, 1])
    refused("by position", state={**optimizer.state_dict(), "state": {"weight": {}}})
    refused("not list", state={**optimizer.state_dict(), "state": []})


def test_a_class_around_an_optimizer_is_never_initialized():
    class Around(optim.Optimizer):
        def __init__(self, inner):
            self.optimizer, self.param_groups = inner, inner.param_groups
            self.state, self.defaults = inner.state, inner.defaults

        def step(self, closure=None):
            return self.optimizer.step(closure)

    weight, inner = make()
    around = Around(inner)
    rates = optim.lr_scheduler.StepLR(around, 1, gamma=0.1)
    around.step()
    rates.step()
    assert weight.tolist() == [0.5]
    assert around.param_groups[0]["lr"] == pytest.approx(0.05)


def test_a_class_around_an_optimizer_may_count_its_steps():
    """Libraries call PyTorch's `_patch_step_function` in place of `Optimizer.__init__`."""
    class Around(optim.Optimizer):
        def __init__(self, inner):
            self._patch_step_function()
            self.inner = inner

        def step(self, closure=None):
            return self.inner.step(closure)

    p, inner = make()
    around = Around(inner)
    seen = []
    around.register_step_post_hook(lambda *args: seen.append(args[0]))
    around.step()
    assert seen == [around] and p.item() == 0.5
