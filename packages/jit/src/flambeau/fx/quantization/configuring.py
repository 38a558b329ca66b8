"""The configuration of each node of a graph."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from flambeau.ao.quantization import QConfigMapping
from flambeau.ao.quantization.qconfig import check_fits
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.quantization.kinds import configured_kind
from flambeau.fx.quantization.nodes import module_of

_KEYS = ("", "object_type", "module_name_regex", "module_name", "module_name_object_type_order")


def as_mapping(given: Any) -> QConfigMapping:
    """A mapping, from one or from a dict.

    Args:
        given: What a program passed.

    Raises:
        ValueError: The dict has other keys.
    """
    if isinstance(given, QConfigMapping):
        return given
    for key in given:
        if key not in _KEYS:
            raise ValueError(f"Expected qconfig_dict to have the following keys: {list(_KEYS)}. "
                             f"But found '{key}' instead.")
    return QConfigMapping.from_dict(given)


def qconfig_of(mapping: QConfigMapping, kind: Any, path: str) -> Any:
    """The configuration of a kind of layer or function, called in a module.

    Args:
        mapping: All configurations.
        kind: A class, a function or a method's name.
        path: Of the layer, or of the module that calls.
    """
    parts = path.split(".") if path else []
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        if name in mapping.module_name_qconfigs:
            return mapping.module_name_qconfigs[name]
    for pattern, qconfig in mapping.module_name_regex_qconfigs.items():
        if re.match(pattern, path):
            return qconfig
    for known, qconfig in mapping.object_type_qconfigs.items():
        if known is kind or (isinstance(known, str) and known == kind):
            return qconfig
    return mapping.global_qconfig


def configurations(model: GraphModule, mapping: QConfigMapping) -> dict[Node, Any]:
    """The configuration of each node that calls something; layers keep theirs as ``qconfig``.

    Args:
        model: The graph.
        mapping: All configurations.
    """
    counts: Counter[Any] = Counter()
    found: dict[Node, Any] = {}
    for node in model.graph.nodes:
        if node.op not in ("call_module", "call_function", "call_method"):
            continue
        module, kind = module_of(model, node), configured_kind(model, node)
        path = str(node.target) if module is not None else node.meta.get("scope", "")
        caller = path.rpartition(".")[0] if module is not None else path
        key = caller, kind if isinstance(kind, str) else id(kind)
        at, counts[key] = counts[key], counts[key] + 1
        qconfig = qconfig_of(mapping, kind, path)
        for (name, known, index), each in mapping.module_name_object_type_order_qconfigs.items():
            if (name, index) == (caller, at) and known is kind:
                qconfig = each
        found[node] = qconfig
        if module is not None:
            check_fits(qconfig, module)
            module.qconfig = qconfig
    return found
