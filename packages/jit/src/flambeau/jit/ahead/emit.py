"""A unit as an object file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from flambeau.jit.ahead.unit import Place, Unit
from flambeau.jit.errors import ProgramError
from flambeau.jit.llvm.machine import Machine, machine


@dataclass(frozen=True)
class Target:
    """What code is made for.

    Args:
        name: what the caller said.
        triple: LLVM's name of the system; empty: this one.
        machine: the processor.
        features: instructions beyond those that the processor's name implies, as LLVM lists them.
        reloc: how code finds its data: ``pic``, or ``static`` where modules lie at fixed addresses.
    """

    name: str
    triple: str
    machine: Machine
    features: str = ""
    reloc: str = "pic"


_X86, _ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
TARGETS = {
    "x86-64-v3": Target("x86-64-v3", _X86, Machine("x86-64-v3", True, 256)),
    "x86-64-v4": Target("x86-64-v4", _X86, Machine("x86-64-v4", True, 512)),
    "aarch64": Target("aarch64", _ARM, Machine("generic", True, 128)),
    # Every browser since 2023. Memory is copied by an instruction, so that no C library is needed.
    "wasm32": Target("wasm32", "wasm32-unknown-unknown", Machine("generic", False, 128),
                     "+simd128,+bulk-memory", "static"),
}


def target_of(name: str) -> Target:
    """The target of a name.

    Raises:
        ValueError: it is none.
        ProgramError: this processor has no fused multiply-add.
    """
    if name != "native":
        if name not in TARGETS:
            raise ValueError(f"aot(): target={name!r}; it is one of "
                             f"{', '.join(map(repr, TARGETS))} and 'native'")
        return TARGETS[name]
    if not machine().has_fma:
        raise ProgramError("aot(): this processor has no fused multiply-add; name another target, "
                           "such as target='x86-64-v3'")
    return Target(name, "", machine())


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def object_file(unit: Unit, target: Target, name: str, weights: str) -> bytes:
    """Machine code, and the weights where they are embedded.

    Args:
        unit: the steps, whose buffers have their offsets.
        target: what it is made for.
        name: of the functions.
        weights: ``embedded`` or ``file``.
    """
    llvm = _llvm()
    triple = target.triple or llvm.get_default_triple()
    module = llvm.parse_assembly(_driver(unit, name, weights))
    for text, number in unit.texts.items():
        module.link_in(_parsed(llvm, text, number))
    for number in range(len(unit.texts)):
        module.get_function(f"step{number}").linkage = "internal"
    module.triple = triple
    made = llvm.Target.from_triple(triple).create_target_machine(
        cpu=unit.machine.cpu, features=target.features, opt=2, reloc=target.reloc,
        codemodel="small")
    module.data_layout = str(made.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.loop_interleaving = True
    options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(made, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(made.emit_object(module))


def _parsed(llvm: Any, text: str, number: int) -> Any:
    return llvm.parse_assembly(text.replace("@entry(", f"@step{number}("))


def _driver(unit: Unit, name: str, weights: str) -> str:
    """``NAME_run``: the status cleared, the steps, the status."""
    kinds = {(place.buffer.kind, place.buffer.number): place for step in unit.steps
             for place in step.operands}
    inputs = [f"ptr noalias %input{k}" for k in range(unit.inputs)]
    outputs = [f"ptr noalias %output{k}" for k in range(unit.outputs)]
    body = ["  store i32 0, ptr %arena, align 4"]
    uses_weights = ("weights", 0) in kinds
    if uses_weights and weights == "file":
        body.append(f"  %weights = load ptr, ptr @{name}_weights")
    for number, step in enumerate(unit.steps):
        args = []
        for k, place in enumerate(step.operands):
            pointer = f"%p{number}.{k}"
            base, offset = _base(place, name, weights)
            body.append(f"  {pointer} = getelementptr i8, ptr {base}, i64 {offset}")
            args.append(f"ptr {pointer}")
        body.append(f"  call void @step{step.function}({', '.join(args)})")
    body += ["  %status = load i32, ptr %arena, align 4", "  ret i32 %status"]
    state = ["ptr noalias %state"] if unit.state else []
    arguments = ", ".join([*inputs, *outputs, *state, "ptr noalias %arena"])
    lines = [f"declare void @step{number}({', '.join(['ptr'] * _arity(unit, number))})"
             for number in range(len(unit.texts))]
    return "\n".join([*_globals(unit, name, weights), *lines,
                      f"define i32 @{name}_run({arguments}) {{", *body, "}",
                      *(_reset(unit, name, weights) if unit.state else [])])


def _reset(unit: Unit, name: str, weights: str) -> list[str]:
    """``NAME_reset``: state as it was when the program was compiled; ``NAME_seed``."""
    copy = "void @llvm.memcpy.p0.p0.i64"
    base = f"@{name}_weights" if weights == "embedded" else "%weights"
    load = [] if weights == "embedded" else [f"  %weights = load ptr, ptr @{name}_weights"]
    body = []
    for number, (buffer, image) in enumerate(unit.state):
        body += [f"  %to{number} = getelementptr i8, ptr %state, i64 {buffer.offset}",
                 f"  %from{number} = getelementptr i8, ptr {base}, i64 {image.start}",
                 f"  call {copy}(ptr %to{number}, ptr %from{number}, i64 {buffer.bytes}, i1 false)"]
    seed = [] if unit.stream is None else [
        f"define void @{name}_seed(ptr %state, i64 %seed) {{",
        f"  %stream = getelementptr i8, ptr %state, i64 {unit.stream.buffer.offset}",
        "  store i64 %seed, ptr %stream, align 8",
        "  %blocks = getelementptr i8, ptr %stream, i64 8",
        "  store i64 0, ptr %blocks, align 8", "  ret void", "}"]
    return [*seed, f"declare {copy}(ptr, ptr, i64, i1)",
            f"define void @{name}_reset(ptr %state) {{", *load, *body, "  ret void", "}"]


def _arity(unit: Unit, number: int) -> int:
    return len(next(step for step in unit.steps if step.function == number).operands)


def _base(place: Place, name: str, weights: str) -> tuple[str, int]:
    buffer = place.buffer
    if buffer.kind in ("arena", "state"):
        return f"%{buffer.kind}", buffer.offset + place.start
    if buffer.kind == "weights":
        return (f"@{name}_weights" if weights == "embedded" else "%weights"), place.start
    return f"%{buffer.kind}{buffer.number}", place.start


def _globals(unit: Unit, name: str, weights: str) -> list[str]:
    if weights == "file":
        return [f"@{name}_weights = global ptr null"]
    data = "".join(f"\\{byte:02X}" for byte in unit.weights) or "\\00"
    size = max(len(unit.weights), 1)
    return [f'@{name}_weights = internal constant [{size} x i8] c"{data}", align 64']
