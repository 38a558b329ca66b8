"""Modules as functions of lists of tensors: what `torch.func.functional_call` does with dicts."""
from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from flambeau import rooms
from flambeau.core import Tensor

func = rooms.import_module(f"{rooms.PREFIX}func")
nn = rooms.import_module(f"{rooms.PREFIX}nn")


class FunctionalModuleWithBuffers(nn.Module):  # type: ignore[name-defined]
    """What `make_functional_with_buffers` returns: called with parameters, buffers, arguments."""

    def __init__(self, stateless_model: Any, param_names: tuple[str, ...],
                 buffer_names: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any,
                **kwargs: Any) -> Any:
        """The module's result with these tensors."""
        tensors = dict(zip(self.param_names + self.buffer_names, (*params, *buffers), strict=True))
        return func.functional_call(self.stateless_model, tensors, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """What `make_functional` returns: called with parameters and arguments."""

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """The module's result with these parameters."""
        return super().forward(params, (), *args, **kwargs)


def _taken(model: Any, disable_autograd_tracking: bool) -> tuple[Any, dict[str, Tensor],
                                                                 dict[str, Tensor]]:
    """A copy of a module, its parameters and its buffers."""
    model = copy.deepcopy(model)
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    if disable_autograd_tracking:
        for parameter in params.values():
            parameter.requires_grad_(False)
    return model, params, buffers


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> Any:
    """A module without buffers as a function of its parameters.

    Args:
        model: A module; it is copied.
        disable_autograd_tracking: The parameters that are returned do not require gradients.

    Returns:
        ``(function, params)``, where ``function(params, *args)`` is what ``model(*args)`` gives.
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError("make_functional(model): `model` has buffers. Please use "
                           "make_functional_with_buffers(model) instead.")
    model, params, _ = _taken(model, disable_autograd_tracking)
    return FunctionalModule(model, tuple(params)), tuple(params.values())


def make_functional_with_buffers(model: Any, disable_autograd_tracking: bool = False) -> Any:
    """A module as a function of its parameters and buffers.

    Args:
        model: A module; it is copied.
        disable_autograd_tracking: The parameters that are returned do not require gradients.

    Returns:
        ``(function, params, buffers)``, for calls of ``function(params, buffers, *args)``.
    """
    model, params, buffers = _taken(model, disable_autograd_tracking)
    function = FunctionalModuleWithBuffers(model, tuple(params), tuple(buffers))
    return function, tuple(params.values()), tuple(buffers.values())


def combine_state_for_ensemble(models: Sequence[Any]) -> Any:
    """Modules of one architecture as one function, for `vmap`.

    Args:
        models: Modules of one class, in one mode.

    Returns:
        ``(function, params, buffers)``, each tensor with a dimension more, for the modules.
    """
    params, buffers = func.stack_module_state(models)
    function, _, _ = make_functional_with_buffers(models[0])
    return (function, tuple(each.detach() for each in params.values()),
            tuple(each.detach() for each in buffers.values()))
