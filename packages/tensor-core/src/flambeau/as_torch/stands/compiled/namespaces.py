"""Namespaces of `torch.ops` that PyTorch brings, whose operators Flambeau has not."""
from __future__ import annotations

from typing import Any

from flambeau.as_torch.placeholders import placeholder
from flambeau.library.operators import Namespace

_BROUGHT = frozenset((
    "c10d", "symm_mem", "_dtensor", "fsdp", "mkldnn", "mkl", "onednn", "mkldnn_prepacked",
    "quantized", "quantized_decomposed", "inductor", "inductor_prims", "rngprims", "debugprims",
    "sparse", "static_runtime", "xnnpack", "prepacked", "nnapi", "vulkan_prepack", "cuda"))


class Brought(Namespace):
    """A namespace in which a program's own operators lie, and placeholders of all others."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return placeholder(f"ops.{self._name}.{name}")


def namespace(name: str) -> Namespace | None:
    """The namespace of a name; None: PyTorch brings no other than Flambeau has.

    Args:
        name: A name in ``torch.ops``.
    """
    is_functional = "c10d_functional" in name
    if is_functional:
        from flambeau.as_torch.stands.compiled import collectives

        collectives.register(name)
    return Brought(name) if is_functional or name in _BROUGHT else None
