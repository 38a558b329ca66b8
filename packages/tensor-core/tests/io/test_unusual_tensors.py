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
