"""Operators of a program's own, shown to modes and to classes of tensors."""
import pytest

import flambeau
from flambeau import Tensor
from flambeau.library import custom_op, register_torch_dispatch
from flambeau.utils._python_dispatch import TorchDispatchMode
from flambeau.utils._pytree import tree_map

SEEN: list = []


class Wrapped(Tensor):
    @staticmethod
    def __new__(cls, inner):
        made = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        SEEN.append((str(func), types, len(args), kwargs))
        plain = tree_map(lambda t: t.inner if isinstance(t, cls) else t, args)
        result = func(*plain, **(kwargs or {}))
        return tree_map(lambda t: cls(t) if isinstance(t, Tensor) else t, result)


class Noted(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        SEEN.append((str(func), types, len(args), kwargs))
        return func(*args, **(kwargs or {}))


@pytest.fixture
def scale():
    SEEN.clear()

    @custom_op("tests::shown_scale", mutates_args=())
    def scale(x: Tensor, by: float = 2.0, times: int = 1) -> Tensor:
        return x * by * times

    return scale


def test_a_class_is_shown_the_operator_and_not_what_it_calls(scale):
    y = scale(Wrapped(flambeau.ones(2)), 3.0)
    assert type(y) is Wrapped and y.inner.tolist() == [3.0, 3.0]
    assert SEEN == [("tests.shown_scale.default", (Wrapped,), 2, {})]
    z = flambeau.ops.tests.shown_scale(Wrapped(flambeau.ones(1)))
    assert z.inner.tolist() == [2.0] and SEEN[1][2] == 1


def test_modes_are_shown_the_operator_innermost_first(scale):
    x = flambeau.ones(2)
    with Noted(), Noted():
        assert scale(x, times=3).tolist() == [6.0, 6.0]
    assert [entry[0] for entry in SEEN] == ["tests.shown_scale.default"] * 2
    assert SEEN[0][2] == 3


def test_a_mode_comes_before_a_class(scale):
    x = Wrapped(flambeau.ones(2))
    with Noted():
        y = scale(x)
    assert type(y) is Wrapped
    assert SEEN[0][1] == (Wrapped,)
    assert [entry[0] for entry in SEEN] == ["tests.shown_scale.default"] * 2


def test_rules_for_a_class_and_a_mode(scale):
    @register_torch_dispatch("tests::shown_scale", Wrapped)
    def _(cls, func, types, args, kwargs):
        return "class", cls, str(func), args[1]

    @register_torch_dispatch("tests::shown_scale", Noted)
    def _(mode, func, types, args, kwargs):
        return "mode", type(mode), len(args)

    x = Wrapped(flambeau.ones(2))
    assert scale(x, 4.0) == ("class", Wrapped, "tests.shown_scale.default", 4.0)
    with Noted():
        assert scale(x, 4.0) == ("mode", Noted, 2)
    assert not SEEN


def test_gradients_pass_through_a_mode(scale):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")

    def keep(ctx, inputs, output):
        ctx.by = inputs[1]

    scale.register_autograd(lambda ctx, g: (g * ctx.by, None, None), setup_context=keep)
    x = flambeau.ones(2, requires_grad=True)
    with Noted():
        y = scale(x, 5.0)
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    assert [entry[0] for entry in SEEN] == ["tests.shown_scale.default"]


def test_a_writing_operator_needs_no_fake_kernel():
    @custom_op("tests::shown_more", mutates_args={"x"})
    def more(x: Tensor) -> None:
        x.add_(1)

    assert more(flambeau.empty(2, device="meta")) is None
    x = flambeau.zeros(2)
    with Noted():
        more(x)
    assert x.tolist() == [1.0, 1.0]
