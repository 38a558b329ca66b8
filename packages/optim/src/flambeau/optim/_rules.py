"""The update of every optimizer as one formula: a rule that is registered as an operator.

A rule is applied to one parameter at a time, in one pass over memory: it reads its operands,
computes all outputs element by element and writes them back in place. Learning rates and
everything that depends on the step number are run-time scalars, so a change of them compiles
nothing. They are computed in double precision before they are rounded to the dtype of the
parameter; that is why ``1 - beta`` is a scalar of its own.

In the formulas ``g`` stands for the gradient of what is minimized: its sign is turned to maximize,
and weight decay adds to it. Every rule therefore exists four times. Where there is no weight decay
the parameter does not enter, so that an infinite one does not become nan.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class UpdateRule(NamedTuple):
    """One update.

    ``writes`` names the operands besides the gradient, ``scalars`` the numbers besides the weight
    decay; ``outputs`` holds a formula for every operand in ``writes``, ``gradient`` what ``g`` is.
    """

    name: str
    writes: tuple[str, ...]
    scalars: tuple[str, ...]
    outputs: tuple[str, ...]
    gradient: str

    @property
    def schema(self) -> str:
        """The schema that registers the rule."""
        operands = [*(f"Tensor(!) {name}" for name in self.writes), "Tensor grad"]
        scalars = [f"Float {name}" for name in self.numbers]
        results = ", ".join(f"Tensor {name}" for name in self.writes)
        return f"{self.name}({', '.join([*operands, '*', *scalars])}) -> ({results})"

    @property
    def numbers(self) -> tuple[str, ...]:
        """All run-time scalars in order."""
        return (*self.scalars, "weight_decay") if self.decays else self.scalars

    @property
    def decays(self) -> bool:
        """Whether weight decay adds to the gradient."""
        return "weight_decay" in self.gradient

    @property
    def formula(self) -> str:
        """The outputs, separated by commas."""
        return re.sub(r"\bg\b", self.gradient, ", ".join(self.outputs))


Rules = dict[tuple[bool, bool], UpdateRule]

# By (weight decay, maximize) the end of the rule's name and the gradient.
_VARIANTS = {
    (False, False): ("", "grad"),
    (False, True): ("_ascent", "(-grad)"),
    (True, False): ("_decay", "fma(weight_decay, param, grad)"),
    (True, True): ("_decay_ascent", "fma(weight_decay, param, -grad)"),
}


def _rules(name: str, scalars: str, **outputs: str) -> Rules:
    """The rules of an update, by (weight decay, maximize)."""
    facts = tuple(outputs), tuple(scalars.split()), tuple(outputs.values())
    return {key: UpdateRule(name + end, *facts, g) for key, (end, g) in _VARIANTS.items()}


# What several optimizers keep: running averages of the gradient and of its square.
_EXP_AVG = "fma(beta1, exp_avg, one_minus_beta1 * g)"
_EXP_AVG_SQ = "fma(beta2, exp_avg_sq, one_minus_beta2 * (g * g))"
_AVERAGES = {"exp_avg": _EXP_AVG, "exp_avg_sq": _EXP_AVG_SQ}
_BETAS = "beta1 one_minus_beta1 beta2 one_minus_beta2"

_BUFFER = "fma(momentum, momentum_buffer, undamped * g)"
SGD = _rules("optim_sgd", "lr", param="param - lr * g")
SGD_MOMENTUM = _rules(
    "optim_sgd_momentum",
    "lr momentum undamped",
    param=f"param - lr * {_BUFFER}",
    momentum_buffer=_BUFFER,
)
SGD_NESTEROV = _rules(
    "optim_sgd_nesterov",
    "lr momentum undamped",
    param=f"param - lr * fma(momentum, {_BUFFER}, g)",
    momentum_buffer=_BUFFER,
)

# The bias corrections are in minus_step = -lr * root2 / (1 - beta1**step) and in eps, which is
# multiplied by root2 = sqrt(1 - beta2**step). keep = 1 - lr * decoupled weight decay.
_ADAM_SCALARS = f"minus_step {_BETAS} eps keep"
_MAX_SQ = f"maximum(max_exp_avg_sq, {_EXP_AVG_SQ})"


def _adam_param(square: str) -> str:
    return f"fma(minus_step, {_EXP_AVG} / (sqrt({square}) + eps), keep * param)"


ADAM = _rules("optim_adam", _ADAM_SCALARS, param=_adam_param(_EXP_AVG_SQ), **_AVERAGES)
ADAM_AMSGRAD = _rules(
    "optim_adam_amsgrad",
    _ADAM_SCALARS,
    param=_adam_param(_MAX_SQ),
    **_AVERAGES,
    max_exp_avg_sq=_MAX_SQ,
)

# RAdam is Adam with another step size once enough steps are behind it; before, it only averages.
RADAM_EARLY = _rules(
    "optim_radam_early",
    f"minus_step {_BETAS} keep",
    param=f"fma(minus_step, {_EXP_AVG}, keep * param)",
    **_AVERAGES,
)

# Both in one, where the number of the step lies on a device.
RADAM_COUNTED = _rules(
    "optim_radam_counted",
    f"minus_step {_BETAS} eps keep early",
    param=f"fma(minus_step, {_EXP_AVG} / (1 if early == 1 else sqrt({_EXP_AVG_SQ}) + eps),"
    " keep * param)",
    **_AVERAGES,
)

NADAM = _rules(
    "optim_nadam",
    f"of_average of_gradient {_BETAS} eps keep",
    param=f"keep * param - fma(of_average, {_EXP_AVG}, of_gradient * g)"
    f" / (sqrt({_EXP_AVG_SQ}) + eps)",
    **_AVERAGES,
)

_EXP_INF = "maximum(beta2 * exp_inf, abs(g) + eps)"
ADAMAX = _rules(
    "optim_adamax",
    "step_size beta1 one_minus_beta1 beta2 eps",
    param=f"param - step_size * ({_EXP_AVG} / {_EXP_INF})",
    exp_avg=_EXP_AVG,
    exp_inf=_EXP_INF,
)

_SUM = "fma(g, g, sum)"
ADAGRAD = _rules(
    "optim_adagrad",
    "step_size eps",
    param=f"param - step_size * (g / (sqrt({_SUM}) + eps))",
    sum=_SUM,
)

_DELTA_SQ = "fma(rho, square_avg, one_minus_rho * (g * g))"
_DELTA = f"(sqrt(acc_delta + eps) / sqrt({_DELTA_SQ} + eps) * g)"
ADADELTA = _rules(
    "optim_adadelta",
    "lr rho one_minus_rho eps",
    param=f"param - lr * {_DELTA}",
    square_avg=_DELTA_SQ,
    acc_delta=f"fma(rho, acc_delta, one_minus_rho * ({_DELTA} * {_DELTA}))",
)

_RMS_SQ = "fma(alpha, square_avg, one_minus_alpha * (g * g))"
_RMS_AVG = "fma(alpha, grad_avg, one_minus_alpha * g)"
_RMS_SCALARS = "lr alpha one_minus_alpha eps"
# The variance of a gradient that hardly changes is a small difference, which must not be negative.
_RMS_ROOTS = {
    False: f"(sqrt({_RMS_SQ}) + eps)",
    True: f"(sqrt(maximum({_RMS_SQ} - {_RMS_AVG} * {_RMS_AVG}, 0)) + eps)",
}


def _rmsprop(centered: bool, momentum: bool) -> Rules:
    direction = f"(g / {_RMS_ROOTS[centered]})"
    name, scalars, states = "optim_rmsprop", _RMS_SCALARS, {"square_avg": _RMS_SQ}
    if centered:
        name += "_centered"
        states["grad_avg"] = _RMS_AVG
    if momentum:
        name += "_momentum"
        scalars += " momentum"
        direction = f"fma(momentum, momentum_buffer, {direction})"
        states["momentum_buffer"] = direction
    return _rules(name, scalars, param=f"param - lr * {direction}", **states)


# By (centered, momentum).
RMSPROP = {(c, m): _rmsprop(c, m) for c in (False, True) for m in (False, True)}

# The step grows where the gradient keeps its sign and shrinks where it turned, and there the
# gradient is forgotten.
_AGREES = "(g * prev)"
_FACTOR = f"(etaplus if {_AGREES} > 0 else etaminus if {_AGREES} < 0 else 1)"
_STEP_SIZE = f"minimum(maximum(step_size * {_FACTOR}, least), greatest)"
_KEPT = f"(0 if {_AGREES} < 0 else g)"
RPROP = _rules(
    "optim_rprop",
    "etaminus etaplus least greatest",
    param=f"(param - {_STEP_SIZE} if {_KEPT} > 0 else"
    f" param + {_STEP_SIZE} if {_KEPT} < 0 else param)",
    prev=_KEPT,
    step_size=_STEP_SIZE,
)

_MOVED = "(keep * param - eta * g)"
ASGD = _rules(
    "optim_asgd",
    "eta keep mu",
    param=_MOVED,
    ax=f"({_MOVED} if mu == 1 else fma(mu, {_MOVED} - ax, ax))",
)

# The last part of steps whose direction is not computed element by element; they decay apart.
SHRINK_AND_MOVE = _rules(
    "optim_shrink_and_move", "step_size keep", param="keep * param - step_size * g"
)[False, False]

RULES = (
    *(
        rule
        for rules in (
            SGD,
            SGD_MOMENTUM,
            SGD_NESTEROV,
            ADAM,
            ADAM_AMSGRAD,
            RADAM_EARLY,
            RADAM_COUNTED,
            NADAM,
            ADAMAX,
            ADAGRAD,
            ADADELTA,
            *RMSPROP.values(),
            ASGD,
        )
        for rule in rules.values()
    ),
    RPROP[False, False],
    RPROP[False, True],
    SHRINK_AND_MOVE,
)
