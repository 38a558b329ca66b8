"""A step of an optimizer as a function of lists, as `torch.optim.adam.adam` is one."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from flambeau import rooms
from flambeau.core import Tensor


class _Step(NamedTuple):
    """Which optimizer a function takes a step of, and what its lists are in the state."""

    optimizer: str
    lists: dict[str, str]


_STEPS = {
    "adadelta": _Step("Adadelta", {"square_avgs": "square_avg", "acc_deltas": "acc_delta"}),
    "adagrad": _Step("Adagrad", {"state_sums": "sum"}),
    **{name: _Step(kind, {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq",
                          "max_exp_avg_sqs": "max_exp_avg_sq"})
       for name, kind in (("adam", "Adam"), ("adamw", "AdamW"))},
    "adamax": _Step("Adamax", {"exp_avgs": "exp_avg", "exp_infs": "exp_inf"}),
    "asgd": _Step("ASGD", {"axs": "ax", "mus": "mu", "etas": "eta"}),
    "nadam": _Step("NAdam", {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq",
                             "mu_products": "mu_product"}),
    "radam": _Step("RAdam", {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq"}),
    "rmsprop": _Step("RMSprop", {"square_avgs": "square_avg", "grad_avgs": "grad_avg",
                                 "momentum_buffer_list": "momentum_buffer"}),
    "rprop": _Step("Rprop", {"prevs": "prev", "step_sizes": "step_size"}),
    "sgd": _Step("SGD", {"momentum_buffer_list": "momentum_buffer"}),
}

#: Options that optimizers take in pairs.
_PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"),
          "step_sizes": ("step_size_min", "step_size_max")}
#: What changes nothing here, and what is not computed: it has to be left out, or false.
_WITHOUT_EFFECT = ("foreach", "fused", "capturable", "has_complex", "has_sparse_grad")
_REFUSED = ("differentiable", "grad_scale", "found_inf")


def _made(name: str) -> Any:
    """The function that takes a step of an optimizer."""
    kind, names = _STEPS[name]
    in_order = [*names, *["state_steps"] * (name != "sgd")]

    def step(params: Sequence[Tensor], grads: Sequence[Tensor], *lists: list[Any],
             **options: Any) -> None:
        if len(lists) > len(in_order):
            raise TypeError(f"{name}(): only {', '.join(in_order)} are given by position; write "
                            "the others by name")
        given = dict(zip(in_order, lists, strict=False))
        given |= {each: options.pop(each) for each in in_order if each in options}
        if name == "sgd" and "d_p_list" in options:
            grads = options.pop("d_p_list")
        _take(kind, {names.get(each, "step"): given[each] for each in given},
              params, grads, _options(name, options))

    step.__name__ = step.__qualname__ = name
    step.__doc__ = f"A step of ``{kind}`` on lists of parameters, gradients and state."
    return step


def _options(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of the optimizer."""
    for each in _REFUSED:
        if given.pop(each, None) not in (None, False):
            raise NotImplementedError(f"{name}(): {each} is not computed here; use the optimizer's "
                                      "class")
    options = {each: value for each, value in given.items() if each not in _WITHOUT_EFFECT}
    for pair, parts in _PAIRS.items():
        if parts[0] in options:
            options[pair] = tuple(options.pop(part) for part in parts)
    return options


def _take(kind: str, lists: dict[str, list[Any]], params: Sequence[Tensor],
          grads: Sequence[Tensor], options: dict[str, Any]) -> None:
    """Have an optimizer with this state take a step, and leave its state in the lists."""
    if not params:
        return
    own = [param.detach() for param in params]
    optimizer = getattr(rooms.enter("optim"), kind)(own, **options)
    filled = {key: values for key, values in lists.items() if len(values) == len(params)}
    for i, (param, grad) in enumerate(zip(own, grads, strict=True)):
        param.grad = grad
        optimizer.state[param] = {key: _as_kept(key, values[i]) for key, values in filled.items()}
    optimizer.step()
    for i, param in enumerate(own):
        for key, values in filled.items():
            values[i] = _written(values[i], optimizer.state[param].get(key))


#: What optimizers keep as numbers, and PyTorch's functions take as tensors of one.
_NUMBERS = ("step", "mu", "eta", "mu_product")


def _as_kept(key: str, value: Any) -> Any:
    if key not in _NUMBERS:
        return value
    return int(value) if key == "step" else float(value)


def _written(before: Any, after: Any) -> Any:
    """What a list has after the step: the same tensor, with its new value."""
    if not isinstance(before, Tensor) or after is before:
        return after
    return before.copy_(after) if isinstance(after, Tensor) else before.fill_(after)


adadelta, adagrad, adam, adamax = map(_made, ("adadelta", "adagrad", "adam", "adamax"))
adamw, asgd, nadam, radam = map(_made, ("adamw", "asgd", "nadam", "radam"))
rmsprop, rprop, sgd = map(_made, ("rmsprop", "rprop", "sgd"))
