"""Make the table of the modules in which PyTorch defines what Flambeau defines elsewhere.

`python tools/pytorch_homes.py > packages/tensor-core/src/flambeau/as_torch/pytorch_homes.txt`, in
an environment with both. A line per pair of modules, Flambeau's and PyTorch's without the names
of the libraries, and the classes and functions concerned: `nn._grouped nn.functional grouped_mm`;
`.` stands for `torch` itself. Found by walking public names, so that both are what programs get.
"""

from __future__ import annotations

import importlib
import types
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytorch_names import imported, modules

OWN = "flambeau"
#: Modules whose names are no part of the interface, or are made at use.
SKIPPED = ("torch.testing", "torch.distributed", "torch._inductor", "torch._dynamo")

#: What no public module of PyTorch's has.
PRIVATE = {("library.operators", "_ops"): {"OpOverload", "OpOverloadPacket"}}


def pairs(module: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the names that both have in a module, with both objects."""
    theirs, ours = imported(f"torch.{module}".rstrip(".")), imported(f"{OWN}.{module}".rstrip("."))
    if theirs is None or ours is None:
        return
    for name, value in sorted(vars(theirs).items()):
        if name.startswith("__") or isinstance(value, types.ModuleType):
            continue
        try:
            yield name, value, getattr(ours, name)
        except (AttributeError, ImportError):
            continue


def below(module: Any, library: str) -> str | None:
    """A module's name without the library's, `.` for the library itself; None: of another one."""
    if not isinstance(module, str) or module.partition(".")[0] != library:
        return None
    return module.removeprefix(library).removeprefix(".") or "."


def table() -> dict[tuple[str, str], set[str]]:
    """Collect what is defined elsewhere: (our module, PyTorch's) -> names."""
    torch = importlib.import_module("torch")
    found: dict[tuple[str, str], set[str]] = defaultdict(set, PRIVATE)
    for module in ["", *modules(Path(torch.__path__[0]))]:
        if any(word.startswith("_") for word in module.split(".")):
            continue
        for name, theirs, ours in pairs(module):
            own = below(getattr(ours, "__module__", None), OWN)
            home = below(getattr(theirs, "__module__", None), "torch")
            if own in (None, ".") or home is None or f"torch.{home}".startswith(SKIPPED):
                continue
            if own != home and getattr(ours, "__qualname__", "") == name \
                    and getattr(theirs, "__name__", "") == name and callable(ours):
                found[own, home].add(name)
    return found


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    for (own, home), names in sorted(table().items()):
        print(own, home, *sorted(names))


if __name__ == "__main__":
    main()
