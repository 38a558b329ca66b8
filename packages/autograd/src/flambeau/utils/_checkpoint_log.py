"""What the two runs of a checkpointed function executed: for the error that says they differ."""
from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from flambeau.autograd._engine import Recorder

__all__ = ["RunLog"]


class RunLog:
    """The operators of the first run and of the latest second run.

    Args:
        enabled: False makes a log that records nothing.
    """

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._runs: list[Recorder | None] = [None, None]

    def recorded(self, again: bool) -> Any:
        """A context manager for one of the two runs."""
        if not self.enabled:
            return nullcontext()
        recorder = self._runs[again] = Recorder(True)
        return recorder

    def explain(self, message: str) -> str:
        """An error's text, followed by what ran."""
        return "\n".join([
            f"{message}. You are seeing this error because you passed `debug=True` to checkpoint, "
            "so here is what both runs executed. Compare the two lists from the top: the first "
            "line that differs is where the function does something else the second time.",
            "Operators of the first run:", *_lines(self._runs[0]),
            "Operators of the second run:", *_lines(self._runs[1])])


def _lines(recorder: Recorder | None) -> list[str]:
    events = recorder.events() if recorder is not None else []
    return [f"  {number}: {name}({shapes or ''})"
            for number, (name, _, _, _, _, _, shapes) in enumerate(events)]
