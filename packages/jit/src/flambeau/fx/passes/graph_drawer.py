"""Graphs as pictures."""

from __future__ import annotations

from typing import Any

from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, _format_arg

__all__ = ["FxGraphDrawer"]

_COLOURS = {"placeholder": "AliceBlue", "call_module": "LemonChiffon1", "get_attr": "LightGrey",
            "output": "PowderBlue"}


class Dot:
    """A picture as text of the dot language, for where pydot is not installed.

    Args:
        name: The picture's name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []

    def to_string(self) -> str:
        """The text."""
        return "\n".join([f'digraph "{self.name}" {{', "rankdir=TB;", *self.lines, "}", ""])

    def write(self, path: str) -> None:
        """Write the text to a file.

        Args:
            path: The file.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_string())

    write_raw = write_dot = write

    def write_svg(self, path: str) -> None:
        """Refused, since nothing here draws.

        Args:
            path: The file.
        """
        raise RuntimeError("write_svg() needs pydot and Graphviz: pip install pydot; or write() "
                           "the dot text and draw it elsewhere")


class FxGraphDrawer:
    """Draws a graph: through pydot where that is installed, as text of dot without.

    Args:
        graph_module: The module.
        name: The picture's name.
        ignore_getattr: Leave out attributes.
        ignore_parameters_and_buffers: Leave out parameters and buffers.
        skip_node_names_in_args: Write arguments without names.
        parse_stack_trace: Has no effect.
        dot_graph_shape: The shape of nodes, ``record``.
        normalize_args: Has no effect.

    Example:
        >>> from flambeau import fx
        >>> from flambeau.fx.passes.graph_drawer import FxGraphDrawer
        >>> module = fx.symbolic_trace(lambda x: x.relu())
        >>> "relu" in FxGraphDrawer(module, "small").get_dot_graph().to_string()
        True
    """

    def __init__(self, graph_module: GraphModule, name: str, ignore_getattr: bool = False,
                 ignore_parameters_and_buffers: bool = False, skip_node_names_in_args: bool = True,
                 parse_stack_trace: bool = False, dot_graph_shape: str | None = None,
                 normalize_args: bool = False) -> None:
        self._name = name
        self.skip_getattr = ignore_getattr
        self.skip_attributes = ignore_parameters_and_buffers
        self.shape = dot_graph_shape or "record"
        self._graphs = {name: self._draw(graph_module, name)}
        for path, module in graph_module.named_modules():
            if path and isinstance(module, GraphModule):
                self._graphs[f"{name}_{path}"] = self._draw(module, f"{name}_{path}")

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The picture: an object of pydot, or one with ``to_string`` and ``write``.

        Args:
            submod_name: That of a graph module below, under its path.
        """
        return self._graphs[self._name if submod_name is None else submod_name]

    def get_main_dot_graph(self) -> Any:
        """The picture of the module itself."""
        return self.get_dot_graph()

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The picture of a graph module below.

        Args:
            submod_name: Its path.
        """
        return self.get_dot_graph(f"{self._name}_{submod_name}")

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """The pictures, by name."""
        return self._graphs

    def _draw(self, module: GraphModule, name: str) -> Any:
        nodes = [n for n in module.graph.nodes if not (self.skip_getattr and n.op == "get_attr")]
        try:
            import pydot  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            return self._as_text(module, name, nodes)
        made = pydot.Dot(name, rankdir="TB")
        for node in nodes:
            made.add_node(pydot.Node(node.name, label=self._label(module, node), shape=self.shape,
                                     style="filled", fillcolor=_colour(node)))
        for node in nodes:
            for user in node.users:
                made.add_edge(pydot.Edge(node.name, user.name))
        return made

    def _as_text(self, module: GraphModule, name: str, nodes: list[Node]) -> Dot:
        made = Dot(name)
        for node in nodes:
            label = self._label(module, node).replace('"', '\\"')
            made.lines.append(f'{node.name} [label="{label}", shape={self.shape}, style=filled, '
                              f'fillcolor={_colour(node)}];')
        made.lines += [f"{node.name} -> {user.name};" for node in nodes for user in node.users]
        return made

    def _label(self, module: GraphModule, node: Node) -> str:
        rows = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            below = module.get_submodule(str(node.target))
            rows.append(f"{type(below).__name__}")
            constants = getattr(below, "__constants__", ())
            rows += [f"{key}: {getattr(below, key, None)}" for key in constants]
        else:
            rows.append(f"target={node._pretty_print_target(node.target)}")
            if node.args:
                rows.append(f"args={_format_arg(node.args)}")
            if node.kwargs:
                rows.append(f"kwargs={_format_arg(node.kwargs)}")
        rows.append(f"num_users={len(node.users)}")
        meta = node.meta.get("tensor_meta")
        if meta is not None and hasattr(meta, "shape"):
            rows += [f"dtype={meta.dtype}", f"shape={tuple(meta.shape)}"]
        return "{" + "\\n".join(_escaped(row) for row in rows) + "}"


def _escaped(text: str) -> str:
    for letter in "{}<>|":
        text = text.replace(letter, "\\" + letter)
    return text


def _colour(node: Node) -> str:
    return _COLOURS.get(node.op, "Coral1" if node.op == "call_method" else "DarkOliveGreen3")
