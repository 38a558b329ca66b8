"""A stable key for a graph: equal for graphs that compute the same in the same way."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from flambeau.jit.codec import encode_graph
from flambeau.jit.ir import Graph


def graph_hash(graph: Graph) -> str:
    """SHA-256 of the structure: operators, arguments and types, not names or source lines.

    The same in every process and on every machine.
    """
    data = _structure(encode_graph(graph))
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _structure(data: Any) -> Any:
    """The same data without what is there for people."""
    if isinstance(data, list):
        return [_structure(item) for item in data]
    if isinstance(data, dict):
        return {k: _structure(v) for k, v in data.items() if k not in ("where", "name")}
    return data
