"""What no output needs is left out of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def trim(nodes: list[Any], initializers: list[Any], outputs: Iterable[str]
         ) -> tuple[list[Any], list[Any]]:
    """The nodes and tensors from which outputs are computed, in their order."""
    needed = set(outputs)
    kept = []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(_read(node))
    return kept[::-1], [each for each in initializers if each.name in needed]


def _read(node: Any) -> Iterable[str]:
    """The names that a node takes, those in its graphs included."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inside in attribute.g.node:
                yield from _read(inside)
            yield from (each.name for each in attribute.g.output)
