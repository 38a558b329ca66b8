"""A graph as text, or as a picture made by Graphviz."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flambeau.autograd._engine import AccumulateGrad, Node, record_of
from flambeau.core import Tensor

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["draw"]

_LIMIT = 2000  # nodes; a larger graph is no picture any more


def draw(outputs: Tensor | Iterable[Tensor], params: Mapping[str, Tensor] | None = None, *,
         file: str | Path | None = None) -> str:
    """Show the graph behind a tensor: nodes, what they save, and the leaves with their names.

    Args:
        outputs: the tensor, or several.
        params: names of leaves, such as ``dict(model.named_parameters())``.
        file: write it there as well: ``.svg``, ``.png`` or ``.pdf`` (made by Graphviz's program
            ``dot``), ``.dot`` (its input) or any other name (the text).

    Returns:
        The graph as text, one node a line, indented below the node it feeds; a node that several
        others use is written once.

    Raises:
        RuntimeError: a picture is wanted and there is no ``dot``, or nothing requires grad.

    Example:
        >>> import flambeau
        >>> w = flambeau.ones(2, requires_grad=True)
        >>> print(flambeau.autograd.graph.draw((w * w).exp(), {"w": w}))
        ExpBackward0  saves 8 bytes: [2] float32
          MulBackward0  saves 16 bytes: [2] float32, [2] float32
            w  [2] float32
            w  [2] float32
    """
    roots = [record_of(t) for t in ([outputs] if isinstance(outputs, Tensor) else outputs)]
    names = {id(tensor): name for name, tensor in (params or {}).items()}
    text = "\n".join(_lines(roots, names))
    if file is not None:
        from pathlib import Path

        _write(Path(file), roots, names, text)
    return text


def _label(node: Any, names: Mapping[int, str]) -> str:
    """One node in words."""
    if isinstance(node, AccumulateGrad):
        leaf = node.variable
        if leaf is None:
            return "a leaf that is gone"
        name = names.get(id(leaf), "leaf")
        return f"{name}  {list(leaf.shape)} {_short(leaf.dtype)}"
    saved = node._saved_shapes
    if not saved:
        return node.name()
    parts = ["taken by a hook" if shape == "packed" else f"{list(shape)} {_short(dtype)}"
             for shape, dtype in saved]
    return f"{node.name()}  saves {node._saved_bytes():,} bytes: {', '.join(parts)}"


def _short(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _inputs(node: Any) -> list[Any]:
    return [inner for inner, _ in node.next_functions if inner is not None]


def _lines(roots: list[Any], names: Mapping[int, str]) -> list[str]:
    """Depth first, without recursion: chains may be long."""
    lines: list[str] = []
    numbers: dict[int, int] = {}
    used = _used_often(roots)
    stack = [(root, 0) for root in reversed(roots)]
    while stack and len(lines) < _LIMIT:
        node, depth = stack.pop()
        indent = "  " * min(depth, 40)
        if id(node) in numbers:
            lines.append(f"{indent}-> ({numbers[id(node)]})")
            continue
        mark = ""
        if id(node) in used and isinstance(node, Node):
            numbers[id(node)] = len(numbers) + 1
            mark = f"({numbers[id(node)]}) "
        lines.append(f"{indent}{mark}{_label(node, names)}")
        stack.extend((inner, depth + 1) for inner in reversed(_inputs(node)))
    if stack:
        lines.append(f"... and more: the first {_LIMIT} lines are shown")
    return lines


def _all_nodes(roots: list[Any]) -> list[Any]:
    found: dict[int, Any] = {}
    stack = list(roots)
    while stack and len(found) < _LIMIT:
        node = stack.pop()
        if id(node) not in found:
            found[id(node)] = node
            stack.extend(_inputs(node))
    return list(found.values())


def _used_often(roots: list[Any]) -> set[int]:
    """Ids of nodes that more than one node or root leads to."""
    counts: dict[int, int] = {}
    inputs = [inner for node in _all_nodes(roots) for inner in _inputs(node)]
    for target in roots + inputs:
        counts[id(target)] = counts.get(id(target), 0) + 1
    return {key for key, count in counts.items() if count > 1}


def _dot(roots: list[Any], names: Mapping[int, str]) -> str:
    """The graph in Graphviz's language; arrows point the way gradients flow."""
    nodes = _all_nodes(roots)
    known = {id(node) for node in nodes}
    lines = ["digraph {", '  node [shape=box, fontname="monospace", fontsize=10];']
    for node in nodes:
        leaf = isinstance(node, AccumulateGrad)
        text = _label(node, names).replace("  ", "\\n").replace('"', "'")
        style = ', style=filled, fillcolor="#cfe8ff"' if leaf else ""
        lines.append(f'  n{id(node)} [label="{text}"{style}];')
        lines.extend(f"  n{id(node)} -> n{id(inner)};" for inner in _inputs(node)
                     if id(inner) in known)
    return "\n".join([*lines, "}"])


def _write(path: Path, roots: list[Any], names: Mapping[int, str], text: str) -> None:
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("svg", "png", "pdf"):
        path.write_text((_dot(roots, names) if kind == "dot" else text) + "\n")
        return
    import shutil  # these two would cost more at import than the rest of this package
    import subprocess

    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            f"draw(): a .{kind} is made by the program 'dot' of Graphviz, which is not installed: "
            "install the package graphviz, or write file='graph.dot' and draw it elsewhere")
    subprocess.run([program, f"-T{kind}", "-o", str(path)], input=_dot(roots, names), text=True,
                   check=True)
