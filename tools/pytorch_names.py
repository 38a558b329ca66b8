"""Make the table of what PyTorch has and Flambeau has not, which `flambeau.as_torch` reads.

`python tools/pytorch_names.py > packages/tensor-core/src/flambeau/as_torch/pytorch_names.txt`, in
an environment with both. A line per public module: `fx.node: Argument Node ^Target`. Names that
Flambeau has in the module of that name are left out; `^` marks one that is the same object as in
a package above (`nn.modules.linear.Linear` is `nn.Linear`). Of private modules only the topmost
are listed, in the first line. `*` stands for any name, in modules that need more than PyTorch.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import logging
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

NOTHING = object()
NOT_FILES = ("classes", "ops")  # modules of `torch` that are objects made at import
SKIPPED = ("test", "lib", "include", "bin", "share")


def modules(root: Path) -> Iterator[str]:
    """Yield the dotted names of the modules in a package's folder, without the package's own."""
    for path in sorted(root.rglob("*.py")):
        inner = path.relative_to(root).with_suffix("").parts
        words = inner[:-1] if inner[-1] == "__init__" else inner
        if words and words[0] not in SKIPPED and all(word.isidentifier() for word in words):
            yield ".".join(words)


def topmost_private(names: list[str]) -> list[str]:
    """Return private modules that are in no private package."""
    found = set()
    for name in names:
        words = name.split(".")
        private = [i for i, word in enumerate(words) if word.startswith("_")]
        if private:
            found.add(".".join(words[: private[0] + 1]))
    return sorted(found)


def imported(name: str) -> types.ModuleType | None:
    """Import a module, or return None where that takes what is not installed."""
    try:
        return importlib.import_module(name)
    except Exception:  # whatever an optional part of PyTorch raises
        return None


@functools.cache
def assigned(module: types.ModuleType) -> frozenset[str]:
    """Names that a module's file gives to values, functions and classes of its own."""
    try:
        body = ast.parse(inspect.getsource(module)).body
    except (OSError, TypeError, SyntaxError):
        return frozenset()
    found = {each.name for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    targets = [target for each in body if isinstance(each, ast.Assign) for target in each.targets]
    targets += [each.target for each in body if isinstance(each, ast.AnnAssign)]
    return frozenset(found | {each.id for each in targets if isinstance(each, ast.Name)})


def held(module: types.ModuleType) -> dict[str, Any]:
    """The names of a module with their values, those of modules of settings included."""
    hidden = (name for name in assigned(module) if hasattr(module, name))
    return {**{name: getattr(module, name) for name in hidden}, **vars(module)}


def belongs(module: types.ModuleType, name: str, value: Any) -> bool:
    """Say whether programs may take a name from a module of PyTorch's."""
    if name in NOT_FILES and module.__name__ == "torch":
        return True
    if name.startswith("__") or isinstance(value, types.ModuleType):
        return False
    if name in getattr(module, "__all__", ()) or name in assigned(module):
        return not isinstance(value, logging.Logger | TypeVar)
    home = getattr(value, "__module__", None)
    if module.__name__ == "torch" and isinstance(value, types.BuiltinFunctionType):
        return True         # private operators, which subclasses of tensors are shown
    if name.startswith("_") or not hasattr(module, "__path__"):
        hidden = isinstance(home, str) and home.startswith(f"{module.__name__}._")
        is_own = home == module.__name__ or (module.__name__ != "torch" and hidden)
        return is_own and isinstance(value, types.FunctionType | type)
    return (isinstance(home, str) and home.startswith("torch")) or type(value).__module__ == "torch"


def above(module: str) -> Iterator[str]:
    """Yield the packages that a module is in, the nearest first."""
    while module:
        module = module.rpartition(".")[0]
        yield module


def inherited(module: str, name: str, value: Any) -> bool:
    """Say whether a package above has the same object, in PyTorch and in Flambeau."""
    for package in above(module):
        theirs = imported(f"torch.{package}".rstrip("."))
        if getattr(theirs, name, NOTHING) is value:
            return has(package, name)
    return False


def has(module: str, name: str) -> bool:
    """Say whether Flambeau has a name."""
    ours = imported(f"flambeau.{module}".rstrip("."))
    try:
        return ours is not None and hasattr(ours, name)
    except ImportError:
        return False


def line(module: str) -> str:
    """Return what PyTorch has in a module and Flambeau has not."""
    theirs = imported(f"torch.{module}".rstrip("."))
    names = []
    if theirs is None:
        return f"{module}: *"
    for name, value in sorted(held(theirs).items()):
        if belongs(theirs, name, value) and not has(module, name):
            if inherited(module, name, value):
                names.append(f"^{name}")
            else:
                names.append(name)
    return f"{module}: {' '.join(names)}".rstrip()


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    torch = importlib.import_module("torch")
    names = list(modules(Path(torch.__path__[0])))
    private = topmost_private(names)
    print(f"private: _C {' '.join(private)}")
    for name in ["", *names]:
        if not any(word.startswith("_") for word in name.split(".")):
            print(line(name))


if __name__ == "__main__":
    main()
