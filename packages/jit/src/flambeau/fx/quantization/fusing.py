"""Layers that follow each other in a graph become one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flambeau import nn
from flambeau.ao.quantization.backend_config.kinds import RELUS
from flambeau.ao.quantization.fuse_modules import FUSERS
from flambeau.fx.graph import erase_all
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.quantization.kinds import is_in, kind_of
from flambeau.fx.quantization.nodes import assign, module_of, only_user


def fuse(model: GraphModule, is_qat: bool, fusers: Any = None) -> None:
    """Fuse what follows each other, in place.

    Args:
        model: The graph.
        is_qat: Whether the network is trained with rounding, and batch norms stay.
        fusers: Kinds of layers in a row -> what fuses them; None: those of `fuse_modules`.
    """
    table: dict[tuple[Any, ...], Any] = FUSERS if fusers is None else fusers
    used: set[Node] = set()
    rows = []
    for node in model.graph.nodes:
        row = next((row for row in _rows(model, node, table) if not used & set(row)), None)
        if row is not None:
            used.update(row)
            rows.append(row)
    partners: dict[str, set[tuple[str, ...]]] = {}
    for row in rows:
        others = tuple(str(node.target) for node in row[1:] if node.op == "call_module")
        partners.setdefault(str(row[0].target), set()).add(others)
    originals = {str(row[0].target): module_of(model, row[0]) for row in rows}
    fused: dict[str, nn.Module] = {}
    for row in rows:
        # A layer with different ones behind it at different calls cannot be both.
        calls = [n for n in model.graph.nodes if n.op == "call_module"
                 and n.target == row[0].target]
        path = str(row[0].target)
        if len(partners[path]) == 1 and all(n in used for n in calls):
            if path not in fused:
                fused[path] = _fused(model, row, originals[path], is_qat, table)
                assign(model, path, fused[path])
            row[-1].replace_all_uses_with(row[0])
            erase_all(model.graph, row[1:])
    model.recompile()


def _kind(model: GraphModule, node: Node) -> Any:
    kind = kind_of(model, node)
    return nn.ReLU if is_in(RELUS, kind) else kind


def _rows(model: GraphModule, first: Node, table: dict[tuple[Any, ...], Any]
          ) -> Iterator[list[Node]]:
    """Nodes in a row that begin with one and can be fused, the longest row first."""
    if first.op != "call_module":
        return
    for kinds in sorted(table, key=len, reverse=True):
        row: list[Node] = [first]
        while len(row) < len(kinds):
            after = only_user(row[-1])
            if after is None or after.args[:1] != (row[-1],):
                break
            row.append(after)
        if tuple(_kind(model, node) for node in row) == kinds and kinds[0] is kind_of(
                model, first):
            yield row


def _fused(model: GraphModule, row: list[Node], first: nn.Module, is_qat: bool,
           table: dict[tuple[Any, ...], Any]) -> nn.Module:
    kinds = tuple(_kind(model, node) for node in row)
    others = [module_of(model, node) or nn.ReLU().train(first.training) for node in row[1:]]
    made: nn.Module = table[kinds](is_qat, first, *others)
    return made
