"""Parameters, gradients and optimizer states divided among processes."""

from ._fully_shard import fully_shard, register_fsdp_forward_method, share_comm_ctx
from ._module import FSDPModule, UnshardHandle
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]
