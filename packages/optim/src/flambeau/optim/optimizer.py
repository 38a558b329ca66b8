"""``Optimizer``: groups of parameters with options, state, and steps."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any

import flambeau
from flambeau import Tensor

from ._state import pack_state, unpack_state


class RemovableHandle:
    """What registering a hook returns; ``remove()`` takes the hook out again."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.id = next(self._ids)
        self._hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook out; doing it twice is harmless."""
        self._hooks.pop(self.id, None)


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
        ValueError: There are no parameters, or one occurs twice.

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
        self._pre_hooks: dict[int, Callable[..., Any]] = {}
        self._post_hooks: dict[int, Callable[..., Any]] = {}
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

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own, e.g. layers that are no longer frozen.

        Args:
            param_group: A dict with ``"params"`` and any options; defaults fill the rest.

        Raises:
            TypeError: It is not a dict, or holds something else than tensors.
            ValueError: A parameter is not a leaf, or is in a group already.

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
        group["params"], names = _read_params(group["params"])
        if names:
            group["param_names"] = names
        self._check_params(group["params"])
        for name, value in self.defaults.items():
            group.setdefault(name, value)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters.

        Args:
            set_to_none: Drop them; otherwise fill them with zeros.
        """
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
        for hook in list(self._pre_hooks.values()):
            hook(self, (closure,), {})
        loss = None if closure is None else _call_recorded(closure)
        with _unrecorded(self.param_groups):
            for group in self.param_groups:
                self._update_group(group)
        self._step_count += 1
        for hook in list(self._post_hooks.values()):
            hook(self, (closure,), {})
        return loss

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before every step."""
        return RemovableHandle(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after every step."""
        return RemovableHandle(self._post_hooks, hook)

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
        return pack_state(self.param_groups, self.state)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over options and state from ``state_dict()`` of an optimizer of the same kind.

        State goes to parameters by position, in the dtype and on the device of each.

        Args:
            state_dict: What ``state_dict`` returned.

        Raises:
            ValueError: The number of groups, or of parameters in one, differs.
        """
        groups, state = unpack_state(deepcopy(state_dict), self.param_groups)
        self.param_groups = groups
        self.state = defaultdict(dict, state)

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
            "_step_count": self._step_count,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _pre_hooks={}, _post_hooks={})

    def _update_group(self, group: dict[str, Any]) -> None:
        """Update the parameters of one group; nothing it does is recorded for gradients."""
        raise NotImplementedError(
            f"{type(self).__name__} defines neither _update_group(self, group) nor step(self)"
        )

    def _check_params(self, params: list[Tensor]) -> None:
        taken = {id(param) for group in self.param_groups for param in group["params"]}
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"an optimizer takes tensors, not {type(param).__name__}")
            if not param.is_leaf:
                raise ValueError(
                    "cannot optimize a tensor that was computed from others: it gets no gradient. "
                    "Optimize those it was computed from, or write tensor.detach()"
                    ".requires_grad_()"
                )
            if id(param) in taken:
                raise ValueError("a parameter occurs twice in the optimizer's groups")
            taken.add(id(param))


def _read_params(params: Any) -> tuple[list[Tensor], list[str]]:
    """The tensors of a group and, if they came as pairs, their names."""
    if isinstance(params, Tensor):
        return [params], []
    if isinstance(params, set):
        raise TypeError("parameters need an order that does not change: use a list, not a set")
    listed = list(params)
    if listed and all(isinstance(item, tuple) for item in listed):
        return [param for _, param in listed], [name for name, _ in listed]
    return listed, []


def _call_recorded(closure: Callable[[], Any]) -> Any:
    """Call a closure that computes gradients, wherever the step itself is taken."""
    if flambeau.is_grad_enabled():
        return closure()
    with flambeau.enable_grad():
        return closure()


def _unrecorded(groups: list[dict[str, Any]]) -> AbstractContextManager[Any]:
    """Turn recording off, where any parameter would be recorded.

    Without autograd installed none is, and there is nothing to turn off.
    """
    if any(param.requires_grad for group in groups for param in group["params"]):
        return flambeau.no_grad()
    return nullcontext()
