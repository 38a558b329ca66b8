"""Pointwise kernels as bytecode: what is seldom called, and the oldest ISA level, compile none."""
from __future__ import annotations

from flambeau.core.codegen.plan import PointwisePlan, kernel_name, pointwise_plans
from flambeau.core.formula.bytecode import assemble
from flambeau.core.formula.parse import parse

#: Follows the name of a kernel where that of an ISA level would.
PROGRAM = "program"

# Operands of as many elements do not fit a cache, and the interpreter asks for them in time.
# Two thirds of a program's bytes are zero: in the library they are left out, which makes it shorter
# by a tenth of a megabyte. A program's first call unpacks it.
_HEAD = """// Generated from the operator definitions; do not edit.
#include "dispatch/pointwise.h"
#include "runtime/mutex.h"
static const int64_t FL_STREAMS = 1 << 15;
static const int CODE = 16;     /* where it begins after the byte that says it is there */
/* Each eight bytes: a bit for each that is not zero, then those. */
static void unpack(const unsigned char *packed, char *code, int size) {
    for (int i = 0, bits = 0; i < size; i++) {
        bits = i % 8 ? bits >> 1 : *packed++;
        code[i] = bits & 1 ? (char)*packed++ : 0;
    }
}
/* One function for all programs: theirs only pass their code, where registers are free. */
__attribute__((noinline))
static void interpret(char *unpacked, const void *const *in, void *const *out,
                      const fl_scalar *s, int64_t n, const unsigned char *packed) {
    if (!__atomic_load_n(unpacked, __ATOMIC_ACQUIRE)) {
        static Mutex mutex;
        MutexGuard guard(mutex);
        if (!__atomic_load_n(unpacked, __ATOMIC_RELAXED))
            unpack(packed + 2, unpacked + CODE, packed[0] | packed[1] << 8);
        __atomic_store_n(unpacked, 1, __ATOMIC_RELEASE);
    }
    fl_bytecode_interpreter(n >= FL_STREAMS)(unpacked + CODE, in, out, s, n);
}
#define FL_PROGRAM(name, size, ...)                                                              \\
    void name(const void *, const void *const *in, void *const *out, const fl_scalar *s,         \\
              int64_t n);                                                                        \\
    void name(const void *, const void *const *in, void *const *out, const fl_scalar *s,         \\
              int64_t n) {                                                                       \\
        static const unsigned char packed[] = __VA_ARGS__;                                       \\
        alignas(16) static char unpacked[CODE + size];                                           \\
        interpret(unpacked, in, out, s, n, packed);                                              \\
    }
"""


def files() -> dict[str, str]:
    plans = pointwise_plans()
    lines = [_HEAD, f"fl_pw_fn fl_pw_kernels[{len(plans)}][FL_KERNEL_COUNT];\n"]
    for plan in plans:
        for kind, formula in plan.kernels:
            code = _code(plan, kind, formula)
            name = f"{kernel_name(plan, formula)}{PROGRAM}"
            lines.append(f"FL_PROGRAM({name}, {len(code)}, {_literal(_pack(code))})\n")
    return {"pw_programs.cpp": "".join(lines)}


def _code(plan: PointwisePlan, kind: str, formula: str) -> bytes:
    opdef = plan.opdef
    params = {p.name: "b" if p.role == "Mask" else kind for p in opdef.operands}
    scalars = {p.name: kind for p in opdef.scalars}
    exprs = parse(plan.formula(formula), list(params), list(scalars))
    results = [plan.result_kind(kind)] * len(exprs)
    return assemble(exprs, params, scalars, kind, results).pack()


def _pack(code: bytes) -> bytes:
    """The size in two bytes, then what ``unpack`` reads."""
    packed = bytearray(len(code).to_bytes(2, "little"))
    for start in range(0, len(code), 8):
        part = code[start:start + 8]
        packed.append(sum(1 << i for i, byte in enumerate(part) if byte))
        packed += bytes(byte for byte in part if byte)
    return bytes(packed)


def _literal(code: bytes) -> str:
    return '"' + "".join(map(_character, code)) + '"'


def _character(byte: int) -> str:
    """Three octal digits, so that what follows cannot be taken for a fourth."""
    return chr(byte) if chr(byte).isalpha() and byte < 128 else f"\\{byte:03o}"
