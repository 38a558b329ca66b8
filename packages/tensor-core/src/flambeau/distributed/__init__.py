"""Training in several processes, on one machine or several: what moves tensors between them.

Each process calls `init_process_group` and then the same functions in the same order. Tensors go
through sockets; a world of one process is a world as any other, in which nothing is sent.
"""
from __future__ import annotations

from flambeau import rooms

TYPE_CHECKING = False  # typing would cost time at every import
if TYPE_CHECKING:
    from typing import Any

    from .asking import *  # noqa: F403
    from .backend import *  # noqa: F403
    from .collectives import *  # noqa: F403
    from .device_mesh import *  # noqa: F403
    from .exchanges import *  # noqa: F403
    from .groups import *  # noqa: F403
    from .messages import *  # noqa: F403
    from .objects import *  # noqa: F403
    from .reductions import *  # noqa: F403
    from .starting import *  # noqa: F403
    from .store import *  # noqa: F403
    from .tcp_store import *  # noqa: F403
    from .work import *  # noqa: F403

#: Name -> module that has it; each is imported when one of its names is asked for.
_HOMES = {name: module for module, names in {
    "asking": ("_rank_not_in_group", "get_backend", "get_default_backend_for_device",
               "get_global_rank", "get_group_rank",
               "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank",
               "get_world_size", "is_available", "is_backend_available", "is_gloo_available",
               "is_initialized", "is_mpi_available", "is_nccl_available",
               "is_torchelastic_launched", "is_ucc_available", "is_xccl_available"),
    "backend": ("Backend",),
    "collectives": ("all_reduce", "all_reduce_coalesced", "barrier", "broadcast",
                    "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_single",
                    "reduce_scatter_tensor"),
    "device_mesh": ("DeviceMesh", "init_device_mesh"),
    "exchanges": ("all_gather", "all_gather_into_tensor", "all_gather_single", "all_to_all",
                  "all_to_all_single", "gather", "scatter"),
    "groups": ("GroupMember", "ProcessGroup"),
    "messages": ("P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"),
    "objects": ("all_gather_object", "broadcast_object_list", "gather_object",
                "recv_object_list", "scatter_object_list", "send_object_list"),
    "reductions": ("ReduceOp",),
    "starting": ("destroy_process_group", "init_process_group", "new_group", "new_subgroups",
                 "new_subgroups_by_enumeration"),
    "store": ("DistStoreError", "FileStore", "HashStore", "PrefixStore", "Store"),
    "tcp_store": ("TCPStore",),
    "work": ("Work",),
}.items() for name in names}
__all__ = [name for name in _HOMES if name[0] != "_"]
__path__ = rooms.extend_path(globals()["__path__"], __name__)
_from_rooms = rooms.lazy_attributes(__name__)


def __getattr__(name: str) -> Any:
    if name == "group":
        return __getattr__("GroupMember")
    if name not in _HOMES:
        return _from_rooms(name)
    found = getattr(rooms.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
