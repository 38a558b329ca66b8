"""``__cuda_array_interface__`` both ways; without a GPU on the stand-in of ``cuda_stand.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import flambeau

_START = """
import numpy
import flambeau
from cuda_stand import Foreign, stand
array = numpy.arange(12, dtype="float32").reshape(3, 4)
"""


def _run(code):
    """Run lines where device type ``cuda`` is the stand-in; a backend cannot be taken back."""
    kit = Path(__file__).parents[1] / "kit"
    run = subprocess.run([sys.executable, "-c", _START + code], cwd=kit, capture_output=True,
                         text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_cpu_tensor_has_no_interface_and_says_why():
    x = flambeau.zeros(2)
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="a tensor on cpu has no __cuda_array_interface__; "
                                             r"write x.to\('cuda'\)"):
        x.__cuda_array_interface__  # noqa: B018


def test_a_cuda_tensor_describes_its_memory():
    shown = _run("""
x = flambeau.arange(12, dtype=flambeau.float32).reshape(3, 4).to("cuda")
face = x.__cuda_array_interface__
assert face["data"] == (x.data_ptr(), False)
print(face["version"], face["typestr"], face["shape"], face["strides"])
print(x.t().__cuda_array_interface__["strides"], x.t().__cuda_array_interface__["shape"])
print(flambeau.empty((0, 2), device="cuda").__cuda_array_interface__["data"])
print(hasattr(x.bfloat16(), "__cuda_array_interface__"))
""")
    assert shown.splitlines() == ["2 <f4 (3, 4) None", "(4, 16) (4, 3)", "(0, False)", "False"]


@pytest.mark.parametrize("maker", ("flambeau.as_tensor", "flambeau.array_api.asarray"))
def test_an_object_with_the_interface_becomes_a_tensor_that_shares(maker):
    _run(f"""
x = {maker}(Foreign(array[:, ::2]))
assert str(x.device) == "cuda:1" and x.dtype is flambeau.float32
assert x.shape == (3, 2) and x.stride() == (4, 2) and x.data_ptr() == array.ctypes.data
numpy.testing.assert_array_equal({maker}(Foreign(array)).cpu().numpy(), array)
""")


def test_a_stream_is_waited_for():
    _run("""
flambeau.as_tensor(Foreign(array))
assert stand.synchronized == []
flambeau.as_tensor(Foreign(array, stream=1))
assert stand.synchronized == [1]
""")


def test_a_mask_is_refused():
    shown = _run("""
try:
    flambeau.as_tensor(Foreign(array, mask=Foreign(array > 1)))
except TypeError as error:
    print(error)
""")
    assert shown == ("can't convert a masked Foreign to a tensor; fill its masked elements "
                     "first\n")


def test_without_a_backend_the_error_names_what_to_install(monkeypatch):
    class Foreign:
        __cuda_array_interface__ = {**numpy.zeros(2).__array_interface__, "version": 3}

    monkeypatch.setenv("FLAMBEAU_BACKENDS", "")
    with pytest.raises(RuntimeError, match="Foreign has memory on a CUDA device, for which there "
                                           "is no backend: .*pip install flambeau-cuda-backend"):
        flambeau.as_tensor(Foreign())


def test_dir_lists_what_a_tensor_answers_to():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = flambeau.ones(2, 2, dtype=flambeau.complex64)
    names = dir(x)
    assert {"shape", "imag", "sum"} <= set(names)
    assert "__cuda_array_interface__" not in names
    assert [name for name in names if not hasattr(x, name)] == []
