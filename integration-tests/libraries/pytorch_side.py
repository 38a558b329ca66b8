"""What makes a library importable beside the build of PyTorch for CPUs, in its own process."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

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
#: The same of torchaudio, whose filters run as they do where nothing is compiled.
TORCHAUDIO = {"_torchaudio": ("cuda_version() -> int?", "is_align_available() -> bool"),
              "torchaudio": ("_lfilter_core_loop(Tensor x, Tensor a, Tensor(a!) y) -> ()",
                             "_overdrive_core_loop(Tensor x) -> ()")}
_kept: list[object] = []


def prepare() -> None:
    """Register the names of compiled operators with PyTorch, unless it is Flambeau."""
    if os.environ.get("FLAMBEAU_AS_TORCH") == "1":
        return
    if importlib.util.find_spec("torchvision"):
        _define("torchvision", TORCHVISION)
    if importlib.util.find_spec("torchaudio"):
        _prepare_audio()


def _define(space: str, schemas: tuple[str, ...]) -> Any:
    import torch

    library = torch.library.Library(space, "DEF")
    for schema in schemas:
        library.define(schema)
    _kept.append(library)
    return library


def _prepare_audio() -> None:
    import torch

    load = torch.ops.load_library
    torch.ops.load_library = lambda path: None if "torchaudio" in str(path) else load(path)
    parts = {space: _define(space, schemas) for space, schemas in TORCHAUDIO.items()}
    parts["_torchaudio"].impl("cuda_version", lambda: None, "CompositeExplicitAutograd")
    parts["_torchaudio"].impl("is_align_available", lambda: False, "CompositeExplicitAutograd")
    parts["torchaudio"].impl("_lfilter_core_loop", _filter, "CPU")


def _filter(x: Any, a: Any, y: Any) -> None:
    order = a.size(1)
    for at in range(x.size(2)):
        seen = (y[:, :, at:at + order] * a).sum(-1)
        y[:, :, at + order - 1] = x[:, :, at] - seen
