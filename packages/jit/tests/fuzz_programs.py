"""Load mutated programs: ``python fuzz_programs.py FILE FIRST COUNT``; prints how they ended.

It runs as a process of its own, so that a crash shows.
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


def main(source: str, first: int, count: int) -> int:
    """The number of seeds whose file gave another error than ours."""
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
