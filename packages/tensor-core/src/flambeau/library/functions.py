"""The custom function of a registered operator: how it is differentiated and batched."""
from __future__ import annotations

from typing import Any

from flambeau import Tensor, rooms
from flambeau.core.pytree import tree_flatten, tree_unflatten
from flambeau.library.calls import run
from flambeau.library.operators import Definition


class Shape:
    """How arguments and results of a call are put together from their leaves."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.made: Any = None

    def flat(self, result: Any) -> Any:
        """Results as autograd wants them: a tuple."""
        leaves, self.made = tree_flatten(result)
        return tuple(leaves)

    def result(self, flat: Any) -> Any:
        """The results from that tuple."""
        return tree_unflatten(list(flat) if isinstance(flat, (tuple, list)) else [flat], self.made)


def custom_function(op: Definition) -> type:
    """The subclass of ``autograd.Function`` that calls an operator.

    Its arguments are the ``Shape`` of the call, and the leaves of the operator's arguments.
    """
    Function: Any = rooms.enter("autograd").Function

    class Call(Function):
        """One call; lists of tensors are spread over the arguments, as autograd sees them."""

        @staticmethod
        def forward(shape, *leaves):
            args, named = tree_unflatten(list(leaves), shape.given)
            return shape.flat(run(op, args, named))

        @staticmethod
        def setup_context(ctx, inputs, output):
            shape, *leaves = inputs
            ctx._shape = shape
            if op.backward is None or op.setup_context is None:
                return
            args, named = tree_unflatten(leaves, shape.given)
            given = {"keyword_only_inputs": named} if named else {}
            op.setup_context(ctx, inputs=args, output=shape.result(output), **given)

        @staticmethod
        def backward(ctx, *grads):
            if op.backward is None:
                raise RuntimeError(
                    f"Trying to backward through {op.overload()} but no autograd formula was "
                    f"registered. Please use flambeau.library.register_autograd(\"{op.name}\", "
                    "backward) to add one")
            together = ctx._shape.result(grads)
            found = op.backward(ctx, *(together if isinstance(together, tuple) else (together,)))
            return None, *_spread(op, ctx._shape.given, found)

        @staticmethod
        def vmap(info, in_dims, shape, *leaves):
            args, named = tree_unflatten(list(leaves), shape.given)
            dims, named_dims = tree_unflatten(list(in_dims[1:]), shape.given)
            if op.vmap is None:
                result, out = _one_by_one(op, info, args, named, dims, named_dims)
            else:
                result, out = op.vmap(info, (*dims, *named_dims.values()), *args, **named)
            flat = shape.flat(result)
            wheres = tree_flatten(out)[0] if isinstance(out, (tuple, list)) else [out] * len(flat)
            return flat, tuple(wheres)

    Call.__name__ = Call.__qualname__ = f"{op.name.replace('::', '_')}"
    return Call


def _spread(op: Definition, spec: Any, found: Any) -> list[Any]:
    """Gradients of the positional arguments as those of the leaves."""
    grads = found if isinstance(found, tuple) else (found,)
    args_spec, named_spec = spec.children_specs
    if len(grads) != args_spec.num_children:
        raise RuntimeError(f"{op.name}: the backward function returned {len(grads)} gradients, "
                           f"expected {args_spec.num_children}: one for each argument, None for "
                           "those without")
    spread: list[Any] = []
    for grad, child in zip(grads, args_spec.children_specs, strict=True):
        count = _leaves(child)
        if child.type is None:
            spread.append(grad)
        elif grad is None:
            spread += [None] * count
        else:
            if not isinstance(grad, (list, tuple)) or len(grad) != count:
                raise RuntimeError(f"{op.name}: expected a list of {count} gradients for an "
                                   "argument that is a list of tensors")
            spread += list(grad)
    return spread + [None] * _leaves(named_spec)


def _leaves(spec: Any) -> int:
    return int(spec.num_leaves)


def _one_by_one(op: Definition, info: Any, args: Any, named: Any, dims: Any,
                named_dims: Any) -> tuple[Any, int]:
    """Without a rule for batches: the operator of each sample, results stacked."""
    import flambeau
    from flambeau.library.calls import call

    values, spec = tree_flatten((args, named))
    wheres = tree_flatten((dims, named_dims))[0]
    made = []
    for number in range(info.batch_size):
        sample = [v.select(d, number) if isinstance(v, Tensor) and d is not None else v
                  for v, d in zip(values, wheres, strict=True)]
        own_args, own_named = tree_unflatten(sample, spec)
        made.append(tree_flatten(call(op, tuple(own_args), own_named)))
    stacked = [flambeau.stack(list(parts)) for parts in zip(*[m[0] for m in made], strict=True)]
    return tree_unflatten(stacked, made[0][1]), 0
