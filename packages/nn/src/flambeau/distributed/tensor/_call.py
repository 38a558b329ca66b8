"""One call of an operator with shared tensors, as strategies see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau.utils._pytree import tree_flatten, tree_unflatten

from .placement_types import Partial, Placement, Replicate

R = Replicate()
SUM = Partial()


class Strategy(NamedTuple):
    """How results are shared along a dimension of the mesh, where tensors given are shared so."""

    outs: tuple[Placement, ...]
    ins: tuple[Placement, ...]


class Meta(NamedTuple):
    """A result without its values."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: Any

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)


class Call:
    """One call of an operator with shared tensors.

    Args:
        func: The operator.
        args: Its arguments.
        kwargs: Its keyword arguments.
    """

    def __init__(self, func: Any, args: Any, kwargs: Any) -> None:
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.name = name_of(func)
        self.leaves, self.tree = tree_flatten((args, kwargs))
        self.at = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]
        self.outs: list[Meta] = []
        self.size = 1  # of the mesh

    @property
    def inputs(self) -> list[Any]:
        """The shared tensors among the arguments."""
        return [self.leaves[i] for i in self.at]

    def with_inputs(self, tensors: Sequence[Any]) -> tuple[Any, Any]:
        """The arguments with other tensors."""
        leaves = list(self.leaves)
        for i, tensor in zip(self.at, tensors, strict=True):
            leaves[i] = tensor
        args, kwargs = tree_unflatten(leaves, self.tree)
        return tuple(args), kwargs

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """An argument that may be left out."""
        if len(self.args) > position:
            return self.args[position]
        return self.kwargs.get(name, default)

    def infer(self) -> None:
        """Find what the results are, from tensors without values."""
        key = self._key()
        found = _inferred.get(key)
        if found is None:
            args, kwargs = self.with_inputs([
                flambeau.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
                for t in self.inputs])
            if kwargs.get("device") is not None:
                kwargs = {**kwargs, "device": "meta"}
            results = tree_flatten(self.func(*args, **kwargs))[0]
            found = [Meta(tuple(r.shape), r.stride(), r.dtype) for r in results
                     if isinstance(r, Tensor)]
            if len(_inferred) > MOST_INFERRED:
                _inferred.clear()
            _inferred[key] = found
        self.outs = found

    def _key(self) -> Any:
        values = [(tuple(v.shape), v.stride(), v.dtype) if isinstance(v, Tensor) else (type(v), v)
                  for v in self.leaves]
        return self.func.name(), str(self.tree), tuple(values)


MOST_INFERRED = 4096
_inferred: dict[Any, list[Meta]] = {}

Rule = Callable[[Call], list[Strategy]]
RULES: dict[str, Rule] = {}
#: Operators that are given the shape of the result, and which argument that is.
SIZED: dict[str, int] = {}
#: Operators whose results share memory with their first argument.
VIEWS: set[str] = set()
#: What computes an operator on this process's parts, where it is not the operator: it is given the
#: call, the parts, and how the first argument is shared.
LOCAL: dict[str, Callable[[Call, Sequence[Any], Sequence[Placement]], Any]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Let a function give the strategies of operators."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def name_of(func: Any) -> str:
    """The name of an operator, without its form: ``add``."""
    name: str = func.name().partition("::")[2]
    return name.partition(".")[0]
