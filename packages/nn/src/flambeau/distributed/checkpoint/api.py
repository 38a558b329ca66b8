"""Errors of several processes."""

from __future__ import annotations

__all__ = ["CheckpointException"]


class CheckpointException(Exception):
    """What went wrong in processes that save or load together.

    Args:
        msg: What they did.
        failures: What each process raised, by rank.
    """

    def __init__(self, msg: str, failures: dict[int, str]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, str]:
        """What each process raised, by rank."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"{self.args[0]}: ranks {sorted(self._failures)} failed"]
        return "\n".join([*lines, *(f"rank {rank}: {error}"
                                    for rank, error in sorted(self._failures.items()))])
