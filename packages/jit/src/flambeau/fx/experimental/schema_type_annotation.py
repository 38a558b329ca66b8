"""Graphs whose nodes have types."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import nn
from flambeau.core.homes import own_module
from flambeau.fx.interpreter import Transformer

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Notes the types of results in the nodes of a graph.

    Args:
        module: The module.
        annotate_functionals: Note those of functions.
        annotate_modules: Note those of modules.
        annotate_get_attrs: Note those of attributes.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> from flambeau.fx.experimental.schema_type_annotation import AnnotateTypesWithSchema
        >>> made = AnnotateTypesWithSchema(fx.symbolic_trace(lambda x: flambeau.relu(x)))
        >>> list(made.transform().graph.nodes)[1].type is flambeau.Tensor
        True
    """

    def __init__(self, module: Any, annotate_functionals: bool = True,
                 annotate_modules: bool = True, annotate_get_attrs: bool = True) -> None:
        super().__init__(module)
        self.annotate_functionals = annotate_functionals
        self.annotate_modules = annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a function, with its type.

        Args:
            target: The function.
            args: Positional arguments.
            kwargs: Named arguments.
        """
        made = super().call_function(target, args, kwargs)
        if self.annotate_functionals and made.node.type is None:
            made.node.type = _result(target)
        return made

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a module, with its type.

        Args:
            target: Its path.
            args: Positional arguments.
            kwargs: Named arguments.
        """
        made = super().call_module(target, args, kwargs)
        if self.annotate_modules and made.node.type is None:
            kind = type(self.submodules[target])
            if own_module(kind).startswith("flambeau.nn"):
                made.node.type = _result(kind.forward)
        return made

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An attribute, with its type.

        Args:
            target: Its path.
            args: Empty.
            kwargs: Empty.
        """
        made = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            value: Any = self.module
            for part in target.split("."):
                value = getattr(value, part, None)
            if value is not None:
                made.node.type = flambeau.Tensor if isinstance(value, nn.Parameter) \
                    else type(value)
        return made


def _result(function: Callable[..., Any]) -> Any:
    """The type that a function's signature gives its result; None where it says none."""
    from flambeau.core import Operator

    if isinstance(function, Operator):
        from flambeau.jit.opset import find_opdef

        opdef = find_opdef(function.key)
        one = opdef is not None and len(opdef.outputs) == 1 and not opdef.list_output
        return flambeau.Tensor if one else None
    try:
        kind = inspect.signature(function, eval_str=True).return_annotation
    except (TypeError, ValueError, NameError):
        return None
    return kind if isinstance(kind, type) and kind is not inspect.Signature.empty else None
