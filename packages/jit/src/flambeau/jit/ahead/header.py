"""The C header of an object file."""

from __future__ import annotations

import math

from flambeau.jit.ahead.emit import Target
from flambeau.jit.ahead.fixed import shape_of
from flambeau.jit.c_names import C_TYPES
from flambeau.jit.ir import Value
from flambeau.jit.itemsizes import SIZE

#: Bytes at the beginning of a file of weights, by which it is known.
DIGEST = 32


def header(
    name: str, inputs: list[Value], outputs: list[Value], arena: int, target: Target,
    digest: bytes, size: int, embedded: bool, state: int = 0, draws: bool = False,
) -> str:
    """The text.

    Args:
        name: what names in it begin with.
        inputs: in order.
        outputs: likewise.
        arena: bytes of memory for a run.
        target: what the code is made for.
        digest: of the weights.
        size: bytes of the file of weights.
        embedded: whether the weights are in the object file.
        state: bytes of memory that lives from run to run.
        draws: whether random numbers are drawn.
    """
    upper = name.upper()
    lines = [f"/* {name}: machine code for {target.name}, made by flambeau.jit.aot. */",
             "#pragma once", "#include <stddef.h>", "#include <stdint.h>", "",
             "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for kind, values in (("INPUT", inputs), ("OUTPUT", outputs)):
        for k, value in enumerate(values):
            lines += _constants(f"{upper}_{kind}_{k}", value)
    lines += ["/* Bytes that a run works in; every thread has its own, nothing is allocated. */",
              f"#define {upper}_ARENA_BYTES {arena}", ""]
    lines += _state(name, state, draws)
    lines += _init(name, target, digest, size, embedded)
    lines += ["", "/* Compute the outputs, in C order, from the inputs; none may share memory.",
              " * 0, or 1 where an index into a table is outside of it (row 0 is taken). */",
              f"int {name}_run({_arguments(inputs, outputs, state)});", "",
              "#ifdef __cplusplus", "}", "#endif", ""]
    return "\n".join(lines)


def _constants(prefix: str, value: Value) -> list[str]:
    shape = ", ".join(map(str, value.shape))
    count = math.prod(shape_of(value))
    return [f"/* {value.dtype}[{shape}] */", f'#define {prefix}_DTYPE "{value.dtype}"',
            f"#define {prefix}_NDIM {len(value.shape)}",
            *(f"#define {prefix}_DIM_{d} {n}" for d, n in enumerate(value.shape)),
            f"#define {prefix}_ELEMENTS {count}",
            f"#define {prefix}_BYTES {count * SIZE[value.dtype]}", ""]


def _state(name: str, state: int, draws: bool) -> list[str]:
    if not state:
        return []
    return ["/* The program's buffers, which runs write to: one for each session, set by reset",
            " * to what they held when this was made. Runs of one state follow each other. */",
            f"#define {name.upper()}_STATE_BYTES {state}", f"void {name}_reset(void *state);",
            *(["/* Begin the random numbers of flambeau.manual_seed(seed). */",
               f"void {name}_seed(void *state, uint64_t seed);"] if draws else []), ""]


def _arguments(inputs: list[Value], outputs: list[Value], state: int) -> str:
    parts = [f"const {C_TYPES[value.dtype]} *input_{k}" for k, value in enumerate(inputs)]
    parts += [f"{C_TYPES[value.dtype]} *output_{k}" for k, value in enumerate(outputs)]
    return ", ".join([*parts, *(["void *state"] if state else []), "void *arena"])


def _init(name: str, target: Target, digest: bytes, size: int, embedded: bool) -> list[str]:
    level = target.machine.cpu if target.machine.cpu.startswith("x86-64") else ""
    check = ["#if defined(__x86_64__) && defined(__GNUC__)", "    __builtin_cpu_init();",
             f'    if (!__builtin_cpu_supports("{level}")) return 1;', "#endif"] if level else []
    if embedded:
        return ["/* 0 when the code can run here; 1 when the processor lacks instructions. */",
                f"static inline int {name}_init(void) {{", *check, "    return 0;", "}"]
    numbers = ", ".join(map(str, digest))
    return [f"#define {name.upper()}_WEIGHTS_BYTES {size}", f"extern const void *{name}_weights;",
            "/* Name the weights, read or mapped from the file, before the first run: they are",
            " * used where they lie. 0; 1 when the processor lacks instructions; 2 when these are",
            " * not the weights that the code was made with. */",
            f"static inline int {name}_init(const void *weights, size_t bytes) {{",
            f"    static const unsigned char digest[{DIGEST}] = {{{numbers}}};",
            "    const unsigned char *first = (const unsigned char *)weights;", *check,
            f"    if (bytes != {size}) return 2;",
            f"    for (int i = 0; i < {DIGEST}; i++)",
            "        if (first[i] != digest[i]) return 2;",
            f"    {name}_weights = first + 64;", "    return 0;", "}"]
