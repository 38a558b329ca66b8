"""The formula language: pointwise mathematics, written once, rendered to every target."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .expr import Expr, call, const, extern, param, scalar, substitute
from .lower import lower
from .parse import parse
from .program import Instr, Program
from .registry import FormulaError
from .text import to_text

if TYPE_CHECKING:   # what code generators use, and nobody who only computes
    from .derivative import grad_formulas
    from .render_c import helpers, render_function, render_program
    from .render_numpy import evaluate

_HOMES = {"grad_formulas": "derivative", "helpers": "render_c", "render_function": "render_c",
          "render_program": "render_c",
          "evaluate": "render_numpy"}


def __getattr__(name: str) -> Any:
    """Import a code generator when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "Expr",
    "FormulaError",
    "Instr",
    "Program",
    "call",
    "const",
    "evaluate",
    "extern",
    "grad_formulas",
    "helpers",
    "lower",
    "param",
    "parse",
    "render_function",
    "render_program",
    "scalar",
    "substitute",
    "to_text",
]
