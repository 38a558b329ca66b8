"""``FusedOptimizer``: optimizers whose step is one update rule."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import flambeau
from flambeau import Tensor

from ._captured import check_capture, counters, number_of, on_device, refuse_new_state
from ._recorded import check_recordable, record_update, recordable
from ._rules import Rules, UpdateRule
from ._sparse import has_sparse, refuse
from ._update import apply_update
from .optimizer import Optimizer, call_recorded

Columns = tuple[list[Tensor], list[Any], list[Tensor]]
# How an option that may be a tensor enters the scalars: as a number, or as it is where a step is
# recorded. The scalars are arithmetic that tensors know as well.
Number = Callable[[Any], Any]


class FusedOptimizer(Optimizer):
    """Base of the optimizers that treat every element of a parameter alike.

    A subclass names the rule, makes a parameter's first state, counts its steps and computes the
    run-time scalars. Parameters that share their scalars are updated in one call. Complex
    parameters are treated as pairs of real numbers, as in PyTorch.
    """

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        """The rules that update the parameters of a group with this key."""
        raise NotImplementedError

    def _decays(self, group: dict[str, Any]) -> bool:
        """Whether weight decay adds to the gradient."""
        return group["weight_decay"] != 0 and not group.get("decoupled_weight_decay")

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        """The state of a parameter before its first step."""
        raise NotImplementedError

    def _advance(
        self, param: Tensor, state: dict[str, Any], group: dict[str, Any], number: Number = float
    ) -> Any:
        """Count a step; returns what the scalars depend on besides the group, hashable."""
        step = state["step"] = state["step"] + 1
        return step

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        """The rule's own scalars for parameters with this key."""
        raise NotImplementedError

    #: Numbers of a state that change from step to step, and with ``capturable`` lie on the device.
    _counted: tuple[str, ...] = ("step",)

    def _on_device(self, group: dict[str, Any]) -> bool:
        """Whether steps are counted, and scalars computed, on the device of the parameters."""
        return bool(group.get("capturable")) and on_device(group["params"])

    def _check_state(self, groups: list[dict[str, Any]], state: dict[Any, Any]) -> None:
        numbered = ((i, j, p) for i, g in enumerate(groups) for j, p in enumerate(g["params"]))
        for i, j, param in numbered:
            for name, value in state.get(param, {}).items():
                if isinstance(value, Tensor) and value.shape != param.shape:
                    raise ValueError(
                        f"the state {name!r} of parameter {j} of group {i} has shape "
                        f"{tuple(value.shape)}, the parameter {tuple(param.shape)}: the state is "
                        "that of another model, or its parameters are in another order"
                    )

    def _update_groups(self) -> None:
        # An update rule is never recorded, wherever the step is taken.
        for group in self.param_groups:
            if group["differentiable"]:
                check_recordable(group["params"])
                call_recorded(partial(self._record_group, group))
            else:
                self._update_group(group)

    def _update_sparse(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        """A step of a parameter with a sparse gradient."""
        refuse(type(self).__name__, "SparseAdam, SGD or Adagrad")

    def _without_sparse(self, group: dict[str, Any]) -> dict[str, Any]:
        """Update the parameters with sparse gradients; the group of the others."""
        rest = []
        with flambeau.no_grad():
            for param in group["params"]:
                if param.grad is None or not param.grad.is_sparse:
                    rest.append(param)
                    continue
                grad = param.grad.detach()
                self._update_sparse(param, -grad if group["maximize"] else grad, group)
        return {**group, "params": rest}

    def _update_group(self, group: dict[str, Any]) -> None:
        if has_sparse(group):
            group = self._without_sparse(group)
        if self._on_device(group):
            self._update_on_device(group)
            return
        for key, (params, states, grads) in self._advance_all(group).items():
            rule = self._rules(group, key)[self._decays(group), bool(group["maximize"])]
            check_capture(self, key, params[0])
            number = number_of(params[0]) if _has_tensors(group) else float
            self._apply(rule, group, (params, states, grads), self._scalars(group, key, number))

    def _apply(
        self, rule: UpdateRule, group: dict[str, Any], columns: Columns, scalars: tuple[Any, ...]
    ) -> None:
        if rule.decays:
            scalars += (float(group["weight_decay"]),)
        params, states, grads = columns
        rows = [params, *self._state_columns(rule, group, params, states), grads]
        if any(map(Tensor.is_complex, params)):
            rows = [list(map(_as_real, column)) for column in rows]
        apply_update(rule, rows, scalars)

    def _update_on_device(self, group: dict[str, Any]) -> None:
        params = [param for param in group["params"] if param.grad is not None]
        if not params:
            return
        number, states = number_of(params[0]), [self.state[param] for param in params]
        for param, state in zip(params, states, strict=True):
            if not state:
                refuse_new_state(self, param)
                state.update(self._first_state(param, group, number))
        with flambeau.no_grad():
            vectors = counters(self, states, params[0])
            counted = dict(vectors)
            key = self._advance(params[0], counted, group, number)
            scalars = self._scalars(group, key, number)
        rule = self._rules(group, key)[self._decays(group), bool(group["maximize"])]
        grads = [param.grad for param in params]
        self._apply(rule, group, (params, states, grads), scalars)
        with flambeau.no_grad():
            for name, vector in vectors.items():
                vector.copy_(counted[name])

    def _record_group(self, group: dict[str, Any]) -> None:
        """The same for differentiable steps."""
        for key, (params, states, grads) in self._advance_all(group, recordable).items():
            rule = self._rules(group, key)[self._decays(group), bool(group["maximize"])]
            scalars = self._scalars(group, key, recordable)
            if rule.decays:
                scalars += (recordable(group["weight_decay"]),)
            columns = [params, *self._state_columns(rule, group, params, states), grads]
            record_update(rule, columns, states, scalars)

    def _advance_all(self, group: dict[str, Any], number: Number = float) -> dict[Any, Columns]:
        """Count a step for every parameter with a gradient.

        By key the parameters, their states and their gradients.
        """
        by_key: dict[Any, Columns] = {}
        advance, all_states = self._advance, self.state
        if number is not float:
            advance = partial(advance, number=number)
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = all_states[param]
            if not state:
                state.update(self._first_state(param, group, number))
            params, states, grads = by_key.setdefault(advance(param, state, group), ([], [], []))
            params.append(param)
            states.append(state)
            grads.append(grad)
        return by_key

    def _state_columns(
        self, rule: UpdateRule, group: dict[str, Any], params: list[Tensor], states: list[Any]
    ) -> list[list[Tensor]]:
        try:
            return [[state[name] for state in states] for name in rule.writes[1:]]
        except KeyError:
            # An option such as amsgrad was turned on after the first steps.
            for param, state in zip(params, states, strict=True):
                for name, value in self._first_state(param, group).items():
                    state.setdefault(name, value)
            return [[state[name] for state in states] for name in rule.writes[1:]]


def _has_tensors(group: dict[str, Any]) -> bool:
    """Whether an option is a tensor, or a pair of options has one."""
    return any(isinstance(value, Tensor) for value in (group["lr"], *group.get("betas", ())))


def _as_real(operand: Tensor) -> Tensor:
    return flambeau.view_as_real(operand.detach()) if operand.is_complex() else operand


def zeros(param: Tensor, *names: str) -> dict[str, Any]:
    """A first state: no steps, and zeros of the parameter's kind."""
    return {"step": 0, **{name: flambeau.zeros_like(param) for name in names}}


def averages(param: Tensor) -> dict[str, Any]:
    """Running averages of the gradient and of its square, before the first step."""
    return {name: flambeau.zeros_like(param) for name in ("exp_avg", "exp_avg_sq")}
