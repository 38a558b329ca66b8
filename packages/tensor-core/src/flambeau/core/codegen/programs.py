"""Pointwise kernels as bytecode: what is seldom called, and the oldest ISA level, compile none."""
from __future__ import annotations

from flambeau.core.codegen.plan import PointwisePlan, kernel_name, pointwise_plans
from flambeau.core.formula.bytecode import assemble
from flambeau.core.formula.parse import parse

#: Follows the name of a kernel where that of an ISA level would.
PROGRAM = "program"

# Operands of as many elements do not fit a cache, and the interpreter asks for them in time.
_HEAD = """// Generated from the operator definitions; do not edit.
#include "dispatch/pointwise.h"
static const int64_t FL_STREAMS = 1 << 15;
/* One function for all programs: theirs only pass their code. */
__attribute__((noinline))
static void interpret(const char *code, const void *const *in, void *const *out,
                      const fl_scalar *s, int64_t n) {
    fl_bytecode_interpreter(n >= FL_STREAMS)(code, in, out, s, n);
}
#define FL_PROGRAM(name, ...)                                                                    \\
    void name(const void *, const void *const *in, void *const *out, const fl_scalar *s,         \\
              int64_t n);                                                                        \\
    void name(const void *, const void *const *in, void *const *out, const fl_scalar *s,         \\
              int64_t n) {                                                                       \\
        alignas(16) static const char code[] = __VA_ARGS__;                                      \\
        interpret(code, in, out, s, n);                                                          \\
    }
"""


def files() -> dict[str, str]:
    lines = [_HEAD]
    for plan in pointwise_plans():
        for kind, formula in plan.kernels:
            code = _literal(_code(plan, kind, formula))
            lines.append(f"FL_PROGRAM({kernel_name(plan, formula)}{PROGRAM}, {code})\n")
    return {"pw_programs.cpp": "".join(lines)}


def _code(plan: PointwisePlan, kind: str, formula: str) -> bytes:
    opdef = plan.opdef
    params = {p.name: "b" if p.role == "Mask" else kind for p in opdef.operands}
    scalars = {p.name: kind for p in opdef.scalars}
    exprs = parse(plan.formula(formula), list(params), list(scalars))
    results = [plan.result_kind(kind)] * len(exprs)
    return assemble(exprs, params, scalars, kind, results).pack()


def _literal(code: bytes) -> str:
    return '"' + "".join(map(_character, code)) + '"'


def _character(byte: int) -> str:
    """Three octal digits, so that what follows cannot be taken for a fourth."""
    return chr(byte) if chr(byte).isalpha() and byte < 128 else f"\\{byte:03o}"
