"""Every generated module compiles: by NVRTC for sm_80 and sm_90 where its library is installed
(the test extra), and in test_cudasim.py by g++."""
from __future__ import annotations

import os

import pytest

from flambeau.core.opdefs import OPDEFS
from flambeau.core.opdefs.derived import derived_opdefs
from flambeau.cuda import nvrtc, source
from flambeau.cuda.kernels import modules, program_of

ARCHITECTURES = ("compute_80", pytest.param("compute_90", marks=pytest.mark.slow),
                 pytest.param("compute_100", marks=pytest.mark.slow))


def test_every_row_and_kind_has_kernels():
    kernels = [k for names in source.module_names() for k in source.module(*names).kernels]
    assert len(kernels) == len(set(kernels))
    for opdef in (*OPDEFS, *derived_opdefs(OPDEFS)):
        if opdef.category == "pointwise" and "float" in opdef.formulas:
            assert f"{source.kernel_name(opdef, 'f32')}_near" in kernels
            assert f"{source.kernel_name(opdef, 'f32')}_far" in kernels
    assert all(program_of(opdef.key) for opdef in OPDEFS if opdef.category == "reduction")


def test_arguments_fit_a_launch():
    """A kernel's arguments take at most 4 KiB; fl_arg has 136 bytes, its head 112."""
    widest = max(len(r.params) + len(r.outputs) for r in (*OPDEFS, *derived_opdefs(OPDEFS))
                 if r.category == "pointwise")
    assert 112 + 136 * widest <= 4096


#: Dtypes in which kernels of our own are compiled here; those of the others differ in no line.
DTYPES = ("float32", "int64", "complex64", "bool")


def _names():
    programs = set(modules())
    return [(group, kind) for group, kind in source.module_names()
            if (group, kind) not in programs or kind in DTYPES]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_compiles_every_module(architecture):
    library = nvrtc.library()
    if library is None:
        assert not os.environ.get("FLAMBEAU_REQUIRE_NVRTC"), "nvidia-cuda-nvrtc-cu12 is missing"
        pytest.skip("NVRTC is not installed: pip install flambeau-cuda-backend[test]")
    for names in _names():
        ptx = nvrtc.compile_ptx(library, source.module(*names).text, architecture)
        for kernel in source.module(*names).kernels:
            assert f".entry {kernel}(" in ptx


def test_nvrtc_reports_what_is_wrong():
    library = nvrtc.library()
    if library is None:
        pytest.skip("NVRTC is not installed: pip install flambeau-cuda-backend[test]")
    with pytest.raises(RuntimeError, match="undefined_name"):
        nvrtc.compile_ptx(library, "__global__ void k() { undefined_name(); }", "compute_80")
