"""What all optimizers share: groups, state, hooks, errors.

Gradients are set by hand: an optimizer needs no autograd.
"""

import copy
import pickle

import pytest
from leaves import leaf

import flambeau
from flambeau import optim


def param(*values, grad=None, dtype=None):
    return leaf(list(values), grad, dtype)


def values(tensor):
    return pytest.approx(tensor.tolist(), rel=1e-6)


def test_groups_take_defaults_and_their_own_options():
    a, b = param(1.0, grad=[1.0]), param(1.0, grad=[1.0])
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
    optimizer.step()
    assert a.tolist() == values(flambeau.tensor([0.9]))
    assert b.tolist() == [0.5]


def test_a_group_may_be_added_later():
    a, b = param(1.0, grad=[1.0]), param(1.0, grad=[1.0])
    optimizer = optim.SGD([a], lr=0.1, momentum=0.9)
    optimizer.step()
    optimizer.add_param_group({"params": b, "lr": 0.5})
    assert optimizer.param_groups[1]["momentum"] == 0.9
    optimizer.step()
    assert b.tolist() == [0.5]


def test_named_parameters():
    a = param(1.0)
    optimizer = optim.SGD([("a", a)], lr=0.1)
    assert optimizer.param_groups[0]["params"][0] is a
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a"]


def test_parameters_without_gradient_are_left_alone():
    a, b = param(1.0), param(1.0, grad=[1.0])
    for kind in (optim.SGD, optim.Adam):
        optimizer = kind([a, b], lr=0.1)
        optimizer.step()
        assert a.tolist() == [1.0]
        assert a not in optimizer.state


def test_zero_grad():
    a = param(1.0, grad=[1.0])
    optimizer = optim.SGD([a], lr=0.1)
    optimizer.zero_grad(set_to_none=False)
    assert a.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert a.grad is None
    optimizer.zero_grad()


def test_closure_and_hooks():
    a = param(1.0)
    order = []

    def closure():
        order.append("closure")
        a.grad = flambeau.tensor([2.0])
        return 7

    optimizer = optim.SGD([a], lr=0.1)
    optimizer.register_step_pre_hook(lambda *_: order.append("before"))
    handle = optimizer.register_step_post_hook(lambda *_: order.append("after"))
    assert optimizer.step(closure) == 7
    assert order == ["before", "closure", "after"]
    assert a.tolist() == values(flambeau.tensor([0.8]))
    handle.remove()
    handle.remove()
    optimizer.step(closure)
    assert order[3:] == ["before", "closure"]


def test_a_step_writes_in_place():
    a = param(1.0, grad=[1.0])
    address = a.data_ptr()
    optim.SGD([a], lr=0.1).step()
    assert a.data_ptr() == address


MAKERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.1, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
}


def walk(optimizer, params, steps, first=0):
    for step in range(first, first + steps):
        for i, p in enumerate(params):
            p.grad = flambeau.tensor([0.5 * (step + 1) - i, -1.0 * (step % 3)])
        optimizer.step()
    return [p.tolist() for p in params]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_saved_and_resumed_is_the_same_as_never_stopped(make):
    whole = [param(1.0, 2.0), param(3.0, 4.0)]
    expected = walk(make(whole), whole, 6)
    parts = [param(1.0, 2.0), param(3.0, 4.0)]
    first = make(parts)
    walk(first, parts, 3)
    saved = first.state_dict()
    second = make(parts)
    second.load_state_dict(saved)
    assert walk(second, parts, 3, first=3) == expected


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_loaded_state_is_a_copy(make):
    params = [param(1.0, 2.0)]
    first = make(params)
    walk(first, params, 1)
    saved = first.state_dict()
    before = copy.deepcopy(saved)
    second = make([param(1.0, 2.0)])
    second.load_state_dict(saved)
    walk(second, second.param_groups[0]["params"], 2)
    assert str(saved) == str(before)


def test_layout_of_the_state():
    a, b = param(1.0, grad=[1.0]), param(1.0, grad=[1.0])
    optimizer = optim.Adam([{"params": [a]}, {"params": [b], "lr": 1.0}], amsgrad=True)
    optimizer.step()
    state = optimizer.state_dict()
    assert list(state) == ["state", "param_groups"]
    assert [group["params"] for group in state["param_groups"]] == [[0], [1]]
    assert list(state["state"][1]) == ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
    assert state["state"][0]["step"] == 1
    assert optimizer.state[a]["exp_avg"].tolist() == pytest.approx([0.1])


def test_state_takes_the_dtype_of_the_parameter_and_steps_become_numbers():
    source = optim.Adam([param(1.0, grad=[1.0])])
    source.step()
    state = source.state_dict()
    state["state"][0]["step"] = flambeau.tensor(1.0)
    p = param(1.0, dtype=flambeau.float64)
    target = optim.Adam([p])
    target.load_state_dict(state)
    assert target.state[p]["step"] == 1
    assert isinstance(target.state[p]["step"], int)
    assert target.state[p]["exp_avg"].dtype == flambeau.float64


def test_unknown_options_of_a_state_keep_their_values():
    optimizer = optim.Adam([param(1.0)], lr=0.1)
    state = optimizer.state_dict()
    del state["param_groups"][0]["decoupled_weight_decay"]
    state["param_groups"][0]["lr"] = 0.2
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["decoupled_weight_decay"] is False
    assert optimizer.param_groups[0]["lr"] == 0.2


def test_state_of_another_shape_is_refused():
    one = optim.SGD([param(1.0)], lr=0.1)
    two = optim.SGD([param(1.0), param(1.0)], lr=0.1)
    groups = optim.SGD([{"params": param(1.0)}, {"params": param(1.0)}], lr=0.1)
    with pytest.raises(ValueError, match="1 parameters in the state, 2 in the optimizer"):
        two.load_state_dict(one.state_dict())
    with pytest.raises(ValueError, match="1 parameter groups, the optimizer 2"):
        groups.load_state_dict(one.state_dict())


def test_a_state_of_other_shapes_is_refused_before_anything_is_changed():
    source = optim.Adam([param(1.0, grad=[1.0]), param(1.0, 2.0, grad=[1.0, 1.0])], lr=0.1)
    source.step()
    target = optim.Adam([param(1.0, 2.0), param(1.0)], lr=0.5)
    text = r"'exp_avg' of parameter 0 of group 0 has shape \(1,\), the parameter \(2,\)"
    with pytest.raises(ValueError, match=text):
        target.load_state_dict(source.state_dict())
    assert target.param_groups[0]["lr"] == 0.5
    assert not target.state


def test_copies():
    optimizer = optim.Adam([flambeau.zeros(2)], lr=0.1)
    optimizer.state[optimizer.param_groups[0]["params"][0]]["step"] = 5
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        twin_param = twin.param_groups[0]["params"][0]
        assert twin_param is not optimizer.param_groups[0]["params"][0]
        assert twin.state[twin_param]["step"] == 5
        twin.step()


def test_repr_of_two_groups():
    text = repr(optim.SGD([{"params": [param(1.0)]}, {"params": [param(2.0)], "lr": 1.0}], lr=0.1))
    assert "\n\nParameter Group 1\n" in text
    assert text.count("\n\n") == 1


def test_repr():
    assert repr(optim.SGD([param(1.0)], lr=0.1)) == (
        "SGD (\n"
        "Parameter Group 0\n"
        "    dampening: 0\n"
        "    differentiable: False\n"
        "    foreach: None\n"
        "    fused: None\n"
        "    lr: 0.1\n"
        "    maximize: False\n"
        "    momentum: 0\n"
        "    nesterov: False\n"
        "    weight_decay: 0\n"
        ")"
    )


def test_an_optimizer_of_one_s_own_may_override_step():
    class Fixed(optim.Optimizer):
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.fill_(group["value"])

    a = param(1.0)
    Fixed([a], {"value": 3.0}).step()
    assert a.tolist() == [3.0]
    with pytest.raises(NotImplementedError, match="_update_group"):
        optim.Optimizer([a], {}).step()


def test_options_of_other_types_are_refused():
    a = param(1.0)
    with pytest.raises(TypeError, match="lr is a number, not str"):
        optim.Adam([a], lr="0.1")
    with pytest.raises(TypeError, match=r"betas is a pair of numbers such as .*, not 0\.9"):
        optim.Adam([a], betas=0.9)
    with pytest.raises(ValueError, match=r"betas is a pair of numbers such as .*, not 1"):
        optim.RAdam([a], betas=(0.9,))


@pytest.mark.parametrize(("kind", "expected"), [
    (optim.SGD, 0.8), (optim.Adam, 0.8), (optim.AdamW, 0.798101), (optim.Adagrad, 0.8292893)])
def test_a_parameter_given_twice_is_updated_twice(kind, expected):
    a = param(1.0)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = kind([a, a], lr=0.1)
    a.grad = flambeau.ones_like(a)
    optimizer.step()
    assert a.tolist() == pytest.approx([expected])


def test_what_is_no_list_of_leaves_is_refused():
    a = param(1.0)
    with pytest.raises(TypeError, match=r"not object: of a module write module\.parameters\(\)"):
        optim.SGD(object(), lr=0.1)
    with pytest.raises(TypeError, match=r"write \[tensor\]"):
        optim.SGD(a, lr=0.1)
    with pytest.raises(ValueError, match="no parameters"):
        optim.SGD([], lr=0.1)
    with pytest.raises(TypeError, match="takes tensors, not int"):
        optim.SGD([3], lr=0.1)
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.SGD([a], lr=0.1).add_param_group({"params": a})
    with pytest.raises(TypeError, match="not a set"):
        optim.SGD([{"params": {a}}], lr=0.1)
    with pytest.raises(TypeError, match="a parameter group is a dict"):
        optim.SGD([a], lr=0.1).add_param_group([a])


@pytest.mark.parametrize(
    ("kind", "options", "text"),
    [
        (optim.SGD, {"lr": -1}, "lr is at least 0, not -1"),
        (optim.SGD, {"momentum": -1}, "momentum"),
        (optim.SGD, {"weight_decay": -1}, "weight_decay"),
        (optim.SGD, {"nesterov": True}, "nesterov=True needs momentum"),
        (optim.SGD, {"nesterov": True, "momentum": 0.9, "dampening": 0.1}, "dampening = 0"),
        (optim.Adam, {"lr": float("nan")}, "lr is at least 0"),
        (optim.Adam, {"eps": -1}, "eps"),
        (optim.Adam, {"betas": (0.9, 1.0)}, r"betas\[1\] is at least 0 and less than 1, not 1.0"),
        (optim.AdamW, {"weight_decay": -1}, "weight_decay"),
    ],
)
def test_options_are_checked(kind, options, text):
    with pytest.raises(ValueError, match=text):
        kind([param(1.0)], **options)


def test_flags_of_pytorch_are_accepted():
    for kind in (optim.SGD, optim.Adam, optim.AdamW):
        kind([param(1.0)], lr=0.1, foreach=True)
        kind([param(1.0)], lr=0.1, fused=True)
        with pytest.raises(RuntimeError, match="cannot both be True"):
            kind([param(1.0)], lr=0.1, foreach=True, fused=True)
        with pytest.raises(RuntimeError, match="fused does not support differentiable"):
            kind([param(1.0)], lr=0.1, fused=True, differentiable=True)
