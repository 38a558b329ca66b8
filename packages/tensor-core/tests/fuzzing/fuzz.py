"""Calls every operator with odd arguments: ``fuzz.py SEED ROUNDS [NAME ...]``. Only exceptions
may come.

Runs in a process of its own, so that a crash is a failed test and not the end of all. The arguments
of a definition follow from the seed, its key and the round alone: new definitions change nothing
for the others. With FUZZ_TRACE=FILE the file holds the call that is being made, and so the one that
crashed.
"""

from __future__ import annotations

import os
import random
import resource
import sys

import flambeau
from flambeau.core import ops
from flambeau.core.opdefs import OPDEFS
from flambeau.testing.convert import to_values
from flambeau.testing.samples import samples

INTS = [0, 1, 2, 3, -1, -2, 5, 64, -7, 2 ** 31, -2 ** 31, 2 ** 62, 2 ** 63 - 1, -2 ** 63, 2 ** 64]
SHAPES = [(), (0,), (1,), (3,), (5,), (2, 3), (3, 3), (0, 4), (1, 3, 4, 4), (2, 3, 5, 6),
          (2, 1, 0), (3, 1), (1,) * 9]
NAMES = ["bool", "uint8", "int64", "float32", "float64", "bfloat16", "float16", "complex64",
         "int8", "uint64"]


def odd_tensor(rng: random.Random):
    shape = rng.choice(SHAPES)
    x = (flambeau.rand(shape) * 8 - 4).to(getattr(flambeau, rng.choice(NAMES)))
    form = rng.randrange(8)
    if form == 0 and x.ndim > 1:
        return x.transpose(0, -1)
    if form == 1:
        return x.expand(2, *x.shape)
    if form == 2 and x.ndim:
        return x[..., ::2]
    if form == 3:
        return flambeau.empty(shape, dtype=x.dtype, device="meta")
    if form == 4:
        return (x.float() * float("nan")).to(x.dtype)
    return x


def odd_value(rng: random.Random, role: str):
    if rng.random() < 0.15:
        role = rng.choice(["Tensor", "Int", "Float", "Ints", "Other"])
    if role in ("Tensor", "Operand", "Mask"):
        return odd_tensor(rng)
    if role == "Tensors":
        return [odd_tensor(rng) for _ in range(rng.randrange(4))]
    if role in ("Int", "Dim", "Index"):
        return rng.choice(INTS)
    if role in ("Float", "Scalar"):
        return rng.choice([*INTS, 0.5, -1.5, 1e308, float("nan"), float("inf"), 1j, True])
    if role in ("Ints", "Dims", "Shape"):
        return [rng.choice(INTS[:9] if rng.random() < 0.8 else INTS)
                for _ in range(rng.randrange(5))]
    if role == "Bool":
        return rng.choice([True, False])
    if role == "DType":
        return getattr(flambeau, rng.choice(NAMES))
    if role == "Str":
        return rng.choice(["none", "mean", "sum", "tanh", "floor", "x"])
    return rng.choice([None, "cpu", "x", b"y", object(), {}, [], (None,), 2.5])


def described(value) -> str:
    """A tensor by its layout, everything else as it is printed."""
    if isinstance(value, flambeau.Tensor):
        return f"<{value.dtype} {tuple(value.shape)} strides {value.stride()} on {value.device}>"
    if isinstance(value, list):
        return "[" + ", ".join(described(item) for item in value) + "]"
    return repr(value)


def trace(name: str, args: list, options: dict) -> None:
    """Write the call down before it is made; a crash leaves it behind."""
    parts = [described(value) for value in args]
    parts += [f"{key}={described(value)}" for key, value in options.items()]
    with open(os.environ["FUZZ_TRACE"], "w", encoding="utf-8") as file:
        file.write(f"{name}({', '.join(parts)})\n")


def odd_call(rng: random.Random, opdef) -> tuple[list, dict]:
    """Arguments that have little to do with each other."""
    args = [odd_value(rng, p.role) for p in opdef.params if not p.keyword
            and not (p.has_default and rng.random() < 0.4)]
    options = {p.name: odd_value(rng, p.role) for p in opdef.params
               if p.keyword and rng.random() < 0.5}
    return args, options


def changed(rng: random.Random, value, role: str):
    """Something close to a valid argument."""
    if isinstance(value, flambeau.Tensor):
        form = rng.randrange(7)
        if form == 0:
            return value.to(getattr(flambeau, rng.choice(NAMES)))
        if form == 1 and value.ndim:
            return value.transpose(0, -1)
        if form == 2 and value.ndim:
            return value[..., 1:]
        if form == 3:
            return value.unsqueeze(0)
        if form == 4:
            return flambeau.empty(value.shape, dtype=value.dtype, device="meta")
        if form == 5:
            return value[:0] if value.ndim else value.expand(2)
        return value * rng.choice([0, -1, 100])
    if isinstance(value, (list, tuple)) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        kept = list(value)
        kept[at:at + 1] = rng.choice([[changed(rng, kept[at], "Int")], [], [kept[at], kept[at]]])
        return kept
    return odd_value(rng, role)


def near_call(rng: random.Random, opdef) -> tuple[list, dict]:
    """A valid call with one argument changed, which reaches further into the operators."""
    dtype = rng.choice(NAMES)
    valid = list(samples(opdef, dtype)) or list(samples(opdef, "float32"))
    if not valid:
        return odd_call(rng, opdef)
    args, options = rng.choice(valid)
    args = [to_values(a, "cpu", dtype) for a in args]
    options = {key: to_values(a, "cpu", dtype) for key, a in options.items()}
    if args:
        at = rng.randrange(len(args))
        args[at] = changed(rng, args[at], opdef.params[min(at, len(opdef.params) - 1)].role)
    return args, options


def attempt(rng: random.Random, opdef) -> None:
    args, options = (near_call if rng.random() < 0.5 else odd_call)(rng, opdef)
    name = opdef.name
    if opdef.inplace and rng.random() < 0.3:
        name += "_"
    elif opdef.out and rng.random() < 0.15:
        options["out"] = odd_tensor(rng)
    function = getattr(ops, name, None) or getattr(ops, opdef.name)
    if os.environ.get("FUZZ_TRACE"):
        trace(name, args, options)
    try:
        result = function(*args, **options)
        repr(result)
    except Exception as error:
        if isinstance(error, SystemError):
            raise


def main(seed: int, rounds: int, names: list[str]) -> None:
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which limits allocations itself
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    flambeau.manual_seed(seed)
    for number in range(rounds):
        for opdef in OPDEFS:
            if not names or opdef.name in names:
                attempt(random.Random(f"{seed} {opdef.key} {number}"), opdef)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
