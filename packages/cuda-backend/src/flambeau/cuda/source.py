"""CUDA C from the operator table. Nothing here needs CuPy, a GPU or a driver.

Pointwise operators give two kernels per compute kind: ``NAME_near`` for contiguous operands of the
kind's own dtype, ``NAME_far`` for any strides and dtypes. Kernels are compiled in modules of one
group of definitions and one kind; those of ``kernels/`` in modules of one family and one dtype.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from flambeau.core.formula import helpers, lower, parse, render_function
from flambeau.core.opdefs import OPDEFS, OpDef
from flambeau.core.opdefs.derived import derived_opdefs
from flambeau.core.opdefs.literal import literal_opdefs
from flambeau.core.opdefs.make import pointwise
from flambeau.core.opdefs.opdef import FORMULA_OF_KIND
from flambeau.core.promotion import result_kind
from flambeau.cuda import kernels as programs
from flambeau.cuda.kernels.program import FLOATS
from flambeau.cuda.params import DTYPE_CODES

C_TYPES = {"f32": "float", "f64": "double", "i64": "int64_t", "bool": "bool", "c64": "fl_c64",
           "c128": "fl_c128", "u64": "int64_t"}
#: The formula of each kind; uint64 has one of its own where order and quotients are others, which
#: computes with its bits as int64.
FORMULAS = {**FORMULA_OF_KIND, "u64": "unsigned"}

#: Copies and fills: the identity in every kind.
IDENTITY = pointwise("identity(Tensor self)", "self", bool="self", doc="The operand itself.")


@dataclass(frozen=True)
class Module:
    """One unit of compilation: its text, and the type of each kernel's only argument."""

    text: str
    kernels: dict[str, str]


@cache
def _opdefs() -> dict[str, OpDef]:
    opdefs = (*OPDEFS, *derived_opdefs(OPDEFS), *literal_opdefs(OPDEFS), IDENTITY)
    return {opdef.key: opdef for opdef in opdefs}


def find_opdef(key: str) -> OpDef:
    """A definition, built in, registered at run time, or this package's own."""
    if key in _opdefs():
        return _opdefs()[key]
    from flambeau.core.register import row

    return row(key)


def group_of(key: str) -> str:
    """The group of definitions that a pointwise operator is compiled with."""
    groups = _groups()
    return groups.get(key, key)


@cache
def _groups() -> dict[str, str]:
    """Operators in groups of about thirty, derivatives apart: a module takes seconds to compile."""
    plain = [r.key for r in _opdefs().values() if r.category == "pointwise" and "__d_" not in r.key]
    derived = [key for key in _opdefs() if "__d_" in key]
    return {key: f"{name}{i // 30}" for name, keys in (("plain", plain), ("derived", derived))
            for i, key in enumerate(keys)}


def module_names() -> list[tuple[str, str]]:
    """All (group, kind) pairs of the built-in table."""
    pairs = {(group, kind) for key, group in _groups().items() for kind in FORMULAS
             if FORMULAS[kind] in _opdefs()[key].formulas}
    from flambeau.cuda import special, tiles

    return [*sorted(pairs), *special.module_names(), *tiles.module_names(),
            *programs.modules(),
            *(("random", kind) for kind in ("f32", "f64", "i64")),
            *(("dropout", dtype) for dtype in FLOATS)]


@cache
def module(group: str, kind: str) -> Module:
    """The module of a group of definitions in one compute kind.

    Args:
        group: what ``group_of`` (or that of ``special``) gives, or a group of kernels of our own.
        kind: ``f32``, ``f64``, ``i64``, ``u64``, ``bool``, ``c64`` or ``c128``; a dtype for our
            own.
    """
    ours = programs.group(group)
    if ours is not None:
        return _own_module(ours, kind)
    if group.startswith("special_"):
        from flambeau.cuda import special

        return special.module(group)
    if group.startswith("tiles_"):
        from flambeau.cuda import tiles

        return tiles.module(group, kind)
    if group.startswith("region_"):
        from flambeau.cuda import regions

        return regions.module(group)
    if group.startswith("update_"):
        from flambeau.cuda.kernels import updates

        return updates.module(group, kind)
    if group.startswith("rows_of_"):
        from flambeau.cuda import compiled_rows

        return compiled_rows.module(group)
    if group in ("random", "dropout"):
        from flambeau.cuda import draws

        return (draws.module if group == "random" else draws.dropout_module)(kind)
    keys = [key for key, name in _groups().items() if name == group] or [group]
    opdefs = [opdef for opdef in map(find_opdef, keys) if FORMULAS[kind] in opdef.formulas]
    kernels = {f"{kernel_name(opdef, kind)}_{where}": f"fl_call<{_width(opdef)}>"
               for opdef in opdefs for where in ("near", "far")}
    text = "\n".join([prelude(), *(pointwise_source(opdef, kind) for opdef in opdefs)])
    return Module(text, kernels)


def prelude() -> str:
    """The shared head of every module."""
    return helpers("cuda") + file("native/arguments.h") + file("memory.cuh")


@cache
def file(name: str) -> str:
    """A text of this package."""
    return resources.files(__package__).joinpath(name).read_text()


def kernel_name(opdef: OpDef, kind: str) -> str:
    return f"k_{opdef.symbol}_{kind}"


def _formula(opdef: OpDef, kind: str):
    operands, scalars = _kinds(opdef, kind)
    return parse(opdef.formulas[FORMULAS[kind]], list(operands), list(scalars))


def _computed(kind: str) -> str:
    return "i64" if kind == "u64" else kind


def _width(opdef: OpDef) -> int:
    return len(opdef.params) + len(opdef.outputs)


def pointwise_source(opdef: OpDef, kind: str) -> str:
    """The formula as a device function and the two kernels around it."""
    operands, scalars = _kinds(opdef, kind)
    result = result_kind(opdef, kind)
    kernels = [_kernel(opdef, kind, operands | scalars, result, near) for near in (True, False)]
    return "\n".join([function_source(opdef, kind), *kernels])


def function_source(opdef: OpDef, kind: str) -> str:
    """The formula as a device function, ``f_`` and the kernel's name."""
    operands, scalars = _kinds(opdef, kind)
    result = _computed(result_kind(opdef, kind))
    return render_function(f"f_{kernel_name(opdef, kind)}", _formula(opdef, kind), operands,
                           scalars, _computed(kind), [result] * len(opdef.outputs))


#: Bytes that a thread loads at once, the most elements these may be, and the longest formula of
#: which a thread computes several: a longer one is not waiting for memory.
_PACK_BYTES, _PACK_ELEMENTS, _PACKED_FORMULA = 16, 8, 24
_BYTES = {"f32": 4, "f64": 8, "i64": 8, "u64": 8, "bool": 1, "c64": 8, "c128": 16}


@cache
def pack_width(key: str, kind: str) -> int:
    """How many elements a thread of an operator's near kernel takes at once.

    Args:
        key: of the definition.
        kind: the compute kind.
    """
    opdef = find_opdef(key)
    operands, scalars = _kinds(opdef, kind)
    program = lower(_formula(opdef, kind), _computed(kind), operands | scalars)
    if len(program.instrs) > _PACKED_FORMULA:
        return 1
    return min(_PACK_BYTES // _BYTES[kind], _PACK_ELEMENTS)


def _kinds(opdef: OpDef, kind: str) -> tuple[dict[str, str], dict[str, str]]:
    """The kinds of operands and of scalars, by name."""
    masks, kind = {p.name for p in opdef.operands if p.role == "Mask"}, _computed(kind)
    return ({p.name: "b" if p.name in masks else kind for p in opdef.operands},
            {p.name: kind for p in opdef.scalars})


def _kernel(opdef: OpDef, kind: str, kinds: dict[str, str], result: str, near: bool) -> str:
    """A grid-stride loop: load the operands, call the formula, store the outputs."""
    name, names, outs = kernel_name(opdef, kind), list(kinds), range(len(opdef.outputs))
    types = {n: "bool" if k == "b" else C_TYPES[k] for n, k in kinds.items()}
    indices = {p.name: i for i, p in enumerate(opdef.params)}
    body = _near_body if near else _far_body
    head = (f'extern "C" __global__ void {name}_{"near" if near else "far"}'
            f"(const fl_call<{_width(opdef)}> c) {{")
    own = [(n, t, indices[n]) for n, t in types.items()]
    targets = [(f"out{k}", C_TYPES[result], len(indices) + k) for k in outs]
    width = pack_width(opdef.key, kind) if near else 1
    return "\n".join([head, *body(f"f_{name}", names, own, targets, width), "}"])


def _far_body(function: str, names, operands, outs, width: int) -> list[str]:
    loads = [f"const {t} {n} = fl_get<{t}>(c, {k}, i);" for n, t, k in operands]
    stores = [f"fl_put<{t}>(c, {k}, i, {n});" for n, t, k in outs]
    declared = [f"{t} {n};" for n, t, _ in outs]
    call = call_lines(function, names, [n for n, _, _ in outs])
    loop = "    for (int64_t i = FL_THREAD; i < c.numel; i += FL_THREADS) {"
    return [loop, *(f"        {line}" for line in [*loads, *declared, *call, *stores]), "    }"]


def _near_body(function: str, names, operands, outs, width: int) -> list[str]:
    """Packs of elements; a count of turns would cost a division of 64 bits, hence no unrolling."""
    aligned = " && ".join(f"fl_is_aligned<{t}, {width}>(c, {k})" for _, t, k in [*operands, *outs])
    loads = [f"const fl_pack<{t}, {width}> p_{n} = fl_get_pack<{t}, {width}>(c, {k}, g, whole);"
             for n, t, k in operands]
    declared = [f"fl_pack<{t}, {width}> p_{n};" for n, t, _ in outs]
    call = call_lines(function, [f"p_{n}.v[v]" for n in names], [f"p_{n}.v[v]" for n, _, _ in outs])
    stores = [f"fl_put_pack<{t}, {width}>(c, {k}, g, whole, p_{n});" for n, t, k in outs]
    lines = [*loads, *declared, "#pragma unroll", f"for (int v = 0; v < {width}; v++) {{",
             *(f"    {line}" for line in call), "}", *stores]
    return pack_loop(aligned, width, lines)


def pack_loop(aligned: str, width: int, lines: list[str]) -> list[str]:
    """A loop over packs ``g`` of ``width`` elements, which may be ``whole``."""
    return [f"    const bool aligned = {aligned};", "#pragma unroll 1",
            f"    for (int64_t g = FL_THREAD; g * {width} < c.numel; g += FL_THREADS) {{",
            f"        const bool whole = aligned && (g + 1) * {width} <= c.numel;",
            *(line if line[0] == "#" else f"        {line}" for line in lines), "    }"]


def call_lines(function: str, arguments: list[str], targets: list[str]) -> list[str]:
    """The formula, or its slow part for rare arguments."""
    given = ", ".join(arguments)
    rare = f"{function}_has_rare && {function}_rare({given})"
    if len(targets) == 1:
        return [f"{targets[0]} = {rare} ? {function}_slow({given}) : {function}({given});"]
    given += "".join(f", &{target}" for target in targets)
    return [f"if ({rare}) {function}_slow({given}); else {function}({given});"]


def _own_module(group: programs.Group, dtype: str) -> Module:
    """Kernels of our own, for one dtype."""
    code, parts, names = str(DTYPE_CODES[dtype]), [prelude(), file("native/packet.h")], {}
    parts += [file(f"kernels/{name}") for name in ("packet.cuh", *group.files)]
    for kernel, body in group.kernels.items():
        name = programs.kernel_name(kernel, dtype)
        names[name] = f"fl_packet<{group.views}>"
        parts.append(f'extern "C" __global__ void {name}(const {names[name]} c) '
                     f"{{ {body.replace('{D}', code)}; }}")
    return Module("\n".join(parts), names)
