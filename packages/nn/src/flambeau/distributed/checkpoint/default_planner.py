"""What `save` and `load` leave to choose."""

from __future__ import annotations

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


class DefaultSavePlanner:
    """Accepted for compatibility: nested state dicts are saved as one level of names.

    Args:
        flatten_state_dict: Accepted for compatibility.
        flatten_sharded_tensors: Accepted for compatibility.
        dedup_save_to_lowest_rank: Accepted for compatibility.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
        dedup_save_to_lowest_rank: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict


class DefaultLoadPlanner:
    """Whether `load` may leave out what is not in the checkpoint.

    Args:
        flatten_state_dict: Accepted for compatibility.
        flatten_sharded_tensors: Accepted for compatibility.
        allow_partial_load: Whether it may.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.allow_partial_load = allow_partial_load
