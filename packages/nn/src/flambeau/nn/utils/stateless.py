"""``functional_call`` under its older name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from flambeau import Tensor

from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers than its own.

    The same as ``flambeau.func.functional_call``, which also takes several dicts.

    Args:
        module: The module; it is as before afterwards.
        parameters_and_buffers: Tensors by name; names that are left out keep the module's own.
        args: The arguments, a tuple, or one argument.
        kwargs: Keyword arguments.
        tie_weights: A parameter that the module has under several names is replaced under all.
        strict: Raise unless the names are those of the module, all of them.

    Returns:
        What the module returns.

    Raises:
        RuntimeError: ``strict`` and names are missing or unknown.
        ValueError: Tied names are given different tensors.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.nn.utils import stateless
        >>> layer = nn.Linear(2, 1, bias=False)
        >>> stateless.functional_call(layer, {"weight": flambeau.ones(1, 2)}, flambeau.ones(2))
        tensor([2.])
    """
    from flambeau import func

    return func.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


@contextmanager
def _reparametrize_module(
    module: Module,
    parameters_and_buffers: MutableMapping[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """Let a module have other parameters inside a ``with`` block; the dict gets what it assigns.

    The last one that was replaced is put back first, with ``stack_weights`` and without.
    """
    from flambeau.autograd.transforms.modules import replaced

    with replaced(module, parameters_and_buffers, tie_weights, strict):
        yield
