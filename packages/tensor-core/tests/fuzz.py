"""Calls every operator with odd arguments: ``fuzz.py SEED ROUNDS``. Only exceptions may come.

Runs in a process of its own, so that a crash is a failed test and not the end of all. Prints the
call before it is made when FUZZ_TRACE is set.
"""

from __future__ import annotations

import os
import random
import resource
import sys

import flambeau
from flambeau.core import ops
from flambeau.core.table import ROWS

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


def attempt(rng: random.Random, row) -> None:
    args = [odd_value(rng, p.role) for p in row.params if not p.keyword
            and not (p.has_default and rng.random() < 0.4)]
    options = {p.name: odd_value(rng, p.role) for p in row.params
               if p.keyword and rng.random() < 0.5}
    name = row.name
    if row.inplace and rng.random() < 0.3:
        name += "_"
    elif row.out and rng.random() < 0.15:
        options["out"] = odd_tensor(rng)
    function = getattr(ops, name, None) or getattr(ops, row.name)
    if os.environ.get("FUZZ_TRACE"):
        print(name, [getattr(a, "shape", a) for a in args], options.keys(), flush=True)
    try:
        result = function(*args, **options)
        repr(result)
    except Exception as error:
        if isinstance(error, SystemError):
            raise


def main(seed: int, rounds: int) -> None:
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which limits allocations itself
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    rng = random.Random(seed)
    flambeau.manual_seed(seed)
    for _ in range(rounds):
        for row in ROWS:
            attempt(rng, row)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
