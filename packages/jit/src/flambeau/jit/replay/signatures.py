"""What tells recordings of a function apart."""

from __future__ import annotations

from typing import Any

from . import plan


def signature(runs: Any, recording: Any) -> list[Any]:
    """Kernels such that equal programs give equal lists: memory is numbered as it appears."""
    numbers: dict[int, int] = {}
    first = recording.first_contents()

    def plain(value: Any) -> Any:
        if plan.is_extent(value):
            number = numbers.setdefault(value[0], len(numbers))
            return (number, *value[1:5], first.get(value[0]))
        if isinstance(value, list):
            return [plain(each) for each in value]
        if type(value).__name__ == "Generator":      # which says how far it is
            return f"generator {id(value)}"
        return repr(value)

    return [(key, [plain(v) for v in args], [plain(v) for v in outs])
            for key, args, outs, _ in runs]
