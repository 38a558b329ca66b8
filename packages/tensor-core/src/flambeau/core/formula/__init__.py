"""The formula language: pointwise mathematics, written once, rendered to every target."""

from .expr import Expr, call, const, extern, param, scalar, substitute
from .lower import lower
from .parse import parse
from .program import Instr, Program
from .registry import FormulaError
from .render_c import helpers, render_function

__all__ = [
    "Expr",
    "FormulaError",
    "Instr",
    "Program",
    "call",
    "const",
    "extern",
    "helpers",
    "lower",
    "param",
    "parse",
    "render_function",
    "scalar",
    "substitute",
]
