"""Classes of tensors with `__torch_dispatch__`."""
import copy
import gc
import pickle

import pytest

import flambeau
from flambeau import Tensor
from flambeau._C import _disabled_torch_function_impl, _DisableTorchDispatch
from flambeau.utils._python_dispatch import (
    TorchDispatchMode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)
from flambeau.utils._pytree import tree_map, tree_map_only

aten = flambeau.ops.aten


class Wrapped(Tensor):
    """Notes the names of calls; what it consists of is `inner`."""

    calls: list = []
    __torch_function__ = _disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        made = Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device,
            requires_grad=requires_grad)
        made.inner = inner
        return made

    def __repr__(self):
        return f"Wrapped({self.inner})"

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, spec, size, stride):
        return Wrapped(inner["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(str(func))
        args_, kwargs_ = tree_map_only(cls, lambda x: x.inner, (args, kwargs or {}))
        result = tree_map_only(Tensor, cls, func(*args_, **kwargs_))
        return return_and_correct_aliasing(func, args, kwargs, result)


@pytest.fixture
def x():
    Wrapped.calls.clear()
    return Wrapped(flambeau.arange(6.0).view(2, 3))


def test_geometry(x):
    y = Tensor._make_wrapper_subclass(Wrapped, (2, 3), strides=(1, 2), dtype=flambeau.int8)
    assert (y.shape, y.stride(), y.dtype) == ((2, 3), (1, 2), flambeau.int8)
    assert not y.is_contiguous() and x.is_contiguous() and type(x) is Wrapped
    big = Tensor._make_wrapper_subclass(Wrapped, (2**16, 2**16), dtype=flambeau.float64)
    assert big.numel() == 2**32 and Wrapped.calls == []
    with pytest.raises(TypeError, match="__torch_dispatch__"):
        Tensor._make_wrapper_subclass(Tensor, (2,))
    with pytest.raises(ValueError, match="one stride for each"):
        Tensor._make_wrapper_subclass(Wrapped, (2,), strides=(1, 1))
    with pytest.raises(RuntimeError, match="has no memory of its own"):
        Tensor._make_subclass(type("Plain", (Tensor,), {}), x)


@pytest.mark.parametrize("call, names", [
    (lambda x: x + 1, ["add.Tensor"]),
    (lambda x: 2 * x, ["mul.Tensor"]),
    (lambda x: x @ x.t(), ["t.default", "mm.default"]),
    (lambda x: flambeau.addmm(x, x, x.view(3, 2) @ x), ["view.default", "mm.default",
                                                        "addmm.default"]),
    (lambda x: x.sum(), ["sum.default"]),
    (lambda x: x.sum(0), ["sum.dim_IntList"]),
    (lambda x: x.mean(), ["mean.default"]),
    (lambda x: x.to(flambeau.float64), ["_to_copy.default"]),
    (lambda x: x.clone(), ["clone.default"]),
    (lambda x: x.detach(), ["detach.default"]),
    (lambda x: x.data, ["detach.default"]),
    (lambda x: x[0], ["select.int"]),
    (lambda x: x[:, 1:], ["slice.Tensor"]),
    (lambda x: x.transpose(0, 1), ["transpose.int"]),
    (lambda x: x.new_zeros(3), ["new_zeros.default"]),
    (lambda x: flambeau.zeros_like(x), ["zeros_like.default"]),
    (lambda x: flambeau.full_like(x, 2), ["full_like.default"]),
    (lambda x: flambeau.cat([x, x]), ["cat.default"]),
    (lambda x: x.split(1)[0], ["split.Tensor"]),
    (lambda x: x.softmax(0), ["_softmax.default"]),
    (lambda x: x > 0, ["gt.Scalar"]),
    (lambda x: flambeau.where(x > 0, x, x), ["gt.Scalar", "where.self"]),
    (lambda x: x.pow(2), ["pow.Tensor_Scalar"]),
    (lambda x: x.max(0), ["max.dim"]),
    (lambda x: x.t().contiguous(), ["t.default", "clone.default"]),
    (lambda x: flambeau.equal(x, x), ["equal.default"]),
    (lambda x: flambeau.allclose(x, x), ["allclose.default"]),
    (lambda x: x.sum().item(), ["sum.default", "_local_scalar_dense.default"]),
    (lambda x: x.copy_(flambeau.zeros(2, 3)), ["copy_.default"]),
    (lambda x: x.add_(1), ["add_.Tensor"]),
    (lambda x: x.zero_(), ["zero_.default"]),
])
def test_calls_have_the_names_of_pytorch(x, call, names):
    expected = call(x.inner.clone())
    found = call(x)
    assert Wrapped.calls == [f"aten.{name}" for name in names]
    if isinstance(found, Tensor):
        assert type(found) is Wrapped and found.inner.tolist() == expected.tolist()
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def test_every_pointwise_operator_is_shown(x):
    """Whatever way an operator computes, it meets the class."""
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    for name in ("sin", "relu", "gelu", "sigmoid", "floor", "isnan", "logical_not", "erf", "neg"):
        function = getattr(flambeau.nn.functional, name, None) or getattr(flambeau, name)
        for inner in (flambeau.ones(3), flambeau.ones(3, dtype=flambeau.float16),
                      flambeau.ones(2, 3).t(), flambeau.ones(())):
            found = function(Wrapped(inner))
            assert type(found) is Wrapped, name
            assert found.inner.tolist() == function(inner).tolist()


def test_writing(x):
    y = x
    y += 1
    assert y is x and x.inner[0].tolist() == [1, 2, 3] and x._version == 1
    x[0].fill_(7)
    assert x.inner[0].tolist() == [7, 7, 7]
    flambeau.add(flambeau.ones(2, 3), x, out=x)
    assert x.inner[0].tolist() == [8, 8, 8]


def test_values_are_asked_for(x):
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        x.tolist()
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        x.numpy()
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        x.data_ptr()
    assert bool(x.sum() > 0) and float(x.sum()) == 15


def test_nobody_answers():
    class Silent(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'aten.exp.default'"):
        Silent(flambeau.ones(2)).exp()


def test_subclasses_are_asked_first():
    asked = []

    class Derived(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            asked.append(types)
            return NotImplemented

    Wrapped.calls.clear()
    flambeau.add(Wrapped(flambeau.ones(2)), Derived(flambeau.ones(2)))
    assert asked == [(Derived, Wrapped)] and Wrapped.calls[0] == "aten.add.Tensor"


def test_over_memory():
    seen = []

    class Memory(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = flambeau.ones(2).as_subclass(Memory)
    assert type(x + 1) is Tensor and (x + 1).tolist() == [2, 2]
    assert Memory(flambeau.zeros(2)).exp().tolist() == [1, 1]
    assert Tensor._make_subclass(Memory, flambeau.ones(2)).sum().item() == 2
    assert seen == ["aten.add.Tensor"] * 2 + ["aten.exp.default", "aten.sum.default"]
    with _DisableTorchDispatch():
        assert (x * 3).tolist() == [3, 3]
    assert len(seen) == 4 and repr(x) == "Memory([1., 1.])"


def test_without_asking_there_is_no_memory(x):
    with _DisableTorchDispatch(), pytest.raises(NotImplementedError, match="no memory of its own"):
        x.exp()


def test_modes_come_before_classes(x):
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), types))
            return func(*args, **(kwargs or {}))

    with Mode():
        x.exp()
    assert seen == [("aten.exp.default", (Wrapped,))] and Wrapped.calls == ["aten.exp.default"]


def test_data_of_another_class_is_taken_as_memory():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")

    class Memory(Tensor):
        calls = []
        __torch_function__ = _disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    x, y = Tensor._make_subclass(Memory, flambeau.zeros(2)), flambeau.arange(3.0)
    x.note, x.requires_grad = "kept", True
    x.data = y
    assert type(x) is Memory and x.note == "kept" and x.requires_grad and x.shape == (3,)
    y[1] = 7
    assert not Memory.calls and (x * 2).tolist() == [0, 14, 4]
    assert Memory.calls[0] == "aten.mul.Tensor"
    y.data = x                                      # and the other way round
    with flambeau.no_grad():
        x[0] = 5
    assert type(y) is Tensor and not y.requires_grad and y.tolist() == [5, 7, 2]
    Memory.calls.clear()
    assert (y * 2).sum().item() == 28 and not Memory.calls
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        x.data = Wrapped(flambeau.ones(2))
    with pytest.raises(RuntimeError, match="must be floating"):
        x.data = flambeau.arange(3)


def test_wrappers_of_wrappers(x):
    y = Wrapped(Wrapped(flambeau.ones(2)))
    z = y + 1
    assert type(z.inner) is Wrapped and z.inner.inner.tolist() == [2, 2]
    assert Wrapped.calls == ["aten.add.Tensor"] * 2


def test_copies(x):
    x.note = [1]
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is Wrapped and y.inner.tolist() == x.inner.tolist() and y.note == [1]
    assert copy.deepcopy(x).inner is not x.inner


def test_taking_apart(x):
    assert is_traceable_wrapper_subclass(x) and not is_traceable_wrapper_subclass(x.inner)
    y = transform_subclass(x, lambda name, inner: inner + 1)
    assert type(y) is Wrapped and y.inner[0].tolist() == [1, 2, 3]
    assert tree_map(lambda a: a + 1, [x])[0].inner[0].tolist() == [1, 2, 3]


def test_results_that_are_an_argument_are_new_objects():
    class Same(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return args[0]

    x = Same(flambeau.ones(2))
    y = x.view(2)
    assert y is not x and y.inner is x.inner


def test_memory_comes_back(x):
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        (x + 1).detach().view(-1).sum()
    gc.collect()
    assert len(gc.get_objects()) - before < 50


def test_swapping():
    class Kind(Tensor):
        pass

    a = Tensor._make_subclass(Kind, flambeau.ones(2))
    b = Tensor._make_subclass(Kind, flambeau.zeros(3))
    a.name = "a"
    flambeau.utils.swap_tensors(a, b)
    assert (a.tolist(), b.tolist(), b.name) == ([0, 0, 0], [1, 1], "a") and not hasattr(a, "name")
    with pytest.raises(TypeError, match="cannot be exchanged"):
        flambeau.utils.swap_tensors(a, flambeau.ones(1))


def test_signatures_of_operators():
    assert str(aten.add.Tensor._schema) == \
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert aten.view.default.is_view and not aten.add.Tensor.is_view
    assert aten.add_.Tensor._schema.is_mutable


def test_the_class_is_printed():
    class Inside(Tensor):
        @staticmethod
        def __new__(cls, inside):
            made = Tensor._make_wrapper_subclass(cls, inside.shape, dtype=inside.dtype)
            made.inside = inside
            return made

        def __repr__(self):
            return super().__repr__(tensor_contents=f"{self.inside.tolist()}")

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    assert repr(Inside(flambeau.ones(2))) == "Inside([1.0, 1.0])"


class SeesMasks(Wrapped):
    """Notes the dtypes of indices."""

    dtypes: list = []

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is aten.index.Tensor:
            cls.dtypes.append([i if i is None else i.dtype for i in args[1]])
        return super().__torch_dispatch__(func, types, args, kwargs)


def test_masks_are_shown_as_they_are(x):
    whole, plain = x.inner[0] > 0, x.inner
    for index, masks in ((plain > 2, 1), ((slice(None), whole), 1), ((Ellipsis, whole), 1),
                         ((flambeau.tensor([True, False]), whole), 2), ((0, whole), 1)):
        SeesMasks.dtypes.clear()
        got = SeesMasks(plain)[index]
        assert isinstance(got, SeesMasks) and flambeau.equal(got.inner, plain[index])
        (dtypes,) = SeesMasks.dtypes
        assert dtypes.count(flambeau.bool) == masks and set(dtypes) <= {None, flambeau.bool}


def test_masks_of_a_class(x):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    mask = Wrapped(flambeau.tensor([True, False]))
    got = flambeau.arange(2)[mask]
    assert isinstance(got, Wrapped) and got.inner.tolist() == [0]
    assert Wrapped.calls[-1] == "aten.index.Tensor"
    y = Wrapped(flambeau.arange(2.0), requires_grad=True)
    y[flambeau.tensor([True, False])].sum().backward()
    assert y.grad.inner.tolist() == [1.0, 0.0]
