"""What makes a library importable beside the build of PyTorch for CPUs, in its own process."""

from __future__ import annotations

import importlib.util
import os

#: Operators whose compiled library asks for CUDA; their names are all that is needed to import it.
TORCHVISION = (
    "nms(Tensor a, Tensor b, float c) -> Tensor",
    "qnms(Tensor a, Tensor b, float c) -> Tensor",
    "roi_align(Tensor a, Tensor b, float c, SymInt d, SymInt e, int f, bool g) -> Tensor",
    "roi_pool(Tensor a, Tensor b, float c, SymInt d, SymInt e) -> (Tensor, Tensor)",
    "ps_roi_align(Tensor a, Tensor b, float c, SymInt d, SymInt e, int f) -> (Tensor, Tensor)",
    "ps_roi_pool(Tensor a, Tensor b, float c, SymInt d, SymInt e) -> (Tensor, Tensor)",
    "deform_conv2d(Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, SymInt f, SymInt g, "
    "SymInt h, SymInt i, SymInt j, SymInt k, SymInt l, SymInt m, bool n) -> Tensor",
)
_kept: list[object] = []


def prepare() -> None:
    """Register the names of torchvision's operators with PyTorch, unless it is Flambeau."""
    if os.environ.get("FLAMBEAU_AS_TORCH") == "1" or not importlib.util.find_spec("torchvision"):
        return
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for schema in TORCHVISION:
        library.define(schema)
    _kept.append(library)
