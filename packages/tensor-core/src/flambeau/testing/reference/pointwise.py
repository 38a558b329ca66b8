"""Pointwise definitions on NumPy arrays: their formulas, evaluated."""
from __future__ import annotations

from functools import cache

import numpy as np

from flambeau.core import _core
from flambeau.core.formula import evaluate, parse
from flambeau.core.opdefs.opdef import FORMULA_OF_KIND
from flambeau.core.promotion import compute_kind, is_unsigned, result_kind
from flambeau.core.register import row as find_opdef
from flambeau.testing import arrays

#: The array dtype of each kind.
DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "bool": np.bool_,
          "c64": np.complex64, "c128": np.complex128}


def run_pointwise(op, args, outs):
    """Compute a pointwise definition."""
    opdef = find_opdef(op.key)
    values = dict(zip(op.params, args, strict=True))
    unsigned = is_unsigned(opdef, values)
    kind = "i64" if unsigned else compute_kind(opdef, values)
    if kind is None:
        return NotImplemented
    masks = {p.name: "b" for p in opdef.operands if p.role == "Mask"}
    env = {name: operand(value, "bool" if name in masks else kind)
           for name, value in values.items()}
    results = [result_kind(opdef, kind)] * len(opdef.outputs)
    formula = _parsed(op.key, "unsigned" if unsigned else FORMULA_OF_KIND[kind])
    computed = evaluate(formula, env, kind, masks, results)
    for out, result in zip(outs, computed, strict=True):
        arrays.store(out, np.broadcast_to(result, tuple(out.shape)))
    return None


def operand(value, kind: str) -> np.ndarray:
    """A tensor or number as an array of a kind."""
    array = arrays.load(value) if _core.is_tensor(value) else np.asarray(value)
    with np.errstate(all="ignore"):
        return arrays.cast(array, DTYPES[kind])


@cache
def _parsed(key: str, formula: str):
    opdef = find_opdef(key)
    return parse(opdef.formulas[formula], [p.name for p in opdef.operands],
                 [p.name for p in opdef.scalars])
