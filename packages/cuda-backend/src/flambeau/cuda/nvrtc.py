"""NVRTC through ctypes: compiles CUDA C to PTX without a GPU or driver."""
from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path

#: Fused multiply-adds only where a formula writes them, so that bits agree with the CPU.
OPTIONS = ("--fmad=false", "--std=c++17", "--device-as-default-execution-space")


def wheels() -> list[Path]:
    """The folders that NVIDIA's wheels install into."""
    spec = importlib.util.find_spec("nvidia")
    roots = [] if spec is None else [Path(p) for p in spec.submodule_search_locations or ()]
    return [folder for root in roots for folder in sorted(root.glob("*")) if folder.is_dir()]


def library() -> ctypes.CDLL | None:
    """The library of the wheel ``nvidia-cuda-nvrtc-cu12`` or ``nvidia-cuda-nvrtc``, or None."""
    found = [path for folder in wheels() for path in sorted(folder.glob("lib/libnvrtc.so.*"))]
    return ctypes.CDLL(str(found[0])) if found else None


def compile_ptx(nvrtc: ctypes.CDLL, text: str, architecture: str) -> str:
    """PTX of a module.

    Args:
        nvrtc: what ``library`` gave.
        text: CUDA C.
        architecture: such as ``compute_80``.

    Raises:
        RuntimeError: with the compiler's messages.
    """
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    options = [f"--gpu-architecture={architecture}", *OPTIONS]
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    if status:
        raise RuntimeError(_text(nvrtc, program, "ProgramLog"))
    ptx = _text(nvrtc, program, "PTX")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx


def _text(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()
