"""Softmax, normalization and losses: softmax.cuh, norms.cuh, losses.cuh."""
from __future__ import annotations

from flambeau.cuda.kernels.program import FLOATS, GROUPS, PROGRAMS, Group, Program, Step


def _rows(name: str, rule: str, file: str = "softmax.cuh", views: int = 3,
          also: dict[str, str] | None = None, others: tuple[str, ...] = ()) -> tuple[Step, ...]:
    """Kernels for a warp, a block, and several blocks of a row: spread.cuh has them by a rule."""
    kernels = {f"{name}_warp": f"fl_rows<{rule}, 32>(c)",
               f"{name}_block": f"fl_rows<{rule}, 256>(c)",
               f"{name}_part": f"fl_row_parts<{rule}>(c)",
               f"{name}_joined": f"fl_joined_rows<{rule}>(c)"}
    GROUPS[name] = Group(("spread.cuh", *others, file), kernels | (also or {}), views)
    return (Step(f"{name}_warp", f"{name}_block", "rows"), Step(f"{name}_part"),
            Step(f"{name}_joined"))


def _softmax(key: str, rule: str, at: int, of: int = 0) -> None:
    PROGRAMS[key] = Program(key, FLOATS, _rows(key, rule), "spread", of, "dim", at)


for _key, _log in (("softmax", "false"), ("log_softmax", "true")):
    _softmax(_key, f"fl_softmax<{{D}}, {_log}>", 1, -1)
    _softmax(f"{_key}_grad", f"fl_softmax_grad<{{D}}, {_log}>", 2)
_softmax("log_softmax_at", "fl_log_softmax_at<{D}>", 1)

_NORMS = "norms.cuh"
_GROUPS = ("spread.cuh", _NORMS)
PROGRAMS["native_layer_norm"] = Program(
    "layer_norm", FLOATS, _rows("layer_norm", "fl_layer_norm<{D}>", _NORMS, 6), "spread",
    span="last", span_parameter=1, aside=0b000110)
PROGRAMS["layer_norm_grad"] = Program(
    "layer_norm_grad", FLOATS,
    (*_rows("layer_norm_grad", "fl_layer_norm_grad<{D}>", _NORMS, 8,
            {"layer_norm_weights": "fl_layer_norm_weights<{D}>(c)",
             "layer_norm_weights_joined": "fl_join_columns<{D}, 2>(c, 6)"}),
     Step("layer_norm_weights", "layer_norm_weights_joined", "columns", view=6)),
    "spread", span="last", span_parameter=5, aside=0b11010000, dtype_of=1)
PROGRAMS["native_rms_norm"] = Program(
    "rms_norm", FLOATS,
    _rows("rms_norm", "fl_rms_norm<{D}>", "rms_norm.cuh", 4, None, (_NORMS,)), "spread",
    span="last", span_parameter=1, aside=0b0010)
PROGRAMS["rms_norm_grad"] = Program(
    "rms_norm_grad", FLOATS,
    (*_rows("rms_norm_grad", "fl_rms_norm_grad<{D}>", "rms_norm.cuh", 6,
            {"rms_norm_weights": "fl_rms_norm_weights<{D}>(c)",
             "rms_norm_weights_joined": "fl_join_columns<{D}, 1>(c, 5)"}, (_NORMS,)),
     Step("rms_norm_weights", "rms_norm_weights_joined", "columns", view=5)),
    "spread", span="last", span_parameter=4, aside=0b101000, dtype_of=1)
PROGRAMS["native_batch_norm"] = Program(
    "batch_norm", FLOATS, _rows("batch_norm", "fl_batch_norm<{D}>", _NORMS, 8), "spread",
    span="channels")
PROGRAMS["batch_norm_grad"] = Program(
    "batch_norm_grad", FLOATS, _rows("batch_norm_grad", "fl_batch_norm_grad<{D}>", _NORMS, 8),
    "spread", span="channels", dtype_of=1)

GROUPS["group_norm"] = Group(_GROUPS, {"group_norm": "fl_group_norm<{D}>(c)"}, 6)
PROGRAMS["native_group_norm"] = Program(
    "group_norm", FLOATS, (Step("group_norm", policy="planes", view=4),))
GROUPS["group_norm_grad"] = Group(
    _GROUPS, {"group_norm_grad": "fl_group_norm_grad<{D}>(c)",
                "group_norm_weights": "fl_group_norm_weights<{D}>(c)"}, 8)
PROGRAMS["group_norm_grad"] = Program(
    "group_norm_grad", FLOATS, (Step("group_norm_grad", policy="planes", view=3),
                                Step("group_norm_weights", policy="planes", view=6)), dtype_of=1)

_LOSSES = (*_GROUPS, "losses.cuh")


def _sum_kernels(name: str) -> dict[str, str]:
    return {name: f"fl_{name}<{{D}}>(c)", f"{name}_joined": "fl_join_losses<{D}>(c)"}


def _sums(name: str) -> Step:
    return Step(name, f"{name}_joined", "parts", view=1)


GROUPS["nll_loss"] = Group(
    _LOSSES, {"nll_rows": "fl_nll_rows<{D}>(c)"} | _sum_kernels("nll_sums"), 5)
PROGRAMS["nll_loss_rows"] = Program(
    "nll_loss", FLOATS, (Step("nll_rows", view=1), _sums("nll_sums")))
GROUPS["nll_loss_grad"] = Group(_LOSSES, {"nll_grad": "fl_nll_grad<{D}>(c)"}, 6)
PROGRAMS["nll_loss_grad"] = Program(
    "nll_loss_grad", FLOATS, (Step("nll_grad", view=2),), beginning="zero", dtype_of=1)

_CLASSES, _BEFORE = "cross_entropy.cuh", (_NORMS, "softmax.cuh", "losses.cuh")
PROGRAMS["cross_entropy_rows"] = Program(
    "cross_entropy", FLOATS,
    (*_rows("cross_entropy", "fl_cross_entropy<{D}>", _CLASSES, 7,
            _sum_kernels("cross_entropy_sums"), _BEFORE), _sums("cross_entropy_sums")),
    "spread", span="classes", aside=0b0010100, scratch=16, scratch_view=1)
PROGRAMS["cross_entropy_grad"] = Program(
    "cross_entropy_grad", FLOATS,
    _rows("cross_entropy_grad", "fl_cross_entropy_grad<{D}>", _CLASSES, 8, None, _BEFORE),
    "spread", span="classes", aside=0b00011000)
