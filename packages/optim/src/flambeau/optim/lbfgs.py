"""L-BFGS: Newton's method with a Hessian estimated from the last steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import check_rate
from ._line_search import Point, strong_wolfe
from .optimizer import Optimizer, call_recorded, unrecorded

Closure = Callable[[], Any]


class LBFGS(Optimizer):
    r"""L-BFGS (Liu and Nocedal, On the Limited Memory BFGS Method, 1989).

    Every step takes up to ``max_iter`` iterations: with the differences ``y`` of gradients and
    ``s`` of parameters over the last ``history_size`` of them, the direction ``-H g`` comes from
    the two-loop recursion, and the length of the step is ``lr``, or found by a search for the
    strong Wolfe conditions. It needs a closure, and memory for ``2 * history_size`` copies of the
    parameters.

    Args:
        params: Parameters, or (name, parameter) pairs: one group.
        lr: The length of a step, or the first length that the search tries.
        max_iter: Iterations in a step.
        max_eval: Evaluations of the closure in a step; a quarter more than ``max_iter`` if left
            out.
        tolerance_grad: Stop when no element of the gradient is greater.
        tolerance_change: Stop when neither a parameter nor the loss changes by more.
        history_size: How many differences are kept.
        line_search_fn: ``None`` or ``"strong_wolfe"``.

    Raises:
        ValueError: There are several groups, or an option is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([4.0, -2.0], requires_grad=True)
        >>> optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((x - 1) ** 4).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).detach()
        tensor(162.)
        >>> bool(closure() < 1e-6)
        True
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(f'line_search_fn is None or "strong_wolfe", not {line_search_fn!r}')
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS treats all parameters alike: give one group, not several")

    def step(self, closure: Closure | None = None) -> Any:
        """Take up to ``max_iter`` iterations.

        Args:
            closure: Clears the gradients, computes the loss and its gradients, returns the loss.

        Returns:
            The loss before the step.

        Raises:
            TypeError: There is no closure.
        """
        if closure is None:
            raise TypeError(
                "LBFGS.step(closure) evaluates the loss several times: pass a function that "
                "clears the gradients, computes the loss, calls backward() and returns the loss"
            )
        with unrecorded(self.param_groups):
            return _Descent(self, closure).run()


class _Descent:
    """One step: the iterations, on all parameters as one vector."""

    def __init__(self, optimizer: LBFGS, closure: Closure) -> None:
        self.options = optimizer.param_groups[0]
        self.params = self.options["params"]
        self.closure = closure
        # All state belongs to the first parameter, as in PyTorch.
        self.state = optimizer.state[self.params[0]]
        self.state.setdefault("func_evals", 0)
        self.state.setdefault("n_iter", 0)
        self.evaluations = 0
        self.loss = 0.0
        self.grad = self.direction = flambeau.zeros(0)

    def run(self) -> Any:
        """Iterate until nothing changes any more."""
        first_loss = self.evaluate()
        if self.has_arrived():
            return first_loss
        for iteration in range(self.options["max_iter"]):
            is_last = iteration == self.options["max_iter"] - 1
            if not self.iterate(is_last) or is_last or self.has_ended():
                break
        return first_loss

    def iterate(self, is_last: bool) -> bool:
        """Find a direction and go along it; False if it does not lead down."""
        state, lr = self.state, float(self.options["lr"])
        state["n_iter"] += 1
        is_first = state["n_iter"] == 1
        if is_first:
            self.direction = self.grad.neg()
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
        else:
            self.remember()
            self.direction = self.newton_direction()
        state["d"] = self.direction
        state["prev_flat_grad"], state["prev_loss"] = self.grad, self.loss
        t = lr * self.first_length() if is_first else lr
        state["t"] = t
        slope = _dot(self.grad, self.direction)
        if slope > -self.options["tolerance_change"]:
            return False
        if self.options["line_search_fn"] is not None:
            self.search(t, slope)
            return True
        self.move(t)
        if not is_last:
            self.evaluate()
        return True

    def first_length(self) -> float:
        """At most 1, and less where the gradient is large: no curvature is known yet."""
        total = float(self.grad.abs().sum())
        return min(1.0, 1.0 / total) if total else 1.0

    def remember(self) -> None:
        """Take in what the last iteration showed of the curvature."""
        state = self.state
        y = self.grad.sub(state["prev_flat_grad"])
        s = state["d"].mul(float(state["t"]))
        curvature = _dot(y, s)
        if not curvature > 1e-10:  # nan teaches nothing either
            return
        if len(state["old_dirs"]) == self.options["history_size"]:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(y)
        state["old_stps"].append(s)
        state["ro"].append(1.0 / curvature)
        state["H_diag"] = curvature / _dot(y, y)

    def newton_direction(self) -> Tensor:
        """Minus the inverse Hessian times the gradient, by the two-loop recursion."""
        history = list(
            zip(*(self.state[name] for name in ("old_dirs", "old_stps", "ro")), strict=True)
        )
        q = self.grad.neg()
        shares = []
        for y, s, ro in reversed(history):
            share = _dot(s, q) * float(ro)
            q.add_(y, alpha=-share)
            shares.append(share)
        q.mul_(float(self.state["H_diag"]))
        for (y, s, ro), share in zip(history, reversed(shares), strict=True):
            q.add_(s, alpha=share - _dot(y, q) * float(ro))
        return q

    def search(self, t: float, slope: float) -> None:
        """Go to a point that satisfies the strong Wolfe conditions."""
        before = [param.detach().clone() for param in self.params]

        def at(length: float) -> Point:
            self.move(length)
            loss = float(call_recorded(self.closure))
            grad = self.flat_gradient()
            for param, old in zip(self.params, before, strict=True):
                param.copy_(old)
            return Point(length, loss, grad, _dot(grad, self.direction))

        start = Point(0.0, self.loss, self.grad, slope)
        scale = float(self.direction.abs().max())
        limit = self.options["max_eval"] - self.evaluations
        best, evaluations = strong_wolfe(at, start, t, scale, limit)
        self.loss, self.grad = best.loss, best.grad
        self.state["t"] = best.t
        self.count(evaluations)
        self.move(best.t)

    def has_ended(self) -> bool:
        """Whether another iteration is not worth while."""
        tolerance = self.options["tolerance_change"]
        if self.evaluations >= self.options["max_eval"] or self.has_arrived():
            return True
        moved = abs(float(self.state["t"])) * float(self.direction.abs().max())
        return moved <= tolerance or abs(self.loss - self.state["prev_loss"]) < tolerance

    def has_arrived(self) -> bool:
        """Whether the gradient is zero."""
        return self.grad.numel() == 0 or bool(
            self.grad.abs().max() <= self.options["tolerance_grad"]
        )

    def evaluate(self) -> Any:
        """The loss and the gradient where the parameters are."""
        loss = call_recorded(self.closure)
        self.loss, self.grad = float(loss), self.flat_gradient()
        self.count(1)
        return loss

    def count(self, evaluations: int) -> None:
        self.evaluations += evaluations
        self.state["func_evals"] += evaluations

    def flat_gradient(self) -> Tensor:
        """All gradients as one vector; complex ones as pairs of real numbers."""
        parts = []
        for param in self.params:
            grad = flambeau.zeros_like(param) if param.grad is None else param.grad
            parts.append(_as_real(grad).reshape(-1))
        return flambeau.cat(parts)

    def move(self, t: float) -> None:
        """Go along the direction."""
        offset = 0
        for param in self.params:
            real = _as_real(param.detach())
            part = self.direction[offset : offset + real.numel()]
            real.add_(part.reshape(real.shape), alpha=t)
            offset += real.numel()


def _as_real(tensor: Tensor) -> Tensor:
    return flambeau.view_as_real(tensor) if tensor.is_complex() else tensor


def _dot(a: Tensor, b: Tensor) -> float:
    return float(a.dot(b))
