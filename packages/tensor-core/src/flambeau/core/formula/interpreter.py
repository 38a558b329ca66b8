"""C++ source of the bytecode interpreter and of its loops, generated from the opcode table.

The texts need ``helpers('c++')`` and a union ``fl_scalar`` with members ``double f``,
``int64_t i`` and ``double c[2]`` before them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from importlib import resources

from .bytecode import FIRST_OPCODE, MAGIC, MAX_REGISTERS, NEVER
from .opcodes import ARGUMENTS, Opcode, opcodes
from .render_c import render_function

#: Of a register: those of a long formula and the operands' tiles fit the first cache.
TILE_BYTES = 1024

#: Operands, constants and temporaries with which twice as much fits it, too.
SMALL_REGISTERS = 20

_MEMORY = {
    "f32": "float",
    "f64": "double",
    "i32": "int32_t",
    "i64": "int64_t",
    "b": "uint8_t",
}


def bytecode_loops_source(kernels: Container[tuple[str, str]] = ()) -> str:
    """The loop of each opcode, but for those that are kernels of their own."""
    loops = (_loop(number, opcode) for number, (key, opcode) in enumerate(opcodes().items())
             if key not in kernels)
    return _text("loops.h") + "".join(loops)


def bytecode_interpreter_source(
    name: str, streams: str, kernels: Mapping[tuple[str, str], str] | None = None
) -> str:
    """The interpreter: a function ``name(code, in, out, scalars, n)`` over packed bytecode.

    It calls the loops of ``bytecode_loops_source``.
    ``streams`` names another one, for operands that do not lie in a cache. ``in`` and ``out`` are
    contiguous arrays; an output may be the memory of an input of the same element size.
    ``kernels`` names functions that do what an opcode does, by its operation and type, which are
    called instead of being compiled again and have the arguments of the interpreter.
    """
    constants = {
        "FL_BC_BYTES": TILE_BYTES,
        "FL_BC_SMALL_REGISTERS": SMALL_REGISTERS,
        "FL_BC_MAGIC": MAGIC,
        "FL_BC_FIRST": FIRST_OPCODE,
        "FL_BC_NEVER": NEVER,
        "FL_BC_REGISTERS": MAX_REGISTERS,
        "FL_BC_NAME": name,
        "FL_BC_STREAMS": streams,
    }
    defines = "".join(f"#define {key} {value}\n" for key, value in constants.items())
    table = opcodes()
    declared = "".join(
        _declaration(number, opcode, (kernels or {}).get(key))
        for number, (key, opcode) in enumerate(table.items())
    )
    cases = "".join(f"    FL_BC_CASE({number})\n" for number in range(len(table)))
    text = _text("interpreter.h")
    return defines + text.replace("/* OPCODES */\n", declared).replace("/* CASES */\n", cases)


def _text(name: str) -> str:
    return resources.files(__package__).joinpath("include", name).read_text()


def _declaration(number: int, opcode: Opcode, kernel: str | None) -> str:
    if kernel:
        return f"FL_BC_CALL({number}, {len(opcode.args)}, {kernel})\n"
    return f"FL_BC_ELSEWHERE({number})\n"


def _loop(number: int, opcode: Opcode) -> str:
    title = f"/* {opcode.op} {opcode.type} */\n"
    kinds = dict(zip(ARGUMENTS, opcode.args, strict=False))
    kinds = {name: "bool" if kind == "b" else kind for name, kind in kinds.items()}
    compute = "f64" if opcode.type in ("f64", "i64") else "f32"
    text = render_function(f"fl_bc_{number}", [opcode.expr], kinds, (), compute)
    types = ", ".join(_MEMORY[t] for t in (opcode.result, *opcode.args))
    loop = f"FL_BC_LOOP{len(opcode.args)}({number}, {types})"
    return f"{title}{text}{loop}\n"
