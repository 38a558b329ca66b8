"""Types of custom functions; function.py is compiled.

The methods of a subclass take whatever parameters it needs, hence ``Any`` here.
"""
from collections.abc import Callable
from typing import Any, TypeVar

from flambeau.autograd._context import BackwardCFunction as BackwardCFunction
from flambeau.autograd._context import FunctionCtx as FunctionCtx

_F = TypeVar("_F", bound=Callable[..., Any])

class Function:
    """Base class of custom functions: write ``forward`` and ``backward``, call ``apply``."""
    generate_vmap_rule: bool
    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None: ...
    @staticmethod
    def backward(*grads: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def jvp(*tangents: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def vmap(*args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any: ...

class InplaceFunction(Function):
    """Base class of custom functions that write to their input."""
    inplace: bool
    def __init__(self, inplace: bool = ...) -> None: ...

def once_differentiable(backward: _F) -> _F: ...

def _applied(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...
def _tie(cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], output: Any,
         records: bool) -> Any: ...
def _backward_of(cls: type[Function]) -> Callable[..., Any]: ...
def _is_among(value: Any, values: Any) -> bool: ...

_Backward: Any
