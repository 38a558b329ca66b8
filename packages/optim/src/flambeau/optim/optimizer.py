"""``Optimizer``: groups of parameters with options, state, and steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any, TypeAlias

import flambeau
from flambeau import Tensor
from flambeau.core import blocks

from ._groups import add_defaults, check_names, check_params, read_params
from ._hooks import (
    Hooks,
    RemovableHandle,
    block_name,
    hooked,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from ._state import by_name, from_names, pack_state, unpack_state

__all__ = [
    "Optimizer",
    "ParamsT",
    "RemovableHandle",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]


#: What an optimizer is made of: parameters, groups of them, or pairs of names and parameters.
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


class _Required:
    """Stands in ``defaults`` for an option that every group has to set."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Base of all optimizers.

    A subclass passes its options to ``__init__`` and defines ``_update_group``, which changes
    the parameters of one group; or it overrides ``step`` altogether, as in PyTorch.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts that each hold ``"params"`` and
            options of their own.
        defaults: The options and their values where a group does not set them.

    Raises:
        TypeError: ``params`` is a single tensor or holds something else than tensors.
        ValueError: There are no parameters, or one is in two groups.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> class Descent(optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, {"lr": lr})
        ...
        ...     def _update_group(self, group):
        ...         for param in group["params"]:
        ...             param.sub_(param.grad, alpha=group["lr"])
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> (x * 3).sum().backward()
        >>> Descent([x], lr=0.1).step()
        >>> x.detach()
        tensor([0.7000])
    """

    param_groups: list[dict[str, Any]]
    state: dict[Any, dict[str, Any]]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "an optimizer takes an iterable of tensors, not one tensor: write [tensor]"
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._step_count = 0
        self._hook_table = Hooks()
        if not isinstance(params, Iterable):
            raise TypeError(
                f"an optimizer takes an iterable of tensors, not {type(params).__name__}: of a "
                "module write module.parameters()"
            )
        groups = list(params)
        if not groups:
            raise ValueError(
                "the optimizer got no parameters: is the model empty, or was the generator "
                "model.parameters() used up before?"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = hooked(cls.__dict__["step"])  # type: ignore[method-assign]

    def _patch_step_function(self) -> None:
        """What wrappers of optimizers call that leave out ``Optimizer.__init__``."""
        self.__dict__.setdefault("_hook_table", Hooks())
        self.__dict__.setdefault("_step_count", 0)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own, e.g. layers that are no longer frozen.

        Args:
            param_group: A dict with ``"params"`` and any options; defaults fill the rest.

        Raises:
            TypeError: It is not a dict, or holds something else than tensors.
            ValueError: A parameter is not a leaf, or is in a group already, or some parameters
                have names and others have none.

        Example:
            >>> import flambeau
            >>> from flambeau import optim
            >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
            >>> optimizer = optim.SGD([first], lr=0.1)
            >>> optimizer.add_param_group({"params": [second], "lr": 0.01})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"a parameter group is a dict, not {type(param_group).__name__}")
        group = dict(param_group)
        group["params"], names = read_params(group.get("params"))
        if names:
            group["param_names"] = names
        differentiable = bool(self.defaults.get("differentiable"))
        check_params(group["params"], self.param_groups, differentiable)
        check_names(group, self.param_groups)
        add_defaults(group, self.defaults, required)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters.

        Args:
            set_to_none: Drop them; otherwise fill them with zeros.

        Example:
            >>> import flambeau
            >>> from flambeau import optim
            >>> x = flambeau.tensor([1.0], requires_grad=True)
            >>> (x * 3).sum().backward()
            >>> optim.SGD([x], lr=0.1).zero_grad()
            >>> x.grad is None
            True
        """
        with blocks.block(block_name(self, "zero_grad")) if blocks.watchers else nullcontext():
            self._clear_grads(set_to_none)

    def _clear_grads(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                else:
                    param.grad = grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient.

        Args:
            closure: Computes the loss and its gradients again; called first.

        Returns:
            What ``closure`` returned, or ``None``.
        """
        loss = None if closure is None else call_recorded(closure)
        self._update_groups()
        return loss

    step = hooked(step)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before every step.

        Args:
            hook: Gets the arguments of ``step``, the optimizer first; it may return new
                ``(args, kwargs)``.

        Returns:
            A handle whose ``remove()`` takes the hook out.
        """
        return RemovableHandle(self._hook_table.before_step, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after every step.

        Args:
            hook: Gets the arguments of ``step``, the optimizer first.

        Returns:
            A handle whose ``remove()`` takes the hook out.
        """
        return RemovableHandle(self._hook_table.after_step, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict`` reads the state.

        Args:
            hook: What to call.
            prepend: Before the hooks that are there already.

        Returns:
            A handle whose ``remove()`` takes the hook out.
        """
        return RemovableHandle(self._hook_table.before_state, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on what ``state_dict`` is about to return.

        Args:
            hook: May change the dict, or return another one.
            prepend: Before the hooks that are there already.

        Returns:
            A handle whose ``remove()`` takes the hook out.
        """
        return RemovableHandle(self._hook_table.after_state, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before a state is loaded.

        Args:
            hook: May change the dict, which is a shallow copy, or return another one.
            prepend: Before the hooks that are there already.

        Returns:
            A handle whose ``remove()`` takes the hook out.
        """
        return RemovableHandle(self._hook_table.before_load, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state was loaded.

        Args:
            hook: What to call.
            prepend: Before the hooks that are there already.

        Returns:
            A handle whose ``remove()`` takes the hook out.
        """
        return RemovableHandle(self._hook_table.after_load, hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """Options and state; parameters are replaced by their positions.

        Returns:
            ``{"state": {position: {...}}, "param_groups": [{..., "params": [positions]}]}``.

        Example:
            >>> import flambeau
            >>> from flambeau import optim
            >>> optim.SGD([flambeau.zeros(1)], lr=0.1).state_dict()["param_groups"][0]["params"]
            [0]
        """
        return self._hook_table.saved(self, lambda: pack_state(self.param_groups, self.state))

    def named_state_dict(self) -> dict[str, Any]:
        """Options and state; parameters are replaced by their names.

        It needs an optimizer that was made from names, ``SGD(model.named_parameters())``, and is
        loaded by ``load_state_dict`` into one whose parameters have these names, in whatever
        order and groups.

        Returns:
            ``{"state": {name: {...}}, "param_groups": [{..., "params": [names]}]}``.

        Raises:
            ValueError: The parameters have no names, or one name is used twice.

        Example:
            >>> import flambeau
            >>> from flambeau import optim
            >>> optimizer = optim.Adam([("weight", flambeau.zeros(1))])
            >>> optimizer.named_state_dict()["param_groups"][0]["params"]
            ['weight']
        """
        return by_name(self.state_dict())

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over options and state from an optimizer of the same kind.

        State goes to parameters by position, or by name if it came from ``named_state_dict``, in
        the dtype and on the device of each. PyTorch's own state, with its tensors converted, is
        understood.

        Args:
            state_dict: What ``state_dict`` or ``named_state_dict`` returned.

        Raises:
            ValueError: The number of groups or parameters, a name or a shape differs.

        Example:
            >>> import flambeau
            >>> from flambeau import optim
            >>> saved = optim.SGD([flambeau.zeros(1)], lr=0.1).state_dict()
            >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=0.5)
            >>> optimizer.load_state_dict(saved)
            >>> optimizer.param_groups[0]["lr"]
            0.1
        """
        packed = self._hook_table.loading(self, dict(state_dict))
        packed = from_names(deepcopy(packed), self.param_groups)
        groups, state = unpack_state(packed, self.param_groups)
        self._check_state(groups, state)
        self.__setstate__({"param_groups": groups, "state": defaultdict(dict, state)})
        self._hook_table.loaded(self)

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"{chr(10) if i else ''}Parameter Group {i}")
            names = sorted(name for name in group if name != "params")
            lines += [f"    {name}: {group[name]}" for name in names]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
            "_step_count": self._step_count,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._patch_step_function()

    def _check_state(self, groups: list[dict[str, Any]], state: dict[Any, Any]) -> None:
        """Refuse a state that does not fit the parameters, before any of it is taken over."""

    def _update_groups(self) -> None:
        with unrecorded(self.param_groups):
            for group in self.param_groups:
                self._update_group(group)

    def _update_group(self, group: dict[str, Any]) -> None:
        """Update the parameters of one group; nothing it does is recorded for gradients."""
        raise NotImplementedError(
            f"{type(self).__name__} defines neither _update_group(self, group) nor step(self)"
        )


def call_recorded(closure: Callable[[], Any]) -> Any:
    """Call what has to be recorded for gradients, wherever the step itself is taken."""
    if flambeau.is_grad_enabled():
        return closure()
    with flambeau.enable_grad():
        return closure()


def unrecorded(groups: list[dict[str, Any]]) -> AbstractContextManager[Any]:
    """Turn recording off, where any parameter would be recorded.

    Without autograd installed none is, and there is nothing to turn off.
    """
    if any(param.requires_grad for group in groups for param in group["params"]):
        return flambeau.no_grad()
    return nullcontext()
