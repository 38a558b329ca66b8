"""What modules are made of, in the nodes that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import nn
from flambeau.fx.graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name: str, target_version: int) -> str:
    """The name that an attribute has in another version of its class: the same.

    Args:
        name: The name.
        target_version: The version.
    """
    return name


#: Class -> its version, the attributes of interest, what they are called in another version.
module_fetch_book: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {
    nn.Linear: (1, ["weight", "bias"], default_matching),
    nn.Conv2d: (1, ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups",
                    "padding_mode"], default_matching),
    nn.BatchNorm2d: (2, ["weight", "bias", "running_mean", "running_var", "eps"],
                     default_matching),
    nn.AdaptiveAvgPool2d: (1, [], default_matching),
    nn.MaxPool2d: (1, ["kernel_size", "stride", "padding", "dilation", "return_indices",
                       "ceil_mode"], default_matching),
    nn.ReLU: (1, ["inplace"], default_matching),
}


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """The attributes of a module that say what it computes.

    Args:
        mod: A module of a class in ``module_fetch_book``.

    Raises:
        RuntimeError: its class is not there, or is newer.
    """
    name = flambeau.typename(mod)
    if type(mod) not in module_fetch_book:
        raise RuntimeError(f"{name} is not in module_fetch_book: add its class, with a version and "
                           "the names of its attributes")
    version, wanted, match = module_fetch_book[type(mod)]
    present = getattr(mod, "_version", 1)
    if version < present:
        raise RuntimeError(f"module_fetch_book has version {version} of {name}, which is of "
                           f"version {present}")
    return {"name": name, **{each: getattr(mod, match(each, present)) for each in wanted}}


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Give each node that calls a module an attribute ``attrs_for_lowering``.

    Args:
        fx_module: The module, whose graph modules below are visited, too.
    """
    for node in fx_module.graph.nodes:
        if node.op != "call_module":
            continue
        module = fx_module.get_submodule(str(node.target))
        if isinstance(module, GraphModule):
            lift_lowering_attrs_to_nodes(module)
        else:
            node.attrs_for_lowering = extract_attrs_for_lowering(module)
