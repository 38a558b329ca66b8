"""Fuzz one target: ``run.py TARGET SECONDS [SEED]``; the last bytes tried are kept in a file.

Guided by the coverage of Python code where atheris is installed, else by chance: known inputs with
bytes changed. Exit status 1 and the bytes in hexadecimal on a finding; a crash of the interpreter
leaves them in the file FUZZ_LAST, where that is set.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import resource
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

MEMORY = 4 << 30
GUIDED = importlib.util.find_spec("atheris") is not None


def changed(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """The bytes with a few changes: other values, parts left out, doubled or from elsewhere."""
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 8])):
        at, end = sorted(rng.randrange(len(made) + 1) for _ in range(2))
        form = rng.randrange(7)
        if form < 3 and at < len(made):
            made[at] = rng.choice([0, 255, 127, 128, made[at] ^ 1 << rng.randrange(8),
                                   rng.randrange(256)])
        elif form == 3:
            del made[at:min(end, at + 8)]
        elif form == 4:
            made[at:at] = made[at:min(end, at + 16)]
        elif form == 5:
            made[at:at] = rng.randbytes(rng.randrange(1, 5))
        else:
            other = rng.choice(others)
            made[at:at + 8] = other[at:at + 8]
    return bytes(made)


def by_chance(function, seeds: list[bytes], seconds: float, seed: int) -> int:
    """Call the function until the time is over; how many calls there were."""
    rng, known, count = random.Random(seed), list(seeds), 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = rng.choice(known) if rng.random() < 0.9 else rng.randbytes(rng.randrange(200))
        function(changed(rng, data, known))
        count += 1
    return count


def guarded(function):
    """The function, with its input kept, and shown when it fails."""
    last = os.environ.get("FUZZ_LAST")

    def call(data: bytes) -> None:
        if last:
            Path(last).write_bytes(data)
        try:
            function(data)
        except BaseException:
            print("finding:", data.hex(), file=sys.stderr)
            raise

    return call


def by_coverage(function, seeds: list[bytes], seconds: int, seed: int) -> None:
    """Give control to atheris, which ends the process."""
    import atheris

    folder = Path(os.environ.get("FUZZ_CORPUS") or f"/tmp/flambeau-fuzz-{os.getpid()}")
    folder.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(seeds):
        (folder / f"seed-{i}").write_bytes(data)
    options = [f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=4096", "-timeout=60",
               "-rss_limit_mb=0", "-print_final_stats=1", "-artifact_prefix=" + str(folder) + "-"]
    atheris.Setup([sys.argv[0], str(folder), *options], function)
    atheris.Fuzz()


def instrumented():
    """While this lasts, imported modules learn to report their coverage."""
    if not GUIDED:
        return contextlib.nullcontext()
    import atheris

    return atheris.instrument_imports(include=["flambeau", "targets", "index_model"])


def main(name: str, seconds: int, seed: int = 1) -> None:
    warnings.simplefilter("ignore")
    with instrumented():
        import targets

        function, known = guarded(targets.TARGETS[name]), targets.seeds(name)
        for data in known:
            function(data)      # readers of files are imported by the first that needs them
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if GUIDED:
        by_coverage(function, known, seconds, seed)
    else:
        print(f"{name}: {by_chance(function, known, seconds, seed)} calls in {seconds} s")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:4]))
