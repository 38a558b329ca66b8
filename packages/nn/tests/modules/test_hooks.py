"""Hooks around forward."""

import copy

import pytest

from flambeau import nn


def test_pre_hooks_change_arguments():
    layer = nn.Identity()
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 10,))
    assert layer(1) == 20


def test_prepend_comes_first():
    layer = nn.Identity()
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    layer.register_forward_pre_hook(lambda module, args: args[0] * 10, prepend=True)
    assert layer(1) == 11


def test_keyword_arguments():
    class Scale(nn.Module):
        def forward(self, x, factor=1):
            return x * factor

    layer = Scale()
    layer.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"factor": 3}), with_kwargs=True
    )
    seen = []
    layer.register_forward_hook(
        lambda module, args, kwargs, output: seen.append((args, kwargs, output)),
        with_kwargs=True,
    )
    assert layer(2) == 6
    assert seen == [((2,), {"factor": 3}, 6)]
    layer.register_forward_pre_hook(lambda module, args, kwargs: 5, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"None or \(args, kwargs\)"):
        layer(2)


def test_forward_hooks_replace_the_output_and_can_be_removed():
    layer = nn.Identity()
    first = layer.register_forward_hook(lambda module, args, output: output + 1)
    with layer.register_forward_hook(lambda module, args, output: output * 10):
        assert layer(1) == 20
    assert layer(1) == 2
    first.remove()
    first.remove()
    assert layer(1) == 1


def test_a_hook_may_remove_itself():
    layer = nn.Identity()
    calls = []

    def once(module, args, output):
        calls.append(output)
        handle.remove()

    handle = layer.register_forward_hook(once)
    layer(1)
    layer(2)
    assert calls == [1]


def test_always_call():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    layer = Fails()
    seen = []
    layer.register_forward_hook(lambda module, args, output: seen.append("skipped"))
    layer.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    with pytest.raises(ValueError, match="no"):
        layer(1)
    assert seen == [None]


def test_handles_show_the_hooks_of_their_kind():
    layer = nn.Identity()
    first, second = [layer.register_forward_hook(lambda *a: None) for _ in range(2)]
    layer.register_forward_pre_hook(lambda *a: None)
    assert list(first.hooks_dict_ref()) == [first.id, second.id]
    first.remove()
    assert list(first.hooks_dict_ref()) == [second.id]


def test_handles_of_hooks_in_a_program_s_own_dict():
    hooks, beside, others = {}, {}, {}
    first = nn.modules.module.RemovableHandle(hooks)
    with nn.modules.module.RemovableHandle(hooks, extra_dict=[beside, others]) as second:
        hooks.update({first.id: "first", second.id: "second"})
        beside[second.id] = others[second.id] = True
        assert first.id != second.id and first.hooks_dict_ref() is hooks
        copied = copy.deepcopy((hooks, second))
        layer = nn.Identity()
        assert layer.register_forward_hook(print).id not in hooks
    assert hooks == {first.id: "first"} and not beside and not others
    second.remove()
    copied[1].remove()
    assert copied[0] == {first.id: "first"}
    nn.modules.module.RemovableHandle(hooks, extra_dict=hooks).remove()
    assert hooks == {first.id: "first"}
