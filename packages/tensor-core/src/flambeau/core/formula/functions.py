"""Every function name a formula may call: primitives, complex parts and the prelude."""

from __future__ import annotations

from .prelude import ARITIES
from .primitives import PRIMITIVES

ALIASES = {
    "where": "select",
    "min": "minimum",
    "max": "maximum",
    "float32": "f32",
    "float64": "f64",
    "int64": "i64",
    "round": "rint",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "absolute": "abs",
    "floor_div": "floordiv",
    "trunc_div": "truncdiv",
    "remainder": "mod",
}

COMPLEX_PARTS = {"complex": 2, "real": 1, "imag": 1, "conj": 1}

PRELUDE = frozenset(ARITIES)

ARITY: dict[str, int] = {
    **ARITIES,
    **COMPLEX_PARTS,
    **{name: len(primitive.args) for name, primitive in PRIMITIVES.items()},
}

__all__ = ["ALIASES", "ARITY", "COMPLEX_PARTS", "PRELUDE"]
