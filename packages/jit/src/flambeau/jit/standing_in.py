"""Functions that stand in for an operator's node, so that it can be recorded by other operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.ir import Node, Value, map_args


def over_tensors(node: Node, function: Callable[..., Any], wanted: Sequence[int]
                 ) -> Callable[..., tuple[Any, ...]]:
    """What computes some results of a node, as a function of its distinct tensors.

    Args:
        node: The node, whose other arguments are taken as they are.
        function: Takes the node's arguments and gives its results.
        wanted: Numbers of the results that are given, in the node's dtypes.

    Raises:
        ValueError: When called: the function gives None for a result that is wanted.
    """
    values = list(dict.fromkeys(node.inputs))

    def run(*tensors: Any) -> tuple[Any, ...]:
        by_value = dict(zip(values, tensors, strict=True))
        args = map_args(node.args, lambda leaf: by_value[leaf] if isinstance(leaf, Value) else
                        bridge.from_literal(leaf))
        made = function(*(list(arg) if isinstance(arg, tuple) else arg for arg in args))
        made = made if isinstance(made, tuple | list) else (made,)
        if any(made[k] is None for k in wanted):
            raise ValueError("one of its results is for gradients only")
        return tuple(made[k].to(bridge.dtype_named(node.outputs[k].dtype)) for k in wanted)

    return run
