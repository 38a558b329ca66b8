"""Read and run damaged ONNX models: ``python fuzz_onnx.py SECONDS [FIRST SEED]``.

ONNX's own test models with bytes or fields changed go to ``onnx.load`` and are run, in a process of
their own. A crash, or another error than one that says what is wrong with the file, is a finding:
its seed is printed, and the exit status is 1. What takes too long is ended and counted.
"""

from __future__ import annotations

import os
import random
import resource
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from typing import Any

MEMORY, SLOW = 4 << 30, 60.0
NUMBERS = (0, 1, -1, 2, 3, 7, 255, -2**31, 2**31 - 1, 2**62, -2**63, 2**63 - 1)


def damaged_bytes(draw: random.Random, data: bytes) -> bytes:
    """Some bytes changed, left out or doubled."""
    made = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 4])):
        at = draw.randrange(len(made) + 1)
        form = draw.randrange(5)
        if form < 3 and at < len(made):
            made[at] = draw.choice([0, 1, 127, 128, 255, made[at] ^ 1 << draw.randrange(8)])
        elif form == 3:
            del made[at:at + draw.randrange(1, 9)]
        else:
            made[at:at] = made[at:at + draw.randrange(1, 17)]
    return bytes(made)


def parts(message: Any) -> list[tuple[Any, Any]]:
    """All fields that are set, in the message and those inside of it."""
    found = []
    for field, value in message.ListFields():
        found.append((message, field))
        if field.message_type is not None:
            for each in value if hasattr(value, "extend") else [value]:
                found += parts(each)
    return found


def damaged_fields(draw: random.Random, model: Any) -> bytes:
    """A model whose fields have other values, or those of its neighbours, or none."""
    for _ in range(draw.choice([1, 1, 2, 3])):
        message, field = draw.choice(parts(model.graph) or [(model, model.ListFields()[0][0])])
        name = field.name
        if not hasattr(getattr(message, name), "extend"):
            if field.message_type is not None or draw.random() < 0.2:
                message.ClearField(name)
            else:
                setattr(message, name, other(draw, field, getattr(message, name)))
            continue
        values = getattr(message, name)
        at, form = draw.randrange(len(values)), draw.randrange(4)
        if form == 0:
            del values[at]
        elif field.message_type is not None:
            values.add().CopyFrom(values[at])
        elif form == 1:
            values.append(values[at])
        else:
            values[at] = other(draw, field, values[at])
    return bytes(model.SerializeToString())


def other(draw: random.Random, field: Any, value: Any) -> Any:
    """Another value of a field."""
    if isinstance(value, str):
        return draw.choice(["", value + "_", "x", "y", "Loop", "Reshape", "/etc/passwd", "\u00e9"])
    if isinstance(value, bytes):
        return damaged_bytes(draw, value)
    if isinstance(value, float):
        return draw.choice([0.0, -1.0, 1e38, float("nan"), float("inf")])
    if field.enum_type is not None:
        return draw.choice(list(field.enum_type.values_by_number))
    small = field.cpp_type == field.CPPTYPE_INT32
    return draw.choice([each for each in NUMBERS if not small or 0 <= each < 2**31])


def worker(first: int) -> None:
    """Try seed after seed; say each before, and how it ended."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import warnings

    import onnx
    from onnx.backend.test.loader import load_model_tests
    from test_onnx_load import plain

    import flambeau as fl

    warnings.simplefilter("ignore")
    cases = [each for each in load_model_tests(kind="node") if each.model is not None]
    seed = first
    while True:
        print("seed", seed, flush=True)
        draw = random.Random(seed)
        case = draw.choice(cases)
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        data = damaged_fields(draw, model) if draw.random() < 0.7 else damaged_bytes(
            draw, model.SerializeToString())
        print("end", attempt(fl, data, case, plain), flush=True)
        seed += 1


def attempt(fl: Any, data: bytes, case: Any, plain: Any) -> str:
    """How reading and running a model ended."""
    try:
        module = fl.onnx.load(data)
    except (fl.onnx.ImportedError, MemoryError):
        return "refused"
    except Exception:
        return f"FINDING in {case.name}, load: {traceback.format_exc()!r}"
    try:
        inputs = [plain(each) for each in case.data_sets[0][0]]
    except Exception:
        return "no inputs"
    if len(inputs) != len(module.input_names):
        return "other inputs"
    try:
        with fl.no_grad():
            module(*inputs)
    except (RuntimeError, MemoryError):
        return "an error"
    except Exception:
        return f"FINDING in {case.name}, run: {traceback.format_exc()!r}"
    return "ran"


def main(seconds: float, seed: int) -> int:
    """The number of findings."""
    ends: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        child = subprocess.Popen([sys.executable, __file__, "--worker", str(seed)],
                                 stdout=subprocess.PIPE)
        seed = followed(child, ends, until, seed) + 1
    print(dict(ends))
    return ends["FINDING"] + ends["crash"]


def followed(child: subprocess.Popen[bytes], ends: Counter[str], until: float, seed: int) -> int:
    """Count what a worker says until it ends; the last seed that it tried."""
    assert child.stdout is not None
    watch = selectors.DefaultSelector()
    watch.register(child.stdout, selectors.EVENT_READ)
    rest, patience = b"", 10 * SLOW
    while time.monotonic() < until:
        if not watch.select(min(patience, max(until - time.monotonic(), 0.0))):
            if time.monotonic() < until:
                ends["slow"] += 1
                print(f"seed {seed}: slow", flush=True)
            break
        patience = SLOW
        more = os.read(child.stdout.fileno(), 1 << 16)
        if not more:
            ends["crash"] += 1
            print(f"seed {seed}: the process ended with {child.wait()}", flush=True)
            return seed
        *lines, rest = (rest + more).split(b"\n")
        for line in lines:
            seed = said(line.decode(errors="replace"), ends, seed)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    return seed


def said(line: str, ends: Counter[str], seed: int) -> int:
    """Count one line of a worker; the seed that it is at."""
    word, _, rest = line.partition(" ")
    if word == "seed":
        return int(rest)
    if rest.startswith("FINDING"):
        print(f"seed {seed}: {rest}".replace("\\n", "\n"), flush=True)
    if word == "end":
        ends["FINDING" if rest.startswith("FINDING") else rest] += 1
    return seed


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        worker(int(sys.argv[2]))
    given = [float(sys.argv[1]), *map(int, sys.argv[2:])]
    sys.exit(main(given[0], int(given[1]) if len(given) > 1 else random.randrange(2**30)) > 0)
