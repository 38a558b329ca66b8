"""The processes that save or load together; one where no group was made."""

from __future__ import annotations

from typing import Any

from flambeau import distributed


class World:
    """Processes that save or load together.

    Args:
        group: The processes; all by default.
        alone: Whether this process does it by itself.
    """

    def __init__(self, group: Any, alone: bool) -> None:
        self.group = group
        self.alone = alone or not distributed.is_initialized()
        self.rank = 0 if self.alone else distributed.get_rank(group)
        self.size = 1 if self.alone else distributed.get_world_size(group)

    def gather(self, value: Any) -> list[Any]:
        """What each process has."""
        if self.alone:
            return [value]
        every: list[Any] = [None] * self.size
        distributed.all_gather_object(every, value, self.group)
        return every
