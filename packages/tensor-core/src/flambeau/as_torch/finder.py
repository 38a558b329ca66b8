"""The finder that answers `import torch`, and what processes that are started inherit.

This file is also run by itself when a child process starts, before anything is imported: it may
import nothing of Flambeau until somebody asks for `torch`.
"""
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # these, and importlib below, would cost time at the start of every child
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

#: Set to 1 for children; set to 0, a child imports the real PyTorch.
VARIABLE = "FLAMBEAU_AS_TORCH"
#: The folder that Python finds `sitecustomize` in when a child starts.
CHILDREN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "children")


def is_ours(name: str) -> bool:
    """Say whether a module is `torch` or `functorch`, or below them."""
    return name.partition(".")[0] in ("torch", "functorch")


class Finder:
    """Finds modules of PyTorch's names; the first of `sys.meta_path`."""

    def find_spec(self, name: str, path: Sequence[str] | None = None,
                  target: object = None) -> ModuleSpec | None:
        """Answer for `torch` and what is below, as far as PyTorch has it."""
        if not is_ours(name):
            brought = sys.modules.get("flambeau.as_torch.brought")  # where torch is imported
            return brought.spec_of(name, path, target) if brought is not None \
                and name in brought.LATER else None
        from importlib.machinery import ModuleSpec

        if name == "torch":
            return ModuleSpec(name, Loader(), origin="flambeau",  # type: ignore[arg-type]
                              is_package=True)
        from flambeau.as_torch import modules

        return modules.spec_of(name, Loader())

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Answer `importlib.metadata.version("torch")`."""
        if context.name is None or context.name.lower() == "torch":
            from flambeau.as_torch.distribution import Installed

            yield Installed()

    def invalidate_caches(self) -> None:
        """Nothing is kept."""


class Loader:
    """Makes `sys.modules["torch.x"]` the module `flambeau.x` itself."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of Flambeau, or a placeholder."""
        from flambeau.as_torch import modules

        return modules.load(spec)

    def get_code(self, name: str) -> CodeType | None:
        """The code of a module that is run as a program."""
        from flambeau.as_torch import modules

        return modules.code_of(name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do but to put back what importlib wrote to the module."""
        from flambeau.as_torch import modules

        modules.restore(module)


def install() -> None:
    """Let `torch` mean Flambeau here, and in processes that are started from here.

    Raises:
        RuntimeError: PyTorch itself is imported already.
    """
    present = sys.modules.get("torch")
    if present is not None and present is not sys.modules.get("flambeau"):
        raise RuntimeError(
            "flambeau.as_torch: PyTorch itself is imported already, by this program or by what it "
            "imported; write import flambeau.as_torch before that, or start the program with "
            "python -m flambeau.as_torch")
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
    os.environ[VARIABLE] = "1"
    paths = os.environ.get("PYTHONPATH", "")
    if CHILDREN not in paths.split(os.pathsep):
        os.environ["PYTHONPATH"] = CHILDREN + (os.pathsep + paths if paths else "")
