"""What a class of this library is called in files of PyTorch's."""
from __future__ import annotations

import sys

from flambeau import rooms

#: Packages whose folders of files here are single files there -> words of a file's name there.
_DEPTHS = {"nn.modules": 3, "optim.lr_scheduler": 2, "distributions.transforms": 2,
           "distributions": 1}


def home_in_pytorch(module: str, name: str) -> str:
    """The module of PyTorch's for a class of this library.

    Classes may say it in an attribute ``_pytorch_module``.
    """
    found = getattr(sys.modules.get(module), name, None)
    if isinstance(found, type) and "_pytorch_module" in vars(found):
        return str(vars(found)["_pytorch_module"])
    below = f"{module}.".removeprefix(rooms.PREFIX)
    depth = next((depth for package, depth in _DEPTHS.items() if below.startswith(f"{package}.")),
                 len(below))
    return ".".join(["torch", *below.rstrip(".").split(".")[:depth]]).rstrip(".")
