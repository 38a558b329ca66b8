"""Modules cut where their nodes are tagged."""

from __future__ import annotations

from typing import Any

from flambeau import nn
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.passes.split_module import split_module

__all__ = ["getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj: Any, name: str) -> Any:
    """What a dotted path leads to; None where a list or dict ends before.

    Args:
        obj: Where the path begins.
        name: The path.
    """
    for part in name.split("."):
        if isinstance(obj, nn.ModuleList):
            obj = obj[int(part)] if part.isdigit() else getattr(obj, part)
        else:
            obj = getattr(obj, part)
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set the attribute at a dotted path.

    Args:
        obj: Where the path begins.
        attr: The path.
        value: The attribute's value.
    """
    *way, last = attr.split(".")
    for part in way:
        obj = getattr(obj, part)
    setattr(obj, last, value)


def split_by_tags(gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False,
                  return_tuple: bool = False,
                  GraphModuleCls: type = GraphModule) -> Any:
    """Cut a module into one for each tag; they are attributes of the new module.

    Args:
        gm: The module; its nodes have an attribute ``tag``.
        tags: The tags, in the order in which the modules are called.
        return_fqn_mapping: Return a map of old to new paths, too.
        return_tuple: Has no effect: parts with one result return that.
        GraphModuleCls: The class of the new module.

    Returns:
        The new module, or that and the map.

    Raises:
        AssertionError: a node has no tag, or one that is not among ``tags``.
    """
    def part(node: Node) -> int:
        tag = getattr(node, "tag", None)
        if tag not in tags:
            raise AssertionError(f"split_by_tags(): node {node} has the tag {tag!r}, which is not "
                                 f"among tags; set node.tag to one of {tags}")
        return tags.index(tag)

    paths: dict[str, str] = {}
    split = split_module(gm, gm, part, paths, keep_original_order=False)
    names = {f"submod_{at}": tag for at, tag in enumerate(tags)}
    root = {names[name]: module for name, module in split.named_children() if name in names}
    for node in split.graph.nodes:
        if node.op == "call_module":
            node.target = names[node.target]
        elif node.op == "get_attr":
            root[node.target] = getattr_recursive(gm, node.target)
    made = GraphModuleCls(root, split.graph)
    if not return_fqn_mapping:
        return made
    return made, {old: f"{names[new.split('.')[0]]}.{new.partition('.')[2]}"
                  for new, old in paths.items()}
