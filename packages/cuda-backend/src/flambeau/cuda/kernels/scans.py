"""Scans: scan.cuh. In place they are as safe: a thread reads its elements before it writes them."""
from __future__ import annotations

from flambeau.cuda.kernels.program import (
    COMPLEX,
    FLOATS,
    GROUPS,
    INTEGERS,
    PROGRAMS,
    REAL,
    Group,
    Program,
    Step,
)


def _add(key: str, state: str, dtypes, of: int) -> None:
    call = f"fl_scan<{{D}}, {state}, {{S}}>(c)"
    GROUPS[key] = Group(("spread.cuh", "scan.cuh"),
                        {f"{key}_warp": call.replace("{S}", "32"),
                         f"{key}_block": call.replace("{S}", "256"),
                         f"{key}_totals": f"fl_scan_totals<{{D}}, {state}>(c)",
                         f"{key}_carries": f"fl_scan_carries<{state}>(c)",
                         f"{key}_joined": f"fl_scan_joined<{{D}}, {state}>(c)"}, 3)
    steps = (Step(f"{key}_warp", f"{key}_block", "rows"),
             *(Step(f"{key}_{name}") for name in ("totals", "carries", "joined")))
    PROGRAMS[key] = Program(key, dtypes, steps, "scan", of, "dim", 1)


_SUMS = (*FLOATS, *INTEGERS, *COMPLEX)
_add("cumsum", "fl_cumsum<{D}>", _SUMS, -1)
_add("cumprod", "fl_cumprod<{D}>", _SUMS, -1)
_add("cummax", "fl_running_extreme<{D}, 1>", REAL, 0)
_add("cummin", "fl_running_extreme<{D}, -1>", REAL, 0)
_add("logcumsumexp", "fl_logcumsumexp<{D}>", FLOATS, 0)
