"""How each operator runs on a GPU: ``python -m flambeau.cuda.coverage``.

Nothing is run; the table says what the backend does with a call, and why what is missing is.

Example:
    >>> from flambeau.cuda.coverage import ways
    >>> ways()["add"], ways()["attention_grad"]
    ('kernel', 'made of others')
"""
from __future__ import annotations

import sys
from collections import Counter
from functools import cache

from flambeau.core.decompositions import decomposition
from flambeau.core.opdefs import OPDEFS, OpDef

#: Every way, and what it means.
WAYS = {
    "kernel": "a CUDA kernel, generated or of ours",
    "array call": "calls of CuPy's",
    "made of others": "the definition's own decomposition into operators of this table",
    "memory": "allocation and views; nothing is computed",
    "drawn on the CPU": "random numbers of the CPU's generator, copied to the device",
    "copy": "a copy between devices",
    "missing": "raises NotImplementedError and names the operator",
}


def _way(opdef: OpDef) -> str:
    from flambeau.cuda import draws, special, tiles
    from flambeau.cuda.arrays.compositions import KERNELS, add_kernels
    from flambeau.cuda.generated import COPIED
    from flambeau.cuda.kernels import program_of

    add_kernels()
    key = opdef.key
    if opdef.category in ("composite", "view"):
        return "made of others" if opdef.category == "composite" else "memory"
    if opdef.category == "pointwise" or program_of(key) or \
            key in (*COPIED, *draws.KERNELS, *special.FUNCTIONS, *tiles.MODES, "attention"):
        return "kernel"
    if key in ("empty", "empty_strided"):
        return "memory"
    if key == "to_device":
        return "copy"
    if key in draws.ON_HOST:
        return "drawn on the CPU"
    if key in KERNELS:
        return "array call"
    return "made of others" if decomposition(key) else "missing"


@cache
def ways() -> dict[str, str]:
    """For each operator of the table one of ``WAYS``."""
    return {opdef.key: _way(opdef) for opdef in OPDEFS}


def main(arguments: list[str]) -> None:
    """Print the counts, and the names of what runs in the ways that are named."""
    counts = Counter(ways().values())
    for way, meaning in WAYS.items():
        print(f"{counts[way]:5d}  {way:18s} {meaning}")
    for way in arguments or ["missing"]:
        print(f"\n{way}: " + " ".join(key for key, found in ways().items() if found == way))


if __name__ == "__main__":
    main(sys.argv[1:])
