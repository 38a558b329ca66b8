"""The formula language: pointwise mathematics, written once, rendered to every target."""

from .derivative import derivative, grad_formulas
from .expr import Expr, call, const, extern, param, scalar, substitute
from .lower import lower
from .parse import parse
from .program import Instr, Program
from .registry import FormulaError
from .render_c import helpers, render_function
from .render_numpy import evaluate
from .text import to_text

__all__ = [
    "Expr",
    "FormulaError",
    "Instr",
    "Program",
    "call",
    "const",
    "derivative",
    "evaluate",
    "extern",
    "grad_formulas",
    "helpers",
    "lower",
    "param",
    "parse",
    "render_function",
    "scalar",
    "substitute",
    "to_text",
]
