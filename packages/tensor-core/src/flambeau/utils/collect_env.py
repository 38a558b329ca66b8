"""What a report of a problem should say of a machine: ``python -m flambeau.utils.collect_env``."""
from __future__ import annotations

import platform
import sys
from importlib import metadata

import flambeau

__all__ = ["get_pretty_env_info", "main"]

_PACKAGES = ("flambeau", "numpy", "cupy", "llvmlite", "onnx", "safetensors")


def _installed() -> list[str]:
    found = {}
    for distribution in metadata.distributions():
        name = (distribution.metadata["Name"] or "").lower()
        if name.startswith(_PACKAGES):
            found[name] = distribution.version
    return [f"  {name} {found[name]}" for name in sorted(found)]


def get_pretty_env_info() -> str:
    """The versions and the machine, as lines of text."""
    accelerator = flambeau.accelerator.current_accelerator()
    lines = [f"Flambeau: {flambeau.__version__}", f"Python: {sys.version}",
             f"System: {platform.platform()}", f"Processor: {_processor()}",
             f"Threads: {flambeau.get_num_threads()}", f"Accelerator: {accelerator or 'none'}",
             "Packages:", *_installed(), "", flambeau.__config__.show()]
    return "\n".join(lines).rstrip()


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file
                        if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
