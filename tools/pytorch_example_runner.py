"""Collects the examples of PyTorch's docstrings, or runs them with whatever `torch` is.

`python pytorch_example_runner.py collect EXAMPLES` and `... run EXAMPLES RESULTS BEGIN`; see
`pytorch_examples.py`.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import json
import math
import os
import pkgutil
import re
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

SECONDS = 20            # of one example; of a docstring, three times as many
#: Modules whose examples ask for other processes, devices or compilers, or are no interface.
LEFT_OUT = ("torch._", "torch.testing._", "torch.distributed", "torch.onnx._", "torch.cuda",
            "torch.xpu", "torch.mtia", "torch.mps", "torch.utils._", "torch.utils.tensorboard",
            "torch.ao", "torch.fb")


def modules() -> Iterator[Any]:
    """PyTorch and the public modules below it."""
    import torch

    waiting = [torch]
    while waiting:
        module = waiting.pop(0)
        yield module
        for info in pkgutil.iter_modules(getattr(module, "__path__", []), f"{module.__name__}."):
            if not info.name.startswith(LEFT_OUT) and not info.name.endswith("__main__"):
                with contextlib.suppress(BaseException):
                    waiting.append(importlib.import_module(info.name))


def documented() -> Iterator[tuple[str, Any]]:
    """What may have a docstring, by name."""
    import torch

    for module in modules():
        yield module.__name__, module
        for name in dir(module):
            thing = getattr(module, name, None)
            if name.startswith("_") or not callable(thing):
                continue
            full = f"{module.__name__}.{name}"
            yield full, thing
            if inspect.isclass(thing) and thing.__module__.startswith("torch"):
                yield from ((f"{full}.{key}", getattr(value, "__func__", value))
                            for key, value in vars(thing).items() if not key.startswith("_"))
    for name in dir(torch.Tensor):
        if not name.startswith("__"):
            yield f"torch.Tensor.{name}", getattr(torch.Tensor, name)


def collect(path: str) -> None:
    """Write the examples of each docstring, each docstring once."""
    seen, found = set(), []
    for name, thing in documented():
        text = inspect.getdoc(thing) or ""
        if ">>>" not in text or text in seen:
            continue
        seen.add(text)
        spaced = re.sub(r"^(\s*)(>>>|\.\.\.)(?=\S)", r"\1\2 ", text, flags=re.MULTILINE)
        with contextlib.suppress(ValueError):
            examples = doctest.DocTestParser().get_examples(spaced)
            found.append((name, [example.source for example in examples]))
    with open(path, "w") as file:
        json.dump(found, file)


class Late(BaseException):
    """An example took too long."""


def late(*_: object) -> None:
    """Handle the alarm."""
    raise Late


def outcome(source: str, names: dict[str, Any]) -> tuple[str, str | None]:
    """What an example writes, and its error."""
    text, error = io.StringIO(), None
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(text):
            exec(compile(source, "<example>", "single"), names)
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}"[:300]
    finally:
        signal.alarm(0)
    return text.getvalue(), error


def run(examples: str, results: str, begin: int) -> None:
    """Run the examples of docstrings from a number on, each docstring with the same seed."""
    import numpy
    import torch

    begun = [time.monotonic()]

    def watch() -> None:
        while time.monotonic() < begun[0] + 3 * SECONDS:
            time.sleep(1)
        os._exit(1)                     # what waits in a library hears no alarm

    signal.signal(signal.SIGALRM, late)
    threading.Thread(target=watch, daemon=True).start()
    with open(examples) as file:
        docstrings = json.load(file)
    with open(results, "a") as out:
        for number, (_, sources) in list(enumerate(docstrings))[begin:]:
            print(json.dumps({"number": number}), file=out, flush=True)
            begun[0] = time.monotonic()
            torch.set_default_device(None)
            torch.set_default_dtype(torch.float32)
            torch.set_printoptions(profile="default")
            torch.set_grad_enabled(True)
            torch.manual_seed(0)
            names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": numpy,
                     "math": math, "__name__": "__main__"}
            outcomes = [outcome(source, names) for source in sources]
            print(json.dumps({"number": number, "outcomes": outcomes}), file=out, flush=True)


def main() -> None:
    """Read the command line."""
    warnings.simplefilter("ignore")
    action, examples, *rest = sys.argv[1:]
    examples, rest = os.path.abspath(examples), [*map(os.path.abspath, rest[:1]), *rest[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)                # examples write files
        if action == "collect":
            collect(examples)
        else:
            run(examples, rest[0], int(rest[1]))


if __name__ == "__main__":
    main()
