"""What kernels are compiled to, read without a GPU: ``python -m flambeau.cuda.static``.

NVRTC, ``ptxas`` and ``nvdisasm`` come from wheels (``nvidia-cuda-nvrtc-cu12``,
``nvidia-cuda-nvcc-cu12``, ``nvidia-cuda-nvdisasm``) or the path. The table lists, of each kernel,
registers, bytes of spills, shared memory, how much of a multiprocessor its threads fill, accesses
of 128 bits (or 256, which sm_100 has), and instructions of tensor cores.
"""
from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from flambeau.cuda import nvrtc, source

#: Kernels that training spends its time in: groups of modules and kinds.
HOT = (("plain0", "f32"), ("plain1", "f32"), ("plain2", "f32"), ("derived0", "f32"),
       ("sum", "float32"), ("mean", "float32"), ("argmax", "float32"), ("var", "float32"))
#: Shared memory of a multiprocessor, in bytes.
_SHARED = {"sm_80": 164 << 10, "sm_90": 228 << 10, "sm_100": 228 << 10}
_REGISTERS, _THREADS, _BLOCKS = 1 << 16, 2048, 32


@dataclass
class Reading:
    """One kernel as it is compiled for an architecture."""

    kernel: str
    architecture: str
    registers: int = 0
    spilled_bytes: int = 0
    stack_bytes: int = 0
    shared_bytes: int = 0
    wide_accesses: int = 0
    tensor_instructions: int = 0
    instructions: int = 0

    def occupancy(self, threads: int = 256) -> float:
        """The part of a multiprocessor's threads that blocks of so many fill."""
        warps = (threads + 31) // 32
        of_warp = -(-self.registers * 32 // 256) * 256
        blocks = min(_THREADS // threads, _BLOCKS, _REGISTERS // max(of_warp * warps, 1))
        if self.shared_bytes:
            blocks = min(blocks, _SHARED[self.architecture] // self.shared_bytes)
        return blocks * threads / _THREADS


def tool(name: str) -> str | None:
    """A program of the toolkit, from a wheel or the path."""
    found = [folder / "bin" / name for folder in nvrtc.wheels() if (folder / "bin" / name).exists()]
    return str(found[0]) if found else shutil.which(name)


def missing() -> str | None:
    """What is not installed of what reading needs."""
    if nvrtc.library() is None:
        return "needs the wheel nvidia-cuda-nvrtc-cu12"
    wheels = {"ptxas": "nvidia-cuda-nvcc-cu12", "nvdisasm": "nvidia-cuda-nvdisasm"}
    absent = [wheel for name, wheel in wheels.items() if tool(name) is None]
    return f"needs the wheel {absent[0]}" if absent else None


def read(group: str, kind: str, architecture: str = "sm_80") -> list[Reading]:
    """Compile a module and read its kernels.

    Args:
        group, kind: as in ``source.module``.
        architecture: ``sm_80``, ``sm_90`` or ``sm_100``.

    Raises:
        RuntimeError: a compiler refuses it, or is not installed.
    """
    library, lacks = nvrtc.library(), missing()
    if library is None or lacks:
        raise RuntimeError(f"reading kernels {lacks}; pip install it")
    module = source.module(group, kind)
    ptx = nvrtc.compile_ptx(library, module.text, architecture.replace("sm_", "compute_"))
    found = {name: Reading(name, architecture) for name in module.kernels}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.ptx"
        path.write_text(ptx)
        cubin = path.with_suffix(".cubin")
        said = _run("ptxas", "-v", f"-arch={architecture}", str(path), "-o", str(cubin))
        _read_resources(said.stderr, found)
        _read_instructions(_run("nvdisasm", "-c", str(cubin)).stdout, found)
    return list(found.values())


def _run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([tool(name) or name, *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stderr[:4000]}")
    return done


def _read_resources(text: str, found: dict[str, Reading]) -> None:
    """What ``ptxas -v`` says: properties, then registers, of each entry function."""
    current = None
    for line in text.splitlines():
        if entry := re.search(r"Compiling entry function '(\w+)'", line):
            current = found.get(entry[1])
        elif current is None:
            continue
        elif spills := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", line):
            current.stack_bytes = max(current.stack_bytes, int(spills[1]))
            current.spilled_bytes += int(spills[2])
        elif used := re.search(r"Used (\d+) registers", line):
            current.registers = int(used[1])
            shared = re.search(r"(\d+) bytes smem", line)
            current.shared_bytes = int(shared[1]) if shared else 0


def _read_instructions(text: str, found: dict[str, Reading]) -> None:
    """What ``nvdisasm`` shows: a section of instructions for each kernel."""
    current = None
    for line in text.splitlines():
        if section := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            current = found.get(section[1])
        if current is None or "/*" not in line or not line.rstrip().endswith(";"):
            continue
        current.instructions += 1
        words = line.split("*/", 1)[1]
        current.wide_accesses += bool(re.search(r"\b(LD|ST)G?\.[\w.]*(128|256)\b", words))
        current.tensor_instructions += bool(re.search(r"\b[HIDQ]G?MMA\b|\bUTC\w*MMA", words))


def table(readings: list[Reading]) -> str:
    """The readings as rows of Markdown."""
    rows = ["| kernel | for | registers | spilled | shared | occupancy | 128-bit | tensor | all |",
            "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    rows += [f"| `{r.kernel}` | {r.architecture} | {r.registers} | {r.spilled_bytes} | "
             f"{r.shared_bytes} | {r.occupancy():.0%} | {r.wide_accesses} | "
             f"{r.tensor_instructions} | {r.instructions} |" for r in readings]
    return "\n".join(rows)


def main(arguments: list[str] | None = None) -> int:
    """Print the table of the hot kernels, or of modules that are named ``group/kind``."""
    parser = argparse.ArgumentParser("flambeau.cuda.static", description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", help="group/kind, such as plain0/f32")
    parser.add_argument("--arch", default="sm_80", choices=sorted(_SHARED))
    options = parser.parse_args(arguments)
    if lacks := missing():
        print(f"reading kernels {lacks}; pip install it")
        return 1
    names = [tuple(m.split("/")) for m in options.modules] or [*HOT]
    print(table([r for group, kind in names for r in read(group, kind, options.arch)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
