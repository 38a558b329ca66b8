"""Update rules as recorded tensor operations, for ``differentiable=True``.

The formula of a rule is read once more, and each of its operations done by the tensor operation of
that name, which records how its result is differentiated. No optimizer has a second formula.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau import Tensor

from ._rules import UpdateRule

if TYPE_CHECKING:
    from flambeau.core.formula import Expr

_HALVES = (flambeau.float16, flambeau.bfloat16)


def record_update(
    rule: UpdateRule,
    columns: Sequence[Sequence[Tensor]],
    states: Sequence[dict[str, Any]],
    scalars: Sequence[Any],
) -> None:
    """Update parameters in place and replace their state, all of it recorded.

    Args:
        rule: What to compute.
        columns: For every operand of the rule its tensors, one for each parameter; the parameters
            first, the gradients last.
        states: The state of each parameter; none, if the rule writes nothing but the parameter.
        scalars: The run-time scalars in the rule's order: numbers, or tensors of one element.
    """
    for i, operands in enumerate(zip(*columns, strict=True)):
        param, *state = outputs_of(rule, operands, scalars)
        operands[0].copy_(param)
        for name, value in zip(rule.writes[1:], state, strict=True):
            # Other steps may have to read what the state was: it is not written over.
            states[i][name] = value


def recordable(value: Any) -> Any:
    """An option as a number in double precision; a tensor, if its gradient may be asked for."""
    if isinstance(value, Tensor) and value.requires_grad:
        return value.to(flambeau.float64).reshape(())
    return float(value)


def check_recordable(params: Sequence[Tensor]) -> None:
    """Refuse parameters that cannot be changed where the change is recorded.

    Raises:
        RuntimeError: One is a leaf that requires a gradient.
    """
    for i, param in enumerate(params):
        if param.requires_grad and param.is_leaf:
            raise RuntimeError(
                f"differentiable=True: parameter {i} of the group is a leaf that requires a "
                "gradient, which a recorded step cannot change in place. Give the optimizer "
                "copies that are not leaves, [p.clone() for p in params], and compute the loss "
                "from them"
            )


def outputs_of(
    rule: UpdateRule, operands: Sequence[Tensor], scalars: Sequence[Any]
) -> list[Tensor]:
    """The new values of what the rule writes, in the dtype and on the device that it has."""
    first, *rest = operands
    # The copy is what later gradients read, for the parameter itself is written over.
    values = [_as_computed(operand) for operand in (first.clone(), *rest)]
    names = dict(zip((*rule.writes, "grad"), values, strict=True))
    names.update((n, _scalar(s, values[0])) for n, s in zip(rule.numbers, scalars, strict=True))
    outputs = _evaluate(rule, names)
    if first.is_complex():
        outputs = [flambeau.view_as_complex(output) for output in outputs]
    return [output.to(old.dtype) for output, old in zip(outputs, operands, strict=False)]


def _as_computed(operand: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, halves in single precision, as in a fused update."""
    if operand.is_complex():
        return flambeau.view_as_real(operand)
    return operand.to(flambeau.float32) if operand.dtype in _HALVES else operand


def _scalar(value: Any, like: Tensor) -> Tensor:
    """A number as a tensor without dimensions."""
    if isinstance(value, Tensor):
        return value.reshape(()).to(device=like.device, dtype=like.dtype)
    return flambeau.full((), value, dtype=like.dtype, device=like.device)


@functools.cache
def _expressions(rule: UpdateRule) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The formulas of a rule, and all nodes of them, each after its arguments."""
    # The formula language is not loaded with the optimizers: few steps are differentiable.
    from flambeau.core.formula import parse
    from flambeau.core.formula.expr import postorder

    roots = parse(rule.formula, (*rule.writes, "grad"), rule.numbers)
    return roots, tuple(postorder(roots))


def _evaluate(rule: UpdateRule, names: dict[str, Tensor]) -> list[Tensor]:
    roots, nodes = _expressions(rule)
    values: dict[Expr, Tensor] = {}
    for node in nodes:
        if node.op == "const":
            values[node] = _scalar(node.value, names["param"])
        elif node.op in ("param", "scalar"):
            values[node] = names[str(node.value)]
        else:
            values[node] = _OPERATIONS[node.op](*(values[arg] for arg in node.args))
    return [values[root] for root in roots]


def _root(x: Tensor) -> Tensor:
    """The square root, whose slope at 0 is taken to be 0.

    There it is the root of a sum of squares that are all 0, times an average that is 0, too: what
    flows through it is 0, not 0 times infinity.
    """
    nothing = x == 0
    return flambeau.where(nothing, x, flambeau.where(nothing, 1.0, x).sqrt())


_OPERATIONS: dict[str, Callable[..., Tensor]] = {
    "add": flambeau.add,
    "sub": flambeau.sub,
    "mul": flambeau.mul,
    "div": flambeau.div,
    "neg": flambeau.neg,
    "abs": flambeau.abs,
    "fma": lambda a, b, c: a * b + c,
    "sqrt": _root,
    "maximum": flambeau.maximum,
    "minimum": flambeau.minimum,
    "select": flambeau.where,
    "eq": flambeau.eq,
    "lt": flambeau.lt,
    "gt": flambeau.gt,
}
