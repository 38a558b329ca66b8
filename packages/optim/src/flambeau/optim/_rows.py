"""The update of every optimizer as one formula: a row of the operator table.

A row is applied to one parameter at a time, in one pass over memory: it reads its operands,
computes all outputs element by element and writes them back in place. Learning rates and
everything that depends on the step number are run-time scalars, so a change of them compiles
nothing. They are computed in double precision before they are rounded to the dtype of the
parameter; that is why ``1 - beta`` is a scalar of its own.
"""

from __future__ import annotations

from typing import NamedTuple


class UpdateRow(NamedTuple):
    """One update.

    ``writes`` and ``reads`` name the operands, ``scalars`` the numbers; ``outputs`` holds a
    formula for every operand in ``writes``.
    """

    name: str
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    scalars: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def schema(self) -> str:
        """The schema that registers the row."""
        operands = [f"Tensor(!) {name}" for name in self.writes]
        operands += [f"Tensor {name}" for name in self.reads]
        scalars = [f"Float {name}" for name in self.scalars]
        results = ", ".join(f"Tensor {name}" for name in self.writes)
        return f"{self.name}({', '.join([*operands, '*', *scalars])}) -> ({results})"

    @property
    def formula(self) -> str:
        """The outputs, separated by commas."""
        return ", ".join(self.outputs)


# The gradient of what is minimized. ``sign`` is -1 to maximize. Without weight decay the
# parameter does not enter, so that an infinite one does not become nan.
_GRAD = "(sign * grad + weight_decay * param if weight_decay != 0 else sign * grad)"

_BUFFER = f"(momentum * momentum_buffer + undamped * {_GRAD})"
_DIRECTION = f"({_GRAD} + momentum * {_BUFFER} if nesterov != 0 else {_BUFFER})"

SGD = UpdateRow(
    name="optim_sgd",
    writes=("param",),
    reads=("grad",),
    scalars=("lr", "weight_decay", "sign"),
    outputs=(f"param - lr * {_GRAD}",),
)

SGD_MOMENTUM = UpdateRow(
    name="optim_sgd_momentum",
    writes=("param", "momentum_buffer"),
    reads=("grad",),
    scalars=("lr", "momentum", "undamped", "nesterov", "weight_decay", "sign"),
    outputs=(f"param - lr * {_DIRECTION}", _BUFFER),
)

_EXP_AVG = f"(beta1 * exp_avg + one_minus_beta1 * {_GRAD})"
_EXP_AVG_SQ = f"(beta2 * exp_avg_sq + one_minus_beta2 * {_GRAD} * {_GRAD})"
_MAX_SQ = f"maximum(max_exp_avg_sq, {_EXP_AVG_SQ})"
_ADAM_SCALARS = (
    "step_size",  # lr / (1 - beta1**step)
    "beta1",
    "one_minus_beta1",
    "beta2",
    "one_minus_beta2",
    "root_correction2",  # sqrt(1 - beta2**step)
    "eps",
    "keep",  # 1 - lr * decoupled weight decay
    "weight_decay",
    "sign",
)


def _adam_param(square: str) -> str:
    return f"keep * param - step_size * ({_EXP_AVG} / (sqrt({square}) / root_correction2 + eps))"


ADAM = UpdateRow(
    name="optim_adam",
    writes=("param", "exp_avg", "exp_avg_sq"),
    reads=("grad",),
    scalars=_ADAM_SCALARS,
    outputs=(_adam_param(_EXP_AVG_SQ), _EXP_AVG, _EXP_AVG_SQ),
)

ADAM_AMSGRAD = UpdateRow(
    name="optim_adam_amsgrad",
    writes=("param", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
    reads=("grad",),
    scalars=_ADAM_SCALARS,
    outputs=(_adam_param(_MAX_SQ), _EXP_AVG, _EXP_AVG_SQ, _MAX_SQ),
)

ROWS = (SGD, SGD_MOMENTUM, ADAM, ADAM_AMSGRAD)
