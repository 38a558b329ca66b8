"""Expressions back to text that ``parse`` reads."""

from __future__ import annotations

from .expr import Expr, postorder

_INFIX = {
    "add": ("+", 5),
    "sub": ("-", 5),
    "mul": ("*", 6),
    "div": ("/", 6),
    "floordiv": ("//", 6),
    "mod": ("%", 6),
    "shl": ("<<", 4),
    "shr": (">>", 4),
    "and": ("&", 3),
    "xor": ("^", 2),
    "or": ("|", 1),
    "lt": ("<", 0),
    "le": ("<=", 0),
    "gt": (">", 0),
    "ge": (">=", 0),
    "eq": ("==", 0),
    "ne": ("!=", 0),
}
_PREFIX = {"neg": ("-", 7), "not": ("~", 7)}
_ATOM = 9


def to_text(expr: Expr) -> str:
    """The expression in the language's syntax; shared parts are written out each time.

    Example:
        >>> from flambeau.core.formula import parse, to_text
        >>> to_text(*parse("(a + 1) * exp(-a)", ["a"]))
        '(a + 1) * exp(-a)'
    """
    texts: dict[Expr, tuple[str, int]] = {}
    for node in postorder([expr]):
        texts[node] = _node(node, [texts[arg] for arg in node.args])
    return texts[expr][0]


def _node(node: Expr, args: list[tuple[str, int]]) -> tuple[str, int]:
    if not node.args:
        text = str(node.value)
        return text, 7 if text.startswith("-") else _ATOM
    if node.op in _PREFIX:
        symbol, rank = _PREFIX[node.op]
        return f"{symbol}{_inside(args[0], rank)}", rank
    if node.op in _INFIX:
        symbol, rank = _INFIX[node.op]
        left = _inside(args[0], rank + (rank == 0))
        return f"{left} {symbol} {_inside(args[1], rank + 1)}", rank
    name = str(node.value) if node.op == "extern" else node.op
    return f"{name}({', '.join(text for text, _ in args)})", _ATOM


def _inside(part: tuple[str, int], rank: int) -> str:
    text, own = part
    return text if own >= rank else f"({text})"
