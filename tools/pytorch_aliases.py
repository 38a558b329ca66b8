"""Make the table of other modules of PyTorch's in which its public functions and classes lie, too.

`python tools/pytorch_aliases.py > packages/tensor-core/src/flambeau/as_torch/pytorch_aliases.txt`,
in an environment with both. A line per pair of modules, without `torch`, and the names that are
the same objects in both: `_library.infer_schema library infer_schema`. The first is where programs
import them from, often a private module, the second is public and Flambeau has the names in it;
`.` stands for `torch` itself.
"""

from __future__ import annotations

import importlib
import types
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytorch_names import has, imported, modules

#: What is imported by nobody else, or takes minutes or other packages to import.
SKIPPED = ("_inductor", "_dynamo", "testing", "_vendor", "_strobelight", "utils.tensorboard",
           "distributed.elastic", "distributed._", "ao.ns", "ao.pruning", "_numpy", "_refs",
           "_higher_order_ops", "utils.benchmark", "utils.bottleneck", "utils.hipify",
           "onnx._internal", "_export.db", "_native", "_decomp")
#: Objects of PyTorch's that are modules of names: operators that are bound there.
BOUND = ("_C", "_C._nn", "_C._linalg", "_C._fft", "_C._special", "_C._VariableFunctions", "_VF")


def is_named(value: Any) -> bool:
    """Say whether an object is a function or class, which one name stands for."""
    return isinstance(value, type | types.FunctionType | types.BuiltinFunctionType) \
        and (getattr(value, "__module__", None) or "torch").startswith("torch")


def is_private(module: str) -> bool:
    """Say whether a part of a module's name begins with an underscore."""
    return any(word.startswith("_") for word in module.split("."))


def names_in(module: str) -> Iterator[tuple[str, Any]]:
    """Yield the functions and classes that a module of PyTorch's has."""
    found: Any = importlib.import_module("torch")
    if module in BOUND:
        for word in module.split("."):
            found = getattr(found, word)
    else:
        found = imported(f"torch.{module}".rstrip("."))
    for name in sorted(dir(found)) if found is not None else ():
        if not name.startswith("__") and is_named(value := getattr(found, name, None)):
            yield name, value


def public(names: list[str]) -> dict[int, tuple[str, str, Any]]:
    """Collect what Flambeau has in modules of the same names: by the object's address."""
    found: dict[int, tuple[str, str, Any]] = {}
    for module in sorted(names, key=lambda each: (each.count("."), each)):
        for name, value in names_in(module):
            if id(value) not in found and not name.startswith("_") and has(module, name):
                found[id(value)] = (module, name, value)
    return found


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    torch = importlib.import_module("torch")
    names = [name for name in modules(Path(torch.__path__[0]))
             if not name.startswith(SKIPPED) and not name.endswith("__main__")]
    known = public(["", *(name for name in names if not is_private(name))])
    table: dict[tuple[str, str], set[str]] = defaultdict(set)
    for module in [*names, *BOUND]:
        for name, value in names_in(module):
            home, own, _ = known.get(id(value), ("", "", None))
            if own == name and home != module and not has(module, name):
                table[module, home or "."].add(name)
    for (module, home), inside in sorted(table.items()):
        print(module, home, *sorted(inside))


if __name__ == "__main__":
    main()
