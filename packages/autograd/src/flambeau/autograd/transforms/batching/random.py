"""Random operators: one draw for all samples, one for each, or an error that asks which."""
from __future__ import annotations

from flambeau.autograd.transforms.batching.basics import call, front
from flambeau.autograd.transforms.batching.loop import loop
from flambeau.core import find_op, op_keys

__all__ = ["RANDOM", "random_rule", "refuse_same"]

#: Operators that draw, by their definitions; composites call these.
RANDOM = tuple([key for key in op_keys()
                if find_op(key).random and find_op(key).category != "composite"])


def random_rule(level, op, args, flags):
    """Results of a random operator, and whether they are batches."""
    if level.randomness == "error":
        raise RuntimeError(
            f"vmap: called random operation {op.name}() while in randomness error mode. Please "
            "either use the 'same' or 'different' randomness flags on vmap or perform the "
            "randomness operation out of vmap")
    if level.randomness == "same":
        return _same(level, op, args, flags)
    whole = [front(a, f, level.size) for a, f in zip(args, flags, strict=True)]
    if op.key not in ("random_permutation", "multinomial"):     # of the shape of their tensors
        return (call(op, whole),), True
    return loop(level, op, whole, [hasattr(a, "ndim") for a in whole], None, warns=False), True


def _same(level, op, args, flags):
    """The first sample's draw; one whose rates differ between samples has to differ too."""
    if not any(flags):
        return (call(op, args),), False
    if op.key in ("bernoulli", "poisson", "binomial", "multinomial", "standard_gamma",
                  "sample_dirichlet"):
        refuse_same(op.name)
    first = [call("select", (a, 0, 0)) if f else a for a, f in zip(args, flags, strict=True)]
    return (call(op, first),), False


def refuse_same(name: str) -> None:
    """Raise the error for samples that have distributions of their own."""
    raise RuntimeError(
        f"vmap: {name}() of a batched tensor draws from a different distribution for each "
        "sample, so randomness='same' cannot give all of them the same numbers: use "
        "randomness='different', or draw numbers of one distribution and scale, or compare, them")
