"""What optimizers of libraries take from `torch.optim.optimizer`."""
from __future__ import annotations

import functools
from typing import Any

import flambeau
from flambeau import rooms
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


def _strong_wolfe(obj_func: Any, x: Any, t: Any, d: Tensor, f: Any, g: Tensor, gtd: Any,
                  c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9,
                  max_ls: int = 25) -> tuple[float, Tensor, float, int]:
    """A step length that satisfies the strong Wolfe conditions, as `LBFGS` finds it.

    Args:
        obj_func: Called with ``x``, a step length and ``d``: the loss and the gradient there.
        x: Where the line starts.
        t: The first step length to try.
        d: The direction.
        f: The loss at ``x``.
        g: The gradient at ``x``.
        gtd: The slope at ``x`` along ``d``.
        c1: Of the descent that the slope promises, what has to come true.
        c2: Of the slope, what may remain.
        tolerance_change: The least difference that counts.
        max_ls: Evaluations besides the first.

    Returns:
        The loss, the gradient, the step length, and the number of evaluations.
    """
    search = rooms.import_module(f"{rooms.PREFIX}optim._line_search")
    if (c1, c2, tolerance_change) != (search.ARMIJO, search.CURVATURE, search.TOLERANCE):
        raise NotImplementedError("_strong_wolfe(): c1, c2 and tolerance_change are 1e-4, 0.9 and "
                                  "1e-9 here")

    def evaluate(t: float) -> Any:
        loss, gradient = obj_func(x, t, d)
        return search.Point(float(t), float(loss), gradient.clone(), float(gradient.dot(d)))

    best, evaluations = search.strong_wolfe(
        evaluate, search.Point(0.0, float(f), g, float(gtd)), float(t), float(d.abs().max()),
        max_ls)
    return best.loss, best.grad, best.t, evaluations


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any,
                       bounds: Any = None) -> float:
    """The minimum of the cubic with the values and slopes of two points, within bounds."""
    search = rooms.import_module(f"{rooms.PREFIX}optim._line_search")
    points = [search.Point(float(t), float(f), None, float(g))
              for t, f, g in ((x1, f1, g1), (x2, f2, g2))]
    lower, upper = sorted((float(x1), float(x2))) if bounds is None else map(float, bounds)
    return float(search.cubic_minimum(*points, (lower, upper)))
