"""Adding operators at run time.

A registered operator is the same thing as a built-in one: a function, in-place and ``out=`` rules,
promotion, broadcasting, tracing and derivatives of any order. Its formula runs as bytecode over
cache-sized tiles, one pass over memory, without a compiler.
"""
from __future__ import annotations

from functools import cache

from flambeau.core import _core
from flambeau.core.formula import parse
from flambeau.core.formula.bytecode import assemble
from flambeau.core.formula.registry import FormulaError
from flambeau.core.once import first_use
from flambeau.core.opdefs import OPDEFS, OpDef, Param
from flambeau.core.opdefs.derived import derived_opdef
from flambeau.core.opdefs.make import pointwise
from flambeau.core.opdefs.opdef import DTYPE_RULES, FORMULA_OF_KIND, KINDS, ROLES

_REAL = {"c64": "f32", "c128": "f64"}
_registered: dict[str, OpDef] = {}


def register_op(schema: str, formula: str | None = None, **facts):
    """Add a pointwise operator.

    Args:
        schema: ``"name(Operand a, Tensor(!) b, *, Scalar c=1) -> Tensor"``; operands marked
            ``(!)`` are written to, one output each, in order.
        formula: The formula for every numeric kind of operand it is defined for; several outputs
            are separated by commas.
        facts: Formulas by kind (``float=``, ``int=``, ``bool=``, ``complex=``), ``rule=`` (how the
            dtype follows), ``doc=``, ``differentiable=``.

    Returns:
        The operator, callable as a function.

    Raises:
        ValueError: the schema or a formula cannot be read, or the name is taken.

    Example:
        >>> import flambeau
        >>> from flambeau.core import register_op
        >>> axpy = register_op("doc_axpy(Operand x, Operand y, *, Scalar a=1)", "a * x + y")
        >>> axpy(flambeau.ones(2), flambeau.ones(2), a=3)
        tensor([4., 4.])
    """
    if formula is not None:
        facts = {**_defined_kinds(schema, formula), **facts}
    return register_opdef(pointwise(schema, **facts))


def _defined_kinds(schema: str, formula: str) -> dict[str, str]:
    """The formula for floats, and for integers and complex numbers where it is defined there."""
    kinds = {"float": formula}
    for name, kind in (("int", "i64"), ("complex", "c64")):
        try:
            _code(pointwise(schema, **{name: formula}), kind)
        except FormulaError:
            continue
        kinds[name] = formula
    return kinds


def register_opdef(opdef: OpDef):
    """Add a definition; what ``register_op`` does after reading the schema."""
    with first_use:
        return _added(opdef)


def _added(opdef: OpDef):
    if opdef.key in _core.op_keys():
        raise ValueError(f"an operator '{opdef.key}' is already in the table; choose another name")
    names = [p.name for p in opdef.params]
    codes = [_code(opdef, kind) for kind in KINDS]
    results = [KINDS.index(_result_kind(opdef, kind)) for kind in KINDS]
    writes = [i for i, p in enumerate(opdef.operands) if p.writes]
    _registered[opdef.key] = opdef      # before threads can find the operator and ask for it
    return _core._register(
        opdef.name, opdef.overload, opdef.doc, DTYPE_RULES.index(opdef.rule),
        int(opdef.differentiable),
        [_param(p) for p in opdef.params], [names.index(p.name) for p in opdef.operands],
        [int(p.role == "Mask") for p in opdef.operands],
        [names.index(p.name) for p in opdef.scalars],
        codes, results, writes or [255] * len(opdef.outputs), len(opdef.outputs))


def _param(p) -> tuple:
    flags = p.optional + 2 * p.keyword + 4 * p.has_default
    return p.name, ROLES[p.role], flags, p.default if p.has_default else None


def _result_kind(opdef: OpDef, kind: str) -> str:
    if opdef.rule == "bool":
        return "bool"
    return _REAL.get(kind, kind) if opdef.rule == "real" else kind


def _code(opdef: OpDef, kind: str) -> bytes | None:
    text = opdef.formulas.get(FORMULA_OF_KIND[kind])
    if text is None:
        return None
    params = {p.name: "b" if p.role == "Mask" else kind for p in opdef.operands}
    scalars = {p.name: kind for p in opdef.scalars}
    exprs = parse(text, list(params), list(scalars))
    if len(exprs) != len(opdef.outputs):
        raise ValueError(f"register_op: {opdef.key} has {len(opdef.outputs)} outputs but its "
                         f"gives {len(exprs)}: {text!r}")
    result = _result_kind(opdef, kind)
    return assemble(exprs, params, scalars, kind, [result] * len(exprs)).pack()


@cache
def _built_in(key: str) -> OpDef | None:
    """A definition, or the one derived definition that is asked for."""
    base, _, param = key.rpartition("__d_")
    for opdef in OPDEFS:
        if opdef.key == key:
            return opdef
        if opdef.symbol == base and opdef.derive:
            return derived_opdef(opdef, param)
    return None


def row(key: str) -> OpDef:
    """The definition with this key, built in or registered at run time.

    Raises:
        KeyError: there is none.
    """
    found = _registered.get(key) or _built_in(key)
    if found is None:
        raise KeyError(f"no operator {key!r} in the table")
    return found


@cache
def definition(key: str) -> OpDef:
    """The definition of an operator, also of one that a compiled package added.

    Those come through the interface, which knows categories and parameters: all else is as usual
    for the category.

    Args:
        key: the operator, ``name`` or ``name.overload``.

    Raises:
        KeyError: there is none.

    Example:
        >>> definition("conv2d").batching, definition("exp").jvp
        ('rule', 'elementwise')
    """
    try:
        return row(key)
    except KeyError:
        op = _core.find_op(key)
    names = {number: role for role, number in reversed(ROLES.items())}
    params = tuple(Param(name, names[role])
                   for name, role in zip(op.params, op._roles, strict=True))
    return OpDef(op.name, key[len(op.name) + 1:], params, ("result",) * op.nouts, op.category,
                 rule=op.dtype_rule, differentiable=op.differentiable)
