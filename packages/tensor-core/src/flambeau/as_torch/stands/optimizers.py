"""What optimizers of libraries take from `torch.optim.optimizer`."""
from __future__ import annotations

import functools
from typing import Any

import flambeau
from flambeau.core import Tensor


def _use_grad_for_differentiable(func: Any) -> Any:
    """A step that records gradients where the optimizer's ``differentiable`` says so."""
    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with flambeau.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return step


def _default_to_fused_or_foreach(params: Any, differentiable: bool,
                                 use_fused: bool = False) -> tuple[bool, bool]:
    """Neither: steps are taken together here, whatever is asked for."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices whose steps can be captured."""
    return ["cuda", "xpu", "hpu", *(["xla"] if supports_xla else [])]


def _get_value(x: Any) -> Any:
    """A number, be it one or a tensor of one."""
    return x.item() if isinstance(x, Tensor) else x


def _dispatch_sqrt(x: Any) -> Any:
    """The square root of a number or tensor."""
    return x.sqrt() if isinstance(x, Tensor) else x ** 0.5


def _stack_if_compiling(x: Any) -> Any:
    """What is given."""
    return x


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Any:
    """A decorator that changes nothing."""
    return lambda function: function


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replace complex tensors in lists by views of their parts."""
    for at, param in enumerate(params):
        if param.is_complex():
            for each in (params, *state_and_grads):
                each[at] = flambeau.view_as_real(each[at])
