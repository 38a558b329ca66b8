"""CUDA C from the operator table. Nothing here needs CuPy, a GPU or a driver.

Pointwise operators give two kernels per compute kind: ``NAME_near`` for contiguous operands of the
kind's own dtype, ``NAME_far`` for any strides and dtypes. Kernels are compiled in modules of one
group of definitions and one kind; those of ``kernels/`` in modules of one family and one dtype.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from flambeau.core.formula import helpers, parse, render_function
from flambeau.core.opdefs import OPDEFS, OpDef
from flambeau.core.opdefs.derived import derived_opdefs
from flambeau.core.opdefs.literal import literal_opdefs
from flambeau.core.opdefs.make import pointwise
from flambeau.core.opdefs.opdef import FORMULA_OF_KIND, KINDS
from flambeau.core.promotion import result_kind
from flambeau.cuda import kernels as programs
from flambeau.cuda.params import DTYPE_CODES

C_TYPES = {"f32": "float", "f64": "double", "i64": "int64_t", "bool": "bool", "c64": "fl_c64",
           "c128": "fl_c128"}

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
    pairs = {(group, kind) for key, group in _groups().items() for kind in KINDS
             if FORMULA_OF_KIND[kind] in _opdefs()[key].formulas}
    from flambeau.cuda import special, tiles

    return [*sorted(pairs), *special.module_names(), *tiles.module_names(),
            *programs.modules(),
            *(("random", kind) for kind in ("f32", "f64", "i64"))]


@cache
def module(group: str, kind: str) -> Module:
    """The module of a group of definitions in one compute kind.

    Args:
        group: what ``group_of`` (or that of ``special``) gives, or a group of kernels of our own.
        kind: ``f32``, ``f64``, ``i64``, ``bool``, ``c64`` or ``c128``; a dtype for our own.
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
    if group == "random":
        from flambeau.cuda import draws

        return draws.module(kind)
    keys = [key for key, name in _groups().items() if name == group] or [group]
    opdefs = [opdef for opdef in map(find_opdef, keys) if FORMULA_OF_KIND[kind] in opdef.formulas]
    kernels = {f"{kernel_name(opdef, kind)}_{where}": f"fl_call<{_width(opdef)}>"
               for opdef in opdefs for where in ("near", "far")}
    text = "\n".join([prelude(), *(pointwise_source(opdef, kind) for opdef in opdefs)])
    return Module(text, kernels)


def prelude() -> str:
    """The shared head of every module."""
    return helpers("cuda") + _file("native/arguments.h") + _file("memory.cuh")


@cache
def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text()


def kernel_name(opdef: OpDef, kind: str) -> str:
    return f"k_{opdef.symbol}_{kind}"


def _width(opdef: OpDef) -> int:
    return len(opdef.params) + len(opdef.outputs)


def pointwise_source(opdef: OpDef, kind: str) -> str:
    """The formula as a device function and the two kernels around it."""
    name, masks = kernel_name(opdef, kind), {p.name for p in opdef.operands if p.role == "Mask"}
    operands = {p.name: "b" if p.name in masks else kind for p in opdef.operands}
    scalars = {p.name: kind for p in opdef.scalars}
    formula = parse(opdef.formulas[FORMULA_OF_KIND[kind]], list(operands), list(scalars))
    result = result_kind(opdef, kind)
    function = render_function(f"f_{name}", formula, operands, scalars, kind,
                               [result] * len(opdef.outputs))
    kernels = [_kernel(opdef, kind, operands | scalars, result, near) for near in (True, False)]
    return "\n".join([function, *kernels])


def _kernel(opdef: OpDef, kind: str, kinds: dict[str, str], result: str, near: bool) -> str:
    """A grid-stride loop: load the operands, call the formula, store the outputs."""
    name, suffix = kernel_name(opdef, kind), "_near" if near else ""
    indices = {p.name: i for i, p in enumerate(opdef.params)}
    types = {n: "bool" if k == "b" else C_TYPES[k] for n, k in kinds.items()}
    loads = [f"const {t} {n} = fl_get{suffix}<{t}>(c, {indices[n]}, i);" for n, t in types.items()]
    names, outs = list(kinds), range(len(opdef.outputs))
    arguments = ", ".join(names)
    targets = "".join(f", &out{k}" for k in outs) if len(outs) > 1 else ""
    value = f"f_{name}"
    rare = f"{value}_has_rare && {value}_rare({arguments})"
    call = [f"{value}{{}}({arguments}{targets})".format(part) for part in ("_slow", "")]
    if len(outs) == 1:
        body = [f"const {C_TYPES[result]} out0 = {rare} ? {call[0]} : {call[1]};"]
    else:
        body = [f"{C_TYPES[result]} {', '.join(f'out{k}' for k in outs)};",
                f"if ({rare}) {call[0]}; else {call[1]};"]
    put = f"fl_put{suffix}<{C_TYPES[result]}>"
    stores = [f"{put}(c, {len(indices) + k}, i, out{k});" for k in outs]
    lines = "\n".join(f"        {line}" for line in [*loads, *body, *stores])
    loop = "for (int64_t i = FL_THREAD; i < c.numel; i += FL_THREADS)"
    return (f'extern "C" __global__ void {name}_{"near" if near else "far"}'
            f"(const fl_call<{_width(opdef)}> c) {{\n    {loop} {{\n{lines}\n    }}\n}}")


def _own_module(group: programs.Group, dtype: str) -> Module:
    """Kernels of our own, for one dtype."""
    code, parts, names = str(DTYPE_CODES[dtype]), [prelude(), _file("native/packet.h")], {}
    parts += [_file(f"kernels/{name}") for name in ("packet.cuh", *group.files)]
    for kernel, body in group.kernels.items():
        name = programs.kernel_name(kernel, dtype)
        names[name] = f"fl_packet<{group.views}>"
        parts.append(f'extern "C" __global__ void {name}(const {names[name]} c) '
                     f"{{ {body.replace('{D}', code)}; }}")
    return Module("\n".join(parts), names)
