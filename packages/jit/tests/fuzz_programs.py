"""Load mutated programs: ``python fuzz_programs.py FILE FIRST COUNT``; prints how they ended.

It runs as a process of its own, so that a crash shows. A file that is not there is made: a program
of today, with all that the format has; one named ``pure.program`` needs no autograd.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from mutations import mutate

import flambeau
from flambeau import jit
from flambeau.core.opdefs import OPDEFS


def everything(path: Path) -> None:
    """Save a program with each optional part: limits of sizes, writes, gradients."""
    state = flambeau.zeros(6)
    weight = flambeau.ones(6, 6, requires_grad=path.stem != "pure")

    def step(x: flambeau.Tensor, by: dict[str, float]) -> dict[str, object]:
        y = x * by["by"] if x.shape[0] <= 4 else x * 2
        y = (y @ weight + 1).tanh().to(flambeau.float64)
        state.add_(x.sum(0)).mul_(0.5)
        y = y.masked_fill(y > 0.5, float("inf")).clamp(max=1.0) / x.shape[0]
        if path.stem != "pure":
            (y * y).sum().backward()
        zeros = flambeau.zeros(x.shape[0], 2, device="cpu", dtype=flambeau.complex64) + (1 + 2j)
        return {"y": y.detach(), "best": x.max(1), "more": (x[1:] * 2, [zeros, x.view(-1)])}

    program = jit.trace(step, (flambeau.ones(2, 6), {"by": 0.25}))
    program.graph.fixed = "a text"      # which stands only where no size varies
    program.save(path)


def main(source: str, first: int, count: int) -> int:
    """The number of seeds whose file gave another error than ours."""
    if not Path(source).exists():
        everything(Path(source))
    content = Path(source).read_bytes()
    operators = sorted({opdef.key for opdef in OPDEFS} | {"fused", "view_write", "os.system"})
    ends: Counter[str] = Counter()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p"
        for seed in range(first, first + count):
            path.write_bytes(mutate(content, seed, operators))
            print(seed, file=sys.stderr)     # the last one names a crash
            try:
                program = jit.load(path)
                ends["loaded"] += 1
            except jit.ProgramError:
                ends["refused"] += 1
                continue
            except Exception:
                bad += 1
                print(f"seed {seed}:\n{traceback.format_exc()}")
                continue
            try:
                program(flambeau.ones(2, 6), {"by": 0.25})
                ends["ran"] += 1
            except Exception as error:
                ends[f"run: {type(error).__name__}"] += 1
                if isinstance(error, LookupError | AttributeError | AssertionError) \
                        and not isinstance(error, IndexError):
                    bad += 1
                    print(f"seed {seed}, run:\n{traceback.format_exc()}")
    print(dict(ends))
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])) > 0)
