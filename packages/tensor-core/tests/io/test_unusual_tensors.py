"""Storages, tensors with attributes, and tensors on the meta device, in both formats."""
import io

import pytest
from checkpoint_files import Call, Name, Stored, archive, tensor

import flambeau as fl
from flambeau.core.io import FileError

FLOATS = Stored("Float", "0", 2)
STATED = Name("torch._utils", "_rebuild_parameter_with_state")
FORMATS = ["flambeau", "torch"]


def again(obj, form, load=fl.load):
    file = io.BytesIO()
    fl.save(obj, file, format=form)
    file.seek(0)
    return load(file)


@pytest.mark.parametrize("form", FORMATS)
def test_a_storage_shares_memory_with_its_tensors_again(form):
    x = fl.arange(6.0)
    typed = x.storage()
    tensor, first, second, part = again([x, typed, typed, x[2:4]], form)
    assert type(first) is type(typed) and first is second
    assert first.dtype == fl.float32 and first.tolist() == [0, 1, 2, 3, 4, 5]
    tensor.fill_(7)
    assert first.tolist() == [7] * 6 and part.tolist() == [7, 7]


@pytest.mark.parametrize("form", FORMATS)
def test_a_storage_alone_and_one_of_bytes(form):
    x = fl.arange(4, dtype=fl.int16)
    both = again([fl.FloatStorage([1.0, 2.0]), x.untyped_storage()], form)
    assert both[0].tolist() == [1, 2] and both[0].nbytes() == 8
    assert both[1].nbytes() == 8 and both[1].tolist() == x.untyped_storage().tolist()


@pytest.mark.parametrize("form", FORMATS)
def test_attributes_stay(form):
    x = fl.ones(2)
    x.note, x.other = "a", fl.arange(2)
    y, same = again([x, x], form)
    assert y.note == "a" and y.other.tolist() == [0, 1] and same is y


@pytest.mark.parametrize("form", FORMATS)
def test_attributes_of_parameters_stay(form):
    nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    w = nn.Parameter(fl.zeros(2))
    w.group = {"lr": 0.5}
    v = again(w, form)
    assert type(v) is nn.Parameter and v.group == {"lr": 0.5}


@pytest.mark.parametrize("form", FORMATS)
def test_shapes_without_numbers(form):
    x = fl.empty(2, 3, dtype=fl.float16, device="meta")
    y, z = again([x, x.mT], form)
    assert y.is_meta and y.shape == (2, 3) and y.dtype == fl.float16 and not y.requires_grad
    assert z.stride() == (1, 3)


@pytest.mark.parametrize("form", FORMATS)
def test_shapes_that_require_gradients(form):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = fl.empty(2, 3, device="meta", requires_grad=True)
    y, z = again([x, x.detach()], form)
    assert y.requires_grad and not z.requires_grad


@pytest.mark.parametrize("program", [
    Call(Name("torch._utils", "_rebuild_meta_tensor_no_storage"), 0, ()),
    Call(Name("torch._utils", "_rebuild_meta_tensor_no_storage"), Name("torch", "float32"),
         (-1,), (1,), False),
    Call(Name("torch._tensor", "_rebuild_from_type_v2"), 0, Name("torch", "Tensor"), (), {}),
    Call(Name("torch._tensor", "_rebuild_from_type_v2"), Name("torch._utils", "_rebuild_tensor"),
         Name("torch", "Tensor"), (3, 0, (2,), (1,)), {"a": 1}),
])
def test_damaged_ones_are_refused(program):
    with pytest.raises(FileError):
        fl.load(io.BytesIO(archive(program, {"0": bytes(8)})))


@pytest.mark.parametrize("name", ["sum", "__class__"])
def test_attributes_that_would_hide_others_are_refused(name):
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    program = Call(STATED, tensor(FLOATS, 0, (2,), (1,)), False, {}, {name: 1})
    with pytest.raises(FileError):
        fl.load(io.BytesIO(archive(program, {"0": bytes(8)})))


def test_a_file_that_is_written_can_be_read_by_its_name(tmp_path):
    with open(tmp_path / "x", "wb") as file:
        fl.save(fl.arange(3), file)
        assert fl.load(tmp_path / "x").tolist() == [0, 1, 2]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_pytorch_reads_and_writes_them():
    import torch

    x, w = fl.ones(2), fl.nn.Parameter(fl.zeros(2))
    x.note, w.group = "a", 3
    memory, y, v, shape = again([fl.FloatStorage([1.0, 2.0]), x, w, fl.ones(3, device="meta")],
                                "torch", torch.load)
    assert list(memory) == [1, 2] and y.note == "a" and v.group == 3 and shape.is_meta
    file = io.BytesIO()
    torch.save([y, v, shape, torch.ones(3).storage()], file)
    file.seek(0)
    y, v, shape, memory = fl.load(file)
    assert y.note == "a" and v.group == 3 and shape.is_meta and memory.tolist() == [1, 1, 1]


@pytest.mark.parametrize("options", [{}, {"format": "torch"}])
def test_tensors_over_others_are_refused_with_advice(options):
    masked = fl.masked.masked_tensor(fl.ones(2), fl.tensor([True, False]))
    nested = fl.nested.nested_tensor([fl.ones(2), fl.ones(3)])
    for x in (masked, nested):
        with pytest.raises(TypeError, match=r"x\.unbind\(\)"):
            fl.save({"x": x}, io.BytesIO(), **options)


class Named(fl.Tensor):
    """A class of a program's, over memory."""


class Outer(fl.Tensor):
    """A class whose tensors have no memory: what they consist of is an attribute."""

    __slots__ = ("beside",)
    __torch_function__ = fl._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        made = fl.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype,
            requires_grad=requires_grad)
        made.held, made.beside = inner, "slot"
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*[x.held if isinstance(x, Outer) else x for x in args], **(kwargs or {}))


class Reduced(fl.Tensor):
    """A class that says itself how it is pickled."""

    def __reduce_ex__(self, protocol):
        return Reduced._made, (self.tolist(),)


class Restored(fl.Tensor):
    def __setstate__(self, state):
        self.restored = state


KINDS = [Named, Outer, Restored, Reduced]


def trusted(obj, form):
    with fl.serialization.safe_globals(KINDS):
        return again(obj, form)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("shape", [(2, 3), (0,), ()])
def test_classes_of_programs_stay(form, shape):
    x = fl.ones(shape).cumsum(0).as_subclass(Named) if shape else fl.ones(()).as_subclass(Named)
    x.note = ["a", fl.arange(2)]
    both = trusted([x, x, x.mT if x.ndim == 2 else x.view(-1), x.as_subclass(fl.Tensor)], form)
    assert [type(y) for y in both] == [Named, Named, Named, fl.Tensor] and both[0] is both[1]
    assert fl.equal(both[0], x) and both[2].stride() == (x.mT if x.ndim == 2 else
                                                         x.view(-1)).stride()
    assert both[0].note[0] == "a" and both[0].note[1].tolist() == [0, 1]
    both[3].fill_(7)
    assert fl.equal(both[0], both[3]) and both[0].note is both[1].note


@pytest.mark.parametrize("form", FORMATS)
def test_classes_without_memory_stay(form):
    x = Outer(fl.arange(6.0).view(2, 3).mT)
    y, same = trusted((x, x), form)
    assert type(y) is Outer and same is y and y.shape == (3, 2) and y.stride() == (1, 3)
    assert fl.equal(y.held, x.held) and y.beside == "slot" and not y.requires_grad
    assert fl.equal(y + 1, x.held + 1)


@pytest.mark.parametrize("form", FORMATS)
def test_classes_that_require_gradients_or_restore_themselves(form):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    leaves = [fl.ones(2).as_subclass(Named).requires_grad_(), Outer(fl.ones(2), True)]
    found = trusted(leaves, form)
    assert [(type(y), y.requires_grad, y.is_leaf) for y in found] == [
        (Named, True, True), (Outer, True, True)]
    x = fl.ones(2).as_subclass(Restored)
    x.note = 3
    assert trusted(x, form).restored == {"note": 3}


@pytest.mark.parametrize("form", FORMATS)
def test_classes_need_permission(form):
    for x in (fl.ones(2).as_subclass(Named), Outer(fl.ones(2))):
        with pytest.raises(FileError, match="was not permitted"):
            again(x, form)

    class Local(fl.Tensor):
        pass

    with pytest.raises(TypeError, match="defined inside a function"):
        again(fl.ones(2).as_subclass(Local), form)


@pytest.mark.parametrize("form", FORMATS)
def test_classes_that_are_pickled_by_their_own_method(form):
    with pytest.warns(UserWarning, match="the Reduced at 0 is pickled by a method"):
        (x,) = trusted([fl.ones(2).as_subclass(Reduced)], form)
    assert type(x) is fl.Tensor and x.tolist() == [1, 1]

    class Both(Outer):
        __reduce_ex__ = Reduced.__reduce_ex__

    with pytest.raises(TypeError, match="save the tensors inside"):
        again(Both(fl.ones(2)), form)


@pytest.mark.parametrize("arguments", [
    (Name("torch", "float32"), (-1,), (1,), 0), (Name("torch", "float32"), (2,), (1, 1), 0),
    ("float32", (2,), (1,), 0), (Name("torch", "float32"), (2,), (1,), "0"),
    (Name("torch", "float32"), (1 << 61, 1 << 61), (1, 1), 0)])
def test_damaged_classes_without_memory_are_refused(arguments):
    layout = Call(Name("torch.serialization", "_get_layout"), "torch.strided")
    kind, make = Name(__name__, "Outer"), Name("torch._utils", "_rebuild_wrapper_subclass")
    device = Call(Name("torch", "device"), "cpu")
    program = Call(Name("torch._tensor", "_rebuild_from_type_v2"), make, kind,
                   (kind, *arguments, layout, device, False), {"held": 1})
    with fl.serialization.safe_globals(KINDS), pytest.raises(FileError):
        fl.load(io.BytesIO(archive(program)))
