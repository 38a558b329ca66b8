"""Softmax, normalization and losses: softmax.cuh, norms.cuh, losses.cuh."""
from __future__ import annotations

from flambeau.cuda.kernels.program import FLOATS, GROUPS, PROGRAMS, Group, Program, Step


def _rows(name: str, call: str, file: str = "softmax.cuh", views: int = 3, also=()) -> Step:
    """A kernel for warps and one for blocks; ``{S}`` in the call is the team's size."""
    kernels = {f"{name}_warp": call.replace("{S}", "32"),
               f"{name}_block": call.replace("{S}", "256")}
    GROUPS[name] = Group((file,), kernels | dict(also), views)
    return Step(f"{name}_warp", f"{name}_block", "rows")


def _softmax(key: str, call: str, at: int, of: int = 0) -> None:
    PROGRAMS[key] = Program(key, FLOATS, (_rows(key, call),), span="dim", span_parameter=at,
                            dtype_of=of)


for _key, _log in (("softmax", "false"), ("log_softmax", "true")):
    _softmax(_key, f"fl_softmax<{{D}}, {{S}}, {_log}>(c)", 1, -1)
    _softmax(f"{_key}_grad", f"fl_softmax_grad<{{D}}, {{S}}, {_log}>(c)", 2)
_softmax("log_softmax_at", "fl_log_softmax_at<{D}, {S}>(c)", 1)

_NORMS = "norms.cuh"
PROGRAMS["native_layer_norm"] = Program(
    "layer_norm", FLOATS, (_rows("layer_norm", "fl_layer_norm<{D}, {S}>(c)", _NORMS, 6),),
    span="last", span_parameter=1, aside=0b000110)
PROGRAMS["layer_norm_grad"] = Program(
    "layer_norm_grad", FLOATS,
    (_rows("layer_norm_grad", "fl_layer_norm_grad<{D}, {S}>(c)", _NORMS, 8,
           {"layer_norm_weights": "fl_layer_norm_weights<{D}>(c)"}.items()),
     Step("layer_norm_weights", policy="columns", view=6)),
    span="last", span_parameter=5, aside=0b11010000, dtype_of=1)
PROGRAMS["native_batch_norm"] = Program(
    "batch_norm", FLOATS, (_rows("batch_norm", "fl_batch_norm<{D}, {S}>(c)", _NORMS, 8),),
    span="channels")
PROGRAMS["batch_norm_grad"] = Program(
    "batch_norm_grad", FLOATS,
    (_rows("batch_norm_grad", "fl_batch_norm_grad<{D}, {S}>(c)", _NORMS, 8),),
    span="channels", dtype_of=1)

GROUPS["group_norm"] = Group((_NORMS,), {"group_norm": "fl_group_norm<{D}>(c)"}, 6)
PROGRAMS["native_group_norm"] = Program(
    "group_norm", FLOATS, (Step("group_norm", policy="planes", view=4),))
GROUPS["group_norm_grad"] = Group(
    (_NORMS,), {"group_norm_grad": "fl_group_norm_grad<{D}>(c)",
                "group_norm_weights": "fl_group_norm_weights<{D}>(c)"}, 8)
PROGRAMS["group_norm_grad"] = Program(
    "group_norm_grad", FLOATS, (Step("group_norm_grad", policy="planes", view=3),
                                Step("group_norm_weights", policy="planes", view=6)), dtype_of=1)

GROUPS["nll_loss"] = Group(
    (_NORMS, "losses.cuh"), {"nll_rows": "fl_nll_rows<{D}>(c)", "nll_sums": "fl_nll_sums<{D}>(c)"},
    5)
PROGRAMS["nll_loss_rows"] = Program(
    "nll_loss", FLOATS, (Step("nll_rows", view=1),
                         Step("nll_sums", policy="planes", view=4, block=512)))
GROUPS["nll_loss_grad"] = Group((_NORMS, "losses.cuh"), {"nll_grad": "fl_nll_grad<{D}>(c)"}, 6)
PROGRAMS["nll_loss_grad"] = Program(
    "nll_loss_grad", FLOATS, (Step("nll_grad", view=2),), beginning="zero", dtype_of=1)
