"""NVRTC through ctypes: compiles CUDA C to PTX without a GPU or driver."""
from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path

PACKAGE = "nvidia.cuda_nvrtc"


def library() -> ctypes.CDLL | None:
    """The library of the pip package ``nvidia-cuda-nvrtc-cu12``, or None."""
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except ModuleNotFoundError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    found = sorted(Path(spec.submodule_search_locations[0], "lib").glob("libnvrtc.so.*"))
    return ctypes.CDLL(str(found[0])) if found else None


def compile_ptx(nvrtc: ctypes.CDLL, text: str, architecture: str) -> str:
    """PTX of a module.

    Raises:
        RuntimeError: with the compiler's messages.
    """
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    options = [f"--gpu-architecture={architecture}", "--fmad=false", "--std=c++17",
               "--device-as-default-execution-space"]
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    if status:
        raise RuntimeError(_text(nvrtc, program, "ProgramLog"))
    ptx = _text(nvrtc, program, "PTX")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx


def _text(nvrtc, program, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()
