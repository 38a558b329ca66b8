"""Names that older programs use, and what is said of absent ones."""

import contextlib
import subprocess
import sys

import numpy
import pytest

import flambeau
from flambeau import rooms


@contextlib.contextmanager
def default_dtype(dtype):
    """Another default dtype for a block."""
    before = flambeau.get_default_dtype()
    flambeau.set_default_dtype(dtype)
    try:
        yield
    finally:
        flambeau.set_default_dtype(before)


def test_a_type_makes_a_tensor_from_values():
    made = flambeau.LongTensor([[1, 2]])
    assert made.dtype == flambeau.int64
    assert made.tolist() == [[1, 2]]
    assert flambeau.FloatTensor((1, 2)).tolist() == [1.0, 2.0]


def test_a_type_makes_an_uninitialized_tensor_from_sizes():
    assert flambeau.DoubleTensor(2, 3).shape == (2, 3)
    assert flambeau.ByteTensor().shape == (0,)
    assert flambeau.ByteTensor(flambeau.Size([4])).shape == (4,)


def test_a_type_tells_its_tensors_from_others():
    x = flambeau.zeros(1)
    assert isinstance(x, flambeau.FloatTensor)
    assert not isinstance(x, flambeau.DoubleTensor)
    assert not isinstance(1.0, flambeau.FloatTensor)
    assert flambeau.FloatTensor is flambeau.FloatTensor
    assert x.type(flambeau.HalfTensor).dtype == flambeau.float16


def test_a_type_refuses_tensors_of_another_dtype():
    with pytest.raises(TypeError, match=r"expected a tensor of flambeau.int64, got .*float32"):
        flambeau.LongTensor(flambeau.zeros(1))


def test_there_is_no_type_of_any_name():
    with pytest.raises(AttributeError, match="WordTensor"):
        flambeau.WordTensor  # noqa: B018


def test_settings_of_backends_can_be_asked_and_set():
    assert flambeau.backends.mps.is_available() is False
    assert flambeau.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    flambeau.backends.cudnn.benchmark = True
    assert flambeau.backends.cuda.is_built() in (True, False)


@pytest.mark.parametrize("name", ["model_zoo", "bottleneck"])
def test_an_absent_name_says_what_to_use_instead(name):
    with pytest.raises(AttributeError, match=r"use flambeau\."):
        getattr(flambeau.utils, name)


def test_the_class_makes_tensors_of_the_default_dtype():
    assert flambeau.Tensor([[1, 2]]).tolist() == [[1.0, 2.0]]
    assert flambeau.Tensor((1, 2)).dtype == flambeau.float32
    assert flambeau.Tensor(2, 3).shape == (2, 3)
    assert flambeau.Tensor(numpy.int64(2), 3).shape == (2, 3)
    assert flambeau.Tensor().shape == (0,)
    assert flambeau.Tensor(flambeau.Size([2, 0])).shape == (2, 0)
    assert flambeau.Tensor(numpy.array([True, False])).tolist() == [1.0, 0.0]
    with default_dtype(flambeau.float64):
        assert flambeau.Tensor([1]).dtype == flambeau.float64


def test_the_class_shares_the_memory_of_a_tensor_of_any_dtype():
    x = flambeau.tensor([1, 2])
    y = flambeau.Tensor(x)
    y[0] = 5
    assert (y.dtype, x.tolist()) == (flambeau.int64, [5, 2])


def test_a_subclass_is_filled_like_the_class():
    class Image(flambeau.Tensor):
        pass

    made = Image([[1.0, 2.0]])
    assert (type(made), made.tolist()) == (Image, [[1.0, 2.0]])
    assert (type(made + 1), (made + 1).tolist()) == (Image, [[2.0, 3.0]])
    dense = flambeau.ones(2)
    assert dense.to_dense() is dense
    cast = dense.as_subclass(Image)
    assert (type(cast), cast.tolist()) == (Image, [1.0, 1.0])
    with pytest.raises(TypeError, match="expected a subclass of Tensor, got 3"):
        flambeau.ones(2).as_subclass(3)


@pytest.mark.parametrize("arguments", [(1.5,), ([1], [2]), (None,), ("ab", 2)])
def test_the_class_refuses_what_it_cannot_mean(arguments):
    with pytest.raises(TypeError, match=r"Tensor\(\): expected sizes, one sequence"):
        flambeau.Tensor(*arguments)


def test_new_keeps_the_dtype():
    x = flambeau.ones(1, dtype=flambeau.int64)
    assert x.new([1, 2]).tolist() == [1, 2]
    assert (x.new(2, 3).dtype, x.new(2, 3).shape) == (flambeau.int64, (2, 3))
    with pytest.raises(TypeError, match="expected a tensor of flambeau.int64"):
        x.new(flambeau.ones(1))


def test_storages_tell_what_is_shared():
    x = flambeau.arange(6.0).view(2, 3)
    row = x[1]
    assert row.untyped_storage() == x.untyped_storage() != flambeau.ones(1).untyped_storage()
    assert row.untyped_storage().data_ptr() == x.data_ptr()
    assert (len(row.storage()), row.untyped_storage().nbytes(), row.storage()[4]) == (6, 24, 4.0)
    row.storage()[0] = 7
    assert x[0, 0] == 7
    assert flambeau.is_storage(x.storage())
    assert not flambeau.is_storage(x)


def test_a_number_in_a_tensor_is_written_as_a_number():
    assert f"{flambeau.tensor(3)} {flambeau.tensor(0.25):.3f}" == "3 0.250"
    assert f"{flambeau.tensor([1])}" == "tensor([1])"
    assert f"{flambeau.empty((), device='meta')}".startswith("tensor(...")


def test_the_default_tensor_type_is_a_default_dtype():
    with default_dtype(flambeau.float32):
        with pytest.warns(UserWarning, match="deprecated as of PyTorch 2.1"):
            flambeau.set_default_tensor_type("flambeau.DoubleTensor")
        assert flambeau.ones(1).dtype == flambeau.float64
        with pytest.warns(UserWarning, match="deprecated as of PyTorch 2.1"):
            flambeau.set_default_tensor_type(flambeau.FloatTensor)
        assert flambeau.ones(1).dtype == flambeau.float32
    with pytest.raises(TypeError, match="set_default_dtype"):
        flambeau.set_default_tensor_type(flambeau.float64)
    with pytest.raises(TypeError, match="only floating-point types"):
        flambeau.set_default_tensor_type(flambeau.IntTensor)


def test_a_tensor_and_a_device_do_not_go_together():
    x = flambeau.ones(2)
    for made in (flambeau.Tensor, x.new):
        assert made(x).data_ptr() == x.data_ptr()
        with pytest.raises(RuntimeError, match=r"write x\.to\(device\)"):
            made(x, device="meta")
    assert x.new([1, 2], device="meta").is_meta
    assert flambeau.Storage is flambeau.FloatStorage


def test_memory_is_pinned_for_a_device_alone():
    with pytest.raises(RuntimeError, match="Cannot access accelerator device.*leave the call out"):
        flambeau.ones(2).pin_memory("nowhere")


def test_debug_mode_is_that_of_the_deterministic_algorithms():
    flambeau.set_deterministic_debug_mode("warn")
    assert flambeau.is_deterministic_algorithms_warn_only_enabled()
    assert flambeau.get_deterministic_debug_mode() == 1
    flambeau.set_deterministic_debug_mode(0)
    assert not flambeau.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="debug_mode is 0, 1, 2"):
        flambeau.set_deterministic_debug_mode("never")


IMPORTS = """import flambeau.backends.cudnn as cudnn
from flambeau.backends.cuda import sdp_kernel
from flambeau.utils.dlpack import from_dlpack, to_dlpack
from flambeau.utils._pytree import tree_map
from flambeau.types import Device, Number
from flambeau.storage import UntypedStorage
from flambeau.serialization import add_safe_globals, load
import flambeau.multiprocessing as mp; mp.Process, mp.set_sharing_strategy("file_system")
from flambeau import memory_format, layout, OutOfMemoryError"""


@pytest.mark.parametrize("line", IMPORTS.splitlines())
def test_lines_of_programs_import(line):
    names: dict = {}
    exec(line, names)
    assert len(names) > 1   # beside __builtins__


def test_utils_need_no_import_of_their_own():
    code = "import flambeau; flambeau.utils"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_settings_of_cudnn_hold_for_a_block():
    cudnn = flambeau.backends.cudnn
    before = cudnn.benchmark
    with cudnn.flags(enabled=False, benchmark=not before):
        assert cudnn.benchmark is not before
    assert cudnn.benchmark is before


def test_versions_are_strings_or_none():
    assert int(flambeau.__version__.split(".")[0]) >= 0
    assert flambeau.version.cuda is None


def test_without_the_cuda_package_questions_have_answers(monkeypatch):
    monkeypatch.setattr(rooms, "installed", lambda room: False)
    monkeypatch.delitem(vars(flambeau), "cuda", raising=False)
    assert flambeau.cuda.is_available() is False
    assert flambeau.cuda.device_count() == 0
    flambeau.cuda.manual_seed_all(3)
    with pytest.raises(ModuleNotFoundError, match="pip install flambeau-cuda-backend"):
        flambeau.cuda.Stream  # noqa: B018


def test_limits_print_as_in_pytorch():
    assert repr(flambeau.finfo(flambeau.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)")
    assert repr(flambeau.iinfo(flambeau.int8)) == "iinfo(min=-128, max=127, dtype=int8)"


def test_where_of_a_condition_alone_gives_positions():
    x = flambeau.tensor([[0, 2], [3, 0]])
    rows, columns = flambeau.where(x > 0)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    assert flambeau.where(x > 0, x, -1).tolist() == [[-1, 2], [3, -1]]
    with pytest.raises(TypeError, match="where"):
        flambeau.where(x > 0, x)


def test_several_outputs_print_below_each_other():
    text = repr(flambeau.tensor([1.0, 3.0]).max(0))
    assert text == "flambeau.return_types.max(\nvalues=tensor(3.),\nindices=tensor(1))"


def test_the_accelerator_is_the_gpu_if_any():
    accelerator = flambeau.accelerator
    assert accelerator.device_count() == flambeau.cuda.device_count()
    found = accelerator.current_accelerator()
    assert (found is not None) == accelerator.is_available() == flambeau.cuda.is_available()


def test_strategies_of_sharing_are_names():
    mp = flambeau.multiprocessing
    mp.set_sharing_strategy(mp.get_sharing_strategy())
    with pytest.raises(ValueError, match="file_system"):
        mp.set_sharing_strategy("carrier pigeon")


def test_descriptions_of_the_build():
    assert flambeau.__version__ in flambeau.__config__.show()
    assert f"get_num_threads() : {flambeau.get_num_threads()}\n" in \
        flambeau.__config__.parallel_info()


_OLDER_ORDERS = {  # x is 1, 1; y is 2, 2; z is 3, 3; the matrices hold these in each row
    "add": (lambda x, y, z: flambeau.add(x, 2, y), 5),
    "add_": (lambda x, y, z: x.add_(2, y), 5),
    "sub": (lambda x, y, z: flambeau.sub(x, 2, y, out=flambeau.empty(0)), -3),
    "addcmul": (lambda x, y, z: flambeau.addcmul(x, 2, y, z), 13),
    "addcmul_": (lambda x, y, z: x.addcmul_(2.5, y, z), 16),
    "addcdiv": (lambda x, y, z: x.addcdiv(3, y, tensor2=z), 3),
    "a tensor of no dimension": (lambda x, y, z: flambeau.addcmul(x, flambeau.tensor(2), y, z), 13),
    "addmm": (lambda x, y, z: flambeau.addmm(2, x, 3, y, z), 38),
    "beta alone": (lambda x, y, z: flambeau.addmm(2, x, y, z), 14),
    "a method": (lambda x, y, z: x.addmm_(2, 3, y, z), 38),
    "addmv": (lambda x, y, z: flambeau.addmv(2, x[0], 3, y, z[0]), 38),
    "addr": (lambda x, y, z: flambeau.addr(2, x, 3, y[0], z[0]), 20),
    "addbmm": (lambda x, y, z: flambeau.addbmm(2, x, 3, y[None], z[None]), 38),
    "baddbmm": (lambda x, y, z: flambeau.baddbmm(2, x[None], 3, y[None], z[None]), 38),
}


@pytest.mark.parametrize("name", _OLDER_ORDERS)
def test_numbers_between_tensors_are_deprecated_and_taken(name):
    call, expected = _OLDER_ORDERS[name]
    x, y, z = (flambeau.full((2, 2), float(n)) for n in (1, 2, 3))
    with pytest.warns(UserWarning, match="This overload of .* is deprecated"):
        result = call(x, y, z)
    assert (result == expected).all()


def test_other_orders_are_refused_as_before():
    x = flambeau.ones(2, 2)
    for call in (lambda: flambeau.addcmul(x, 2, x, "a"), lambda: flambeau.addcmul(x, x, 2, x),
                 lambda: flambeau.addmm(x, x, 2, x), lambda: flambeau.mul(x, 2, x)):
        with pytest.raises(TypeError, match="takes at most|must be Tensor"):
            call()


def test_the_cpu_is_a_device_like_others():
    cpu = getattr(flambeau, flambeau.ones(1).device.type)
    assert cpu.is_available()
    assert (cpu.device_count(), cpu.current_device()) == (1, "cpu")
    with cpu.stream(cpu.Stream()):
        event = cpu.current_stream().record_event()
    cpu.synchronize()
    assert event.query()


def test_a_device_by_number_is_a_gpu():
    with pytest.raises(RuntimeError, match="must not be negative"):
        flambeau.device(-1)
    if not flambeau.cuda.is_available():
        with pytest.raises(RuntimeError, match="'cuda'"):
            flambeau.device(0)


def test_types_of_tensors_are_not_derived_from():
    with pytest.raises(TypeError, match="'FloatTensor' is not an acceptable base type"):
        type("Mine", (flambeau.FloatTensor,), {})


def test_a_device_with_a_number_is_another_than_one_without():
    plain, numbered = flambeau.device("cpu"), flambeau.device("cpu:0")
    assert plain != numbered
    assert len({plain, numbered, flambeau.device("cpu"), flambeau.device("cpu", 0)}) == 2
    assert flambeau.zeros(1, device=numbered).device == plain


def test_numbers_of_tensors():
    x = flambeau.ones(2)
    y = x.detach()
    assert x._cdata == x._cdata != y._cdata and isinstance(x._cdata, int)
    with pytest.raises(AttributeError):
        x._cdata = 3
