"""``Module``: the base of every layer and network.

The mechanisms stand beside this file, one each: ``_attributes`` and ``_members``, ``_asking`` (of
classes with a ``__getattr__``), ``_tree`` (walking), ``_state`` (state_dict), ``_conversion`` (to),
``_hooks``, ``_calls`` and ``_backward`` (hooks of one module), ``_everywhere`` (of all), ``_where``
(errors), ``_show`` (repr).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import flambeau
from flambeau.core import scopes_wanted

from ._asking import let_ask
from ._calls import call_with_hooks
from ._conversion import Conversion
from ._everywhere import (
    EVERYWHERE,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._hook_table import RemovableHandle
from ._members import without_attributes
from ._pickling import Pickling
from ._scopes import call_in_scope
from ._show import show
from ._state import State
from ._where import note_where

__all__ = [
    "Module",
    "RemovableHandle",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

Self = TypeVar("Self", bound="Module")


class Module(Conversion, State, Pickling):
    """A piece of a network: parameters, buffers, submodules, and how they compute.

    Subclasses call ``super().__init__()``, assign parameters and submodules as attributes, and
    define ``forward``. Calling the module runs ``forward`` and the registered hooks; an error
    raised on the way carries a note with the path of the module it came from.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = nn.Linear(4, 8)
        ...         self.head = nn.Linear(8, 2)
        ...
        ...     def forward(self, x):
        ...         return self.head(self.hidden(x).relu())
        >>> net = Net()
        >>> tuple(net(flambeau.zeros(3, 4)).shape)
        (3, 2)
        >>> net
        Net(
          (hidden): Linear(in_features=4, out_features=8, bias=True)
          (head): Linear(in_features=8, out_features=2, bias=True)
        )
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        let_ask(cls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and the hooks."""
        try:
            if scopes_wanted():
                return call_in_scope(self, args, kwargs)
            if self._hook_table is None and not EVERYWHERE:
                return self.forward(*args, **kwargs)
            return call_with_hooks(self, args, kwargs)
        except Exception as error:
            note_where(self, error)
            raise

    _call_impl = __call__       # what PyTorch's ``__call__`` calls, which programs call or replace

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Members have any type; they are plain attributes at run time."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; every subclass that is called defines it.

        Raises:
            NotImplementedError: The subclass does not define it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no forward(): define forward(self, ...) with the "
            "computation of this module"
        )

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Run ``forward`` as compiled graphs from now on; copies of the module do not.

        Args:
            args: Those of ``flambeau.compile`` after the function.
            kwargs: See there.

        Example:
            >>> import flambeau
            >>> from flambeau import nn
            >>> layer = nn.Linear(2, 1)
            >>> layer.compile()
            >>> tuple(layer(flambeau.ones(3, 2)).shape)
            (3, 1)
        """
        plain = self.__dict__.get("_plain_forward", self.forward)
        compiled = flambeau.compile(plain, *args, **kwargs)
        self.__dict__.update(forward=compiled, _plain_forward=plain)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, without a compiled ``forward``, which belongs to this one object."""
        state = self.__dict__.copy()
        if state.pop("_plain_forward", None) is not None:
            del state["forward"]
        return without_attributes(state)

    def train(self: Self, mode: bool = True) -> Self:
        """Put this module and all below it in training mode, or in evaluation mode.

        Args:
            mode: True to train, False to evaluate; matters to dropout and batch norm.

        Returns:
            This module.

        Raises:
            ValueError: ``mode`` is not a bool.

        Example:
            >>> from flambeau import nn
            >>> nn.Dropout(0.5).train(False).training
            False
        """
        if not isinstance(mode, bool):
            raise ValueError(f"train() takes True or False, not {mode!r}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Put this module and all below it in evaluation mode."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Say for all parameters whether ``backward`` fills their gradients.

        Args:
            requires_grad: False freezes the module.

        Returns:
            This module.

        Example:
            >>> from flambeau import nn
            >>> nn.Linear(2, 1).requires_grad_(False).weight.requires_grad
            False
        """
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters.

        Args:
            set_to_none: Drop them; otherwise fill them with zeros.
        """
        for param in self.parameters():
            grad = param.grad
            if grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                param.grad = grad.detach().zero_()

    def extra_repr(self) -> str:
        """Override to say between the parentheses what the module was made with."""
        return ""

    def __repr__(self) -> str:
        return show(self._get_name(), self.extra_repr(), list(self._modules.items()))

    def _get_name(self) -> str:
        return type(self).__name__
