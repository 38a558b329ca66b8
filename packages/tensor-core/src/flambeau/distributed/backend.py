"""Names of backends."""
from __future__ import annotations

from typing import ClassVar

__all__ = ["Backend"]


class Backend(str):
    """The name of a backend, in lower case.

    Args:
        name: Such as ``"gloo"``.

    Raises:
        ValueError: It is no text.

    Example:
        >>> from flambeau.distributed import Backend
        >>> Backend("GLOO") == Backend.GLOO
        True
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    #: What programs ask for where a device's tensors are exchanged, and for which a backend is.
    default_device_backend_map: ClassVar[dict[str, str]] = {
        "cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    backend_capability: ClassVar[dict[str, list[str]]] = {
        GLOO: ["cpu", "cuda"], NCCL: ["cuda"], XCCL: ["xpu"], UCC: ["cpu", "cuda"],
        MPI: ["cpu", "cuda"]}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend(): a name is a text, not {name!r}")
        return super().__new__(cls, name.lower())
