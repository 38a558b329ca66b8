"""Reductions: reduce.cuh."""
from __future__ import annotations

from dataclasses import replace

from flambeau.cuda.kernels.program import (
    ALL,
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

_STAGES = {"thread": "fl_reduce_thread<{A}>(c)", "warp": "fl_reduce_team<{A}, 32>(c)",
           "block": "fl_reduce_team<{A}, 256>(c)", "join_thread": "fl_join_thread<{A}>(c)",
           "join_block": "fl_join_team<{A}>(c)"}
_INEXACT = (*FLOATS, *COMPLEX)
_SUMS = (*_INEXACT, *INTEGERS)


def _add(key: str, accumulator: str, dtypes, of: int = 0, span: str = "dims", at: int = 1) -> None:
    name = key.replace(".", "_")
    GROUPS[name] = Group(
        ("reduce.cuh",),
        {f"{name}_{stage}": text.replace("{A}", f"{accumulator}<{{D}}>")
         for stage, text in _STAGES.items()}, 3)
    PROGRAMS[key] = Program(name, tuple(dtypes), tuple(Step(f"{name}_{s}") for s in _STAGES),
                            "reduction", of, span, at)


_add("sum", "fl_sum", _SUMS, of=-1)
_add("prod", "fl_prod", _SUMS, of=-1)
_add("mean", "fl_mean", _INEXACT, of=-1)
_add("nansum", "fl_nansum", (*FLOATS, *INTEGERS), of=-1)
PROGRAMS["nansum"] = replace(
    PROGRAMS["nansum"], accepts=lambda args, outs: outs[0].dtype.is_floating_point
    or not args[0].dtype.is_floating_point)
for _key in ("amax", "amin"):
    _add(_key, f"fl_{_key}", REAL)
for _key in ("argmax", "argmin"):
    _add(_key, f"fl_{_key}", REAL, span="dim")
for _key in ("max", "min"):
    _add(f"{_key}.dim", f"fl_{_key}_dim", REAL, span="dim")
for _key in ("any", "all"):
    _add(_key, f"fl_{_key}", ALL)
for _key in ("var", "std"):
    _add(_key, f"fl_{_key}", _INEXACT)
_add("logsumexp", "fl_logsumexp", REAL)
GROUPS["logsumexp_complex"] = Group(
    ("reduce.cuh",), {kernel: text.replace("fl_logsumexp", "fl_logsumexp_complex")
                      for kernel, text in GROUPS["logsumexp"].kernels.items()}, 3)
PROGRAMS["logsumexp"] = replace(
    PROGRAMS["logsumexp"], dtypes=ALL, choose=lambda dtype: "logsumexp_complex"
    if dtype in COMPLEX else "logsumexp")
_add("norm_of", "fl_norm", _INEXACT, span="dims", at=2)
