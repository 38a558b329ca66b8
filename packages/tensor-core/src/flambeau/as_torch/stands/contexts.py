"""Helpers of PyTorch's own modules that libraries take: contexts, initializers, activations."""
from __future__ import annotations

import functools
import warnings
from typing import Any

import flambeau
from flambeau import rooms

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class _DecoratorContextManager:
    """A context manager whose objects are decorators, too."""

    def __call__(self, orig_func: Any) -> Any:
        @functools.wraps(orig_func)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return orig_func(*args, **kwargs)

        return within

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __enter__")

    def __exit__(self, *error: object) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __exit__")

    def clone(self) -> Any:
        """Another one; classes whose constructors take arguments say how."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same, where the class itself may stand as a decorator."""

    def __new__(cls, orig_func: Any = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)


def _without_gradient(name: str) -> Any:
    def fill(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        with flambeau.no_grad():
            return getattr(tensor, name)(*args, **kwargs)

    return fill


_no_grad_uniform_ = _without_gradient("uniform_")
_no_grad_normal_ = _without_gradient("normal_")
_no_grad_fill_ = _without_gradient("fill_")
_no_grad_zero_ = _without_gradient("zero_")


def _get_activation_fn(activation: str) -> Any:
    """``relu`` or ``gelu`` by its name."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(rooms.import_module(f"{rooms.PREFIX}nn.functional"), activation)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The states of the generators of GPUs: those of the CPU are used for all."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Do nothing: see `get_device_states`."""


def active_fake_mode() -> None:
    """None: there are no fake tensors; see the device ``meta``."""


def detect_fake_mode(inputs: Any = None) -> None:
    """None: there are no fake tensors; see the device ``meta``."""


get_proxy_mode = get_innermost_proxy_mode = active_fake_mode


def get_device_module(device: Any = None) -> Any:
    """The module of a device: ``flambeau.cuda`` or ``flambeau.cpu``."""
    kind = flambeau.device(device if device is not None else flambeau.get_default_device()).type
    return rooms.import_module(f"{rooms.PREFIX}{kind}")


def __getattr__(name: str) -> Any:
    if name == "_IncompatibleKeys":
        return rooms.import_module(f"{rooms.PREFIX}nn.modules.module._loading").IncompatibleKeys
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def check_backward_validity(inputs: Any) -> None:
    """Warn where no input of what is recomputed has a gradient."""
    if not any(getattr(each, "requires_grad", False) for each in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None",
                      stacklevel=2)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs of what is recomputed, without their history; they ask for gradients as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: "
                           f"{type(inputs).__name__}")
    return tuple(each.detach().requires_grad_(each.requires_grad)
                 if isinstance(each, flambeau.Tensor) else each for each in inputs)


def flags_frozen() -> bool:
    """Return False: flags of backends may always be set."""
    return False
